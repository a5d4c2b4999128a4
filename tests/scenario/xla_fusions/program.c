/*
 * program.c - a step of a JAX program, as XLA launches it: `program FATBIN [wrong]`. With `wrong`
 * grids are a block and warps a lane too small.
 */
#include "common/program.h"

#include <string.h>

enum { ROWS = 40, COLS = 96, REPEAT = 3 };

static void run(const char *name, int grid, int block, void **params)
{
    for (int i = 0; i < REPEAT; i++)
        launch(kernel(name), (unsigned)grid, (unsigned)block, NULL, params);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    int less = strcmp(word(0), "wrong") == 0;
    CUdeviceptr x = upload(ROWS * COLS / 2, 1), gain = upload(COLS, 2), z = upload(ROWS * COLS, 3);
    CUdeviceptr sum = upload(ROWS * COLS / 2, 4), scale = upload(ROWS, 5);
    CUdeviceptr w = upload(5000, 6), m = upload(5000, 7), g = upload(5000, 8), t = upload(1, 9);
    CUdeviceptr l = upload(ROWS * 32, 10), r = upload(ROWS * 60, 11), y = upload(ROWS * COLS, 12);
    CUdeviceptr p = upload(ROWS * COLS, 13);
    CUdeviceptr q = upload(ROWS * COLS, 14), c[5];
    float step = 3;
    for (unsigned i = 0; i < 5; i++)
        c[i] = upload(ROWS * COLS, 15 + i);
    CHECK(cuMemsetD16(x, 0x3f9d, ROWS * COLS));
    CHECK(cuMemcpyHtoD(t, &step, sizeof step));

    run("loop_add_fusion", 30 - less, 128, (void *[]){&x, &gain, &z, &sum});
    run("input_reduce_fusion_3", ROWS, 32 - less, (void *[]){&x, &scale});
    run("loop_subtract_fusion", 40 - less, 128, (void *[]){&w, &m, &g, &t});
    run("loop_select_fusion", 30 - less, 128, (void *[]){&l, &r, &y});
    run("triton_softmax_1", ROWS, 32 - less, (void *[]){&y, &p});
    run("loop_add_fusion_1", 30 - less, 128, (void *[]){&c[0], &c[1], &c[2], &c[3], &c[4], &q, &q});
    print_sum("q", q, ROWS * COLS * 4);
    print_sum("sum", sum, ROWS * COLS * 2);
    print_sum("scale", scale, ROWS * 4);
    print_sum("w", w, 5000 * 4);
    print_sum("p", p, ROWS * COLS * 4);
    finish();
    return 0;
}
