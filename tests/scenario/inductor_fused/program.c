/*
 * program.c - kernels as Inductor launches them: `program FATBIN [wrong]`. With `wrong` each
 * computes something else than its graph fragment.
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
    int wrong = strcmp(word(0), "wrong") == 0, all = ROWS * COLS, rows = ROWS, cols = COLS;
    CUdeviceptr x = upload(ROWS * COLS / 2, 1), w = upload(COLS, 2), z = upload(ROWS * COLS, 3);
    CUdeviceptr sum = upload(ROWS * COLS / 2, 4), h = upload(ROWS * COLS, 5), b = upload(COLS, 6);
    CUdeviceptr left = upload(ROWS * 32, 7), norm = upload(ROWS * COLS, 8);
    CUdeviceptr g = upload(ROWS * COLS, 9), p = upload(ROWS * COLS, 10),
                y = upload(ROWS * COLS, 11);
    CUdeviceptr scale = upload(ROWS, 12), mean = upload(ROWS, 13), cut = upload(ROWS * COLS, 14);
    CUdeviceptr state = upload(ROWS * COLS, 15), wide = upload(ROWS * 128, 16),
                total = upload(1, 17);
    CUdeviceptr scratch = upload(64, 18);
    CHECK(cuMemsetD16(x, 0x3f9d, ROWS * COLS));

    run("triton_poi_fused__to_copy_add_mul_t_0", 30, 128,
        (void *[]){&x, &w, &z, &sum, &all, &wrong});
    run("triton_per_fused_add_mean_mul_pow_rsqrt_1", ROWS, 32,
        (void *[]){&h, &w, &norm, &rows, &cols, &wrong});
    run("triton_poi_fused_add_gelu_2", 30, 128, (void *[]){&g, &b, &all, &wrong});
    run("triton_per_fused__softmax_prepare_softmax_online_3", ROWS, 32,
        (void *[]){&h, &p, &rows, &cols, &wrong});
    run("triton_per_fused_native_layer_norm_4", ROWS, 32,
        (void *[]){&scale, &h, &w, &b, &mean, &y, &rows, &cols, &wrong});
    run("triton_poi_fused_cat_slice_where_5", 30, 128, (void *[]){&h, &left, &cut, &all, &wrong});
    run("triton_red_fused_add_copy__slice_scatter_sum_7", 1, 32,
        (void *[]){&state, &left, &total, &wide, &state, &scratch, &all, &wrong});
    print_sum("sum", sum, ROWS * COLS * 2);
    print_sum("norm", norm, ROWS * COLS * 4);
    print_sum("g", g, ROWS * COLS * 4);
    print_sum("p", p, ROWS * COLS * 4);
    print_sum("y", y, ROWS * COLS * 4);
    print_sum("state", state, ROWS * COLS * 4);
    print_sum("wide", wide, ROWS * 128 * 4);
    print_sum("cut", cut, ROWS * COLS * 4);
    finish();
    return 0;
}
