/*
 * program.c - numbers in memory: `program FATBIN KERNEL [HOW]`.
 *
 *   scale_...   some valid rows of all; HOW many (rows), beyond (more valid ones than there are,
 *               then a negative count, then none)
 *   count_...   a step that the kernel counts itself
 */
#include "common/program.h"

#include <string.h>

enum { ROWS = 24, MANY = 900, COLS = 33, VALID = 17, REPEAT = 3, FACTORS = 4 };

static bool how(const char *what)
{
    return strcmp(word(1), what) == 0;
}

static void scale(void)
{
    int rows = how("many") ? MANY : ROWS, cols = COLS;
    int counts[REPEAT] = {VALID, rows, 1};
    if (how("beyond")) {
        counts[0] = rows + 1;
        counts[1] = -5;
        counts[2] = 0;
    }
    CUdeviceptr x = upload((size_t)rows * COLS, 1), y = upload((size_t)rows * COLS, 2);
    CUdeviceptr factor = upload(FACTORS, 3), valid;
    CHECK(cuMemAlloc(&valid, sizeof(int)));
    for (unsigned i = 0; i < REPEAT; i++) {
        CHECK(cuMemcpyHtoD(valid, &counts[i], sizeof(int)));
        unsigned grid = counts[i] > rows ? (unsigned)rows - 1 : (unsigned)rows;
        launch(kernel(word(0)), grid, 64, NULL, (void *[]){&x, &factor, &valid, &y, &rows, &cols});
        CHECK(cuCtxSynchronize());
    }
    print_sum(word(0), y, (size_t)rows * COLS * sizeof(float));
}

static void count(void)
{
    int n = 1000;
    long long first = 40;
    CUdeviceptr x = upload(1000, 1), y = upload(1000, 2), step;
    CHECK(cuMemAlloc(&step, sizeof first));
    CHECK(cuMemcpyHtoD(step, &first, sizeof first));
    for (unsigned i = 0; i < REPEAT; i++)
        launch(kernel(word(0)), 1, 64, NULL, (void *[]){&x, &step, &y, &n});
    print_sum(word(0), y, 1000 * sizeof(float));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    if (strncmp(word(0), "scale", 5) == 0)
        scale();
    else
        count();
    finish();
    return 0;
}
