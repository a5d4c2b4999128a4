/*
 * program.c - kernels that no registry describes, each launched a few times in two shapes:
 * `program FATBIN`. For tests/check_discover.sh.
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>

enum { TIMES = 3, ROWS = 6, COLS = 96 };

static CUstream stream;

/* Halves from numbers in [-1, 1): the upper bits of f32 for bf16, converted by hand for f16. */
static CUdeviceptr upload_halves(size_t count, unsigned seed, bool bf16)
{
    CUdeviceptr array;
    uint16_t *host = calloc(count, sizeof *host);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint16_t fraction = (uint16_t)(seed >> 22), sign = (uint16_t)(seed >> 31 << 15);
        host[i] = bf16 ? (uint16_t)(sign | 0x3f00 | (fraction & 0x7f))
                       : (uint16_t)(sign | 0x3800 | (fraction & 0x3ff));
    }
    CHECK(cuMemAlloc(&array, count * sizeof *host));
    CHECK(cuMemcpyHtoD(array, host, count * sizeof *host));
    free(host);
    return array;
}

static CUdeviceptr empty(size_t bytes)
{
    CUdeviceptr array;
    CHECK(cuMemAlloc(&array, bytes));
    CHECK(cuMemsetD8(array, 0, bytes));
    return array;
}

static void rows_of(int rows, int cols)
{
    size_t count = (size_t)rows * (size_t)cols;
    CUdeviceptr x = upload(count, 1), w = upload((size_t)cols, 2), b = upload((size_t)cols, 3);
    CUdeviceptr y = empty(4 * count), z = empty(4 * count), totals = empty(4 * (size_t)rows);
    CUdeviceptr p = empty(4 * count), l = empty(4 * count);
    float eps = 1e-5f;
    launch(kernel("_ZN6engine16fused_rms_kernelIfLi64EEEvPT_PKS1_S4_fi"), (unsigned)rows, 64,
           stream, (void *[]){&y, &x, &w, &eps, &cols});
    launch(kernel("_ZN6engine20forgetful_rms_kernelIfLi64EEEvPT_PKS1_S4_fi"), (unsigned)rows, 64,
           stream, (void *[]){&z, &x, &w, &eps, &cols});
    launch(kernel("_ZN6engine13probabilitiesEPfPKfi"), (unsigned)rows, 64, stream,
           (void *[]){&p, &x, &cols});
    launch(kernel("normalise_rows"), (unsigned)rows, 64, stream,
           (void *[]){&x, &w, &b, &l, &eps, &cols});
    launch(kernel("rows_total"), (unsigned)rows, 64, stream, (void *[]){&x, &totals, &cols});
    int x_stride = cols + 8, y_stride = cols + 3;
    CUdeviceptr wide = upload((size_t)rows * (size_t)x_stride, 6);
    CUdeviceptr silu = empty(4 * (size_t)rows * (size_t)y_stride);
    launch(kernel("padded_silu"), (unsigned)rows, 64, stream,
           (void *[]){&wide, &silu, &x_stride, &y_stride, &cols});
    CUdeviceptr normed = empty(4 * count), above = empty(4 * (size_t)rows);
    launch(kernel("rmsnorm_and_count"), (unsigned)rows, 64, stream,
           (void *[]){&x, &w, &normed, &above, &cols, &eps});
    print_sum("rows", normed, 4 * count);
    print_sum("rows", y, 4 * count);
    print_sum("rows", l, 4 * count);
}

static void elements(int n)
{
    size_t count = (size_t)n;
    unsigned blocks = (unsigned)(n + 63) / 64;
    CUdeviceptr gate = upload_halves(count, 1, true), up = upload_halves(count, 2, true);
    CUdeviceptr result = empty(2 * count), x = upload_halves(count, 3, false);
    CUdeviceptr y = upload_halves(count, 4, false), in = upload(count, 5), out = empty(4 * count);
    CUdeviceptr iterated = empty(4 * count);
    float factor = 0.3f;
    int steps = 5;
    launch(kernel("_ZN6engine16gated_activationI13__nv_bfloat16EEvPKT_S4_PS2_i"), blocks, 64,
           stream, (void *[]){&gate, &up, &result, &n});
    launch(kernel("accumulate_into"), blocks, 64, stream, (void *[]){&x, &y, &n});
    launch(kernel("multiply_all"), blocks, 64, stream, (void *[]){&in, &out, &factor, &n});
    launch(kernel("iterate"), blocks, 64, stream, (void *[]){&in, &iterated, &steps, &n});
    print_sum("elements", result, 2 * count);
    print_sum("elements", x, 2 * count);
}

static void product(int m, int n, int k)
{
    CUdeviceptr a = upload((size_t)m * (size_t)k, 1), b = upload((size_t)k * (size_t)n, 2);
    CUdeviceptr c = empty(4 * (size_t)m * (size_t)n);
    void *params[] = {&a, &b, &c, &m, &n, &k};
    CHECK(cuLaunchKernel(kernel("tiled_product"), (unsigned)(n + 7) / 8, (unsigned)(m + 7) / 8, 1,
                         8, 8, 1, 0, stream, params, NULL));
    print_sum("product", c, 4 * (size_t)m * (size_t)n);
}

static void heads_of(int tokens, int heads, int width)
{
    size_t count = (size_t)tokens * (size_t)heads * (size_t)width;
    CUdeviceptr x = upload(count, 7), y = empty(4 * count);
    launch(kernel("heads_apart"), (unsigned)(count + 63) / 64, 64, stream,
           (void *[]){&x, &y, &tokens, &heads, &width});
    print_sum("heads", y, 4 * count);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT)); /* behind the memsets */
    for (int i = 0; i < TIMES; i++) {
        rows_of(ROWS + i % 2, COLS + 32 * (i % 2));
        elements(1000 + 100 * (i % 2));
        product(24 + i % 2, 20, 12 + i % 2);
        heads_of(10 + i % 2, 4, 8);
    }
    finish();
    return 0;
}
