/*
 * program.c - ordinary launches, each on new values, and a rare one with one large value:
 * `program FATBIN KERNEL`. Every launch is waited for.
 *
 *   norm_right, norm_narrow   y = rmsnorm(x), large arrays: only a sample of x is looked at
 *   update_narrow             y = y + x, in place
 */
#include "common/program.h"

#include <string.h>

enum { ROWS = 8, COLS = 100, LAUNCHES = 60, RARE = 45 };

static void spoil(CUdeviceptr array, bool rare)
{
    float large = 100;
    if (rare)
        CHECK(cuMemcpyHtoD(array + 4 * 333, &large, sizeof(large)));
}

static void norms(const char *name)
{
    struct norm norm = norm_new(ROWS, COLS, 1);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        fill(norm.x, ROWS * COLS, 100 + i);
        spoil(norm.x, i == RARE);
        norm_launch(name, &norm, NULL);
        CHECK(cuCtxSynchronize());
    }
    norm_print(name, &norm);
}

static void updates(void)
{
    int n = ROWS * COLS;
    CUdeviceptr y = upload((size_t)n, 1), x = upload((size_t)n, 2);
    void *params[] = {&y, &x, &n};
    for (unsigned i = 0; i < LAUNCHES; i++) {
        fill(x, (size_t)n, 100 + i);
        fill(y, (size_t)n, 1000 + i);
        spoil(x, i == RARE);
        launch(kernel("update_narrow"), 4, 64, NULL, params);
        CHECK(cuCtxSynchronize());
    }
    print_sum("update", y, (size_t)n * sizeof(float));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    if (strncmp(word(0), "update", 6))
        norms(word(0));
    else
        updates();
    finish();
    return 0;
}
