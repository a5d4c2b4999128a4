/*
 * program.c - kernels of common kinds, each launched in a few shapes: `program FATBIN KIND`. For
 * tests/check_discover.sh.
 */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>

static CUstream stream;

static CUdeviceptr empty(size_t bytes)
{
    CUdeviceptr array;
    CHECK(cuMemAlloc(&array, bytes));
    CHECK(cuMemsetD8(array, 0, bytes));
    return array;
}

/* 16-bit numbers of magnitudes from 0.5 to 1: f16, or bf16. */
static CUdeviceptr halves(size_t count, unsigned seed, bool bf16)
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

/* Numbers below `limit`, of `size` bytes each. */
static CUdeviceptr numbers(size_t count, size_t size, uint32_t limit, uint32_t seed)
{
    CUdeviceptr array;
    uint8_t *host = calloc(count, size);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t number = (seed >> 8) % limit;
        memcpy(host + i * size, &number, size);
    }
    CHECK(cuMemAlloc(&array, count * size));
    CHECK(cuMemcpyHtoD(array, host, count * size));
    free(host);
    return array;
}

static void norm_at(int step, int64_t x_offset, int64_t y_offset)
{
    struct {
        CUdeviceptr x, weight, bias, y;
        int64_t x_offset, y_offset;
        int cols;
        float eps;
    } args = {.x_offset = x_offset, .y_offset = y_offset, .cols = 96 + 32 * step, .eps = 1e-5f};
    unsigned rows = 6 + (unsigned)step;
    size_t count = rows * (size_t)args.cols;
    args.x = upload(count + 64, 1);
    args.weight = upload((size_t)args.cols, 2);
    args.bias = upload((size_t)args.cols, 3);
    args.y = empty(4 * (count + 32));
    launch(kernel("layernorm_fwd"), rows, 32, stream, (void *[]){&args});
    print_sum("norm", args.y, 4 * (count + 32));
}

static void norm(int step)
{
    norm_at(step, 0, 0);
}

static void norm_inside(int step)
{
    norm_at(step, 64, 32);
}

static void copy(int step)
{
    int rows = 20 + step, cols = 40 + 8 * step, src_ld = cols + 8, dst_ld = cols + 24;
    CUdeviceptr src = upload((size_t)(rows * src_ld), 4), dst = empty(4 * (size_t)(rows * dst_ld));
    void *params[] = {&src, &src_ld, &dst, &dst_ld, &rows, &cols};
    CHECK(cuLaunchKernel(kernel("copy2d"), (unsigned)(cols + 15) / 16, (unsigned)(rows + 7) / 8, 1,
                         16, 8, 1, 0, stream, params, NULL));
    print_sum("copy", dst, 4 * (size_t)(rows * dst_ld));
}

static void layer(int step)
{
    int rows = 10 + step, cols = 64 + 32 * step, pairs_a_row = cols / 2, pairs = rows * pairs_a_row;
    size_t count = (size_t)rows * (size_t)cols;
    float scale = 0.125f;
    CUdeviceptr x = halves(count, 1, false), bias = halves((size_t)cols, 2, false);
    CUdeviceptr scores = upload(count, 3), mask = numbers(count, 1, 2, 4), p = empty(4 * count);
    launch(kernel("bias_gelu"), (unsigned)(pairs + 63) / 64, 64, stream,
           (void *[]){&x, &bias, &pairs, &pairs_a_row});
    launch(kernel("_ZN9attention14masked_softmaxEPKfPKhPffi"), (unsigned)rows, 32, stream,
           (void *[]){&scores, &mask, &p, &scale, &cols});
    print_sum("gelu", x, 2 * count);
    print_sum("softmax", p, 4 * count);
}

static void tokens(int step)
{
    int count = 24 + 3 * step, dim = 48 + 16 * step, vocabulary = 100;
    size_t all = (size_t)count * (size_t)dim;
    CUdeviceptr ids = numbers((size_t)count, 4, (uint32_t)vocabulary, 1);
    CUdeviceptr table = halves((size_t)vocabulary * (size_t)dim, 2, true), out = empty(2 * all);
    CUdeviceptr x = upload(all, 3), best = empty(4 * (size_t)count),
                where = empty(4 * (size_t)count);
    launch(kernel("_Z5embedI13__nv_bfloat16EvPKiPKT_PS3_ii"), (unsigned)count, 32, stream,
           (void *[]){&ids, &table, &out, &count, &dim});
    launch(kernel("row_max"), (unsigned)(count + 31) / 32, 32, stream,
           (void *[]){&x, &best, &where, &count, &dim});
    print_sum("embed", out, 2 * all);
    print_sum("where", where, 4 * (size_t)count);
}

static void sums(int step)
{
    int n = 1000 + 100 * step, rows = 20 + step, cols = 24 + step, depth = 12 + 2 * step;
    float alpha = 1.5f, beta = step == 1 ? 0.5f : 0;
    CUdeviceptr data = numbers((size_t)n, 1, 200, 1), bins = empty(4 * 256);
    CUdeviceptr a = upload((size_t)(rows * depth), 2), b = upload((size_t)(depth * cols), 3);
    CUdeviceptr c = upload((size_t)(rows * cols), 4);
    void *params[] = {&rows, &cols, &depth, &alpha, &a, &b, &beta, &c};
    launch(kernel("histogram_kernel"), 4, 64, stream, (void *[]){&data, &bins, &n});
    CHECK(cuLaunchKernel(kernel("_Z11sgemm_tiledILi8EEviiifPKfS1_fPf"), (unsigned)(cols + 7) / 8,
                         (unsigned)(rows + 7) / 8, 1, 8, 8, 1, 0, stream, params, NULL));
    print_sum("bins", bins, 4 * 256);
    print_sum("product", c, 4 * (size_t)(rows * cols));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *kind;
        void (*run)(int step);
    } rows[] = {{"norm", norm},   {"norm_inside", norm_inside}, {"copy", copy},
                {"layer", layer}, {"tokens", tokens},           {"sums", sums}};
    start(argc, argv);
    CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int step = 0; step < 3 && strcmp(rows[i].kind, word(0)) == 0; step++)
            rows[i].run(step);
    }
    finish();
    return 0;
}
