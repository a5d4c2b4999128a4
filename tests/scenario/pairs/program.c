/*
 * program.c - rows one by one through a kernel for single rows, then together through one for many:
 * `program FATBIN all SUFFIX` with the batched kernels of that suffix; `program FATBIN KERNEL ...`:
 * sums of the same rows by each of these; `program FATBIN fused KERNEL`: a sum and its norm by two
 * kernels, and by KERNEL; `program FATBIN steps N KERNEL ...`: N times, of other
 * rows each time, as a decode loop has them.
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4, COLS = 512, N = 6, HEADS = 2, HALF = 32, POSITIONS = 16, BLOCK = 64 };

static const char *suffix;

/* Blocks of codes: random bytes, with a half of ordinary size wherever one stands. */
static CUdeviceptr codes(size_t bytes, size_t block, const size_t *halves, int count)
{
    uint8_t host[4 * 1024];
    CUdeviceptr array;
    unsigned state = 7;
    for (size_t i = 0; i < bytes; i++)
        host[i] = (uint8_t)((state = state * 1664525u + 1013904223u) >> 24);
    for (size_t at = 0; at < bytes; at += block) {
        for (int i = 0; i < count; i++) {
            uint16_t number = (uint16_t)(0x2c00 + i * 0x155); /* about 1/16 */
            memcpy(host + at + halves[i], &number, sizeof(number));
        }
    }
    CHECK(cuMemAlloc(&array, bytes));
    CHECK(cuMemcpyHtoD(array, host, bytes));
    return array;
}

static CUfunction batched(const char *name)
{
    char full[64];
    snprintf(full, sizeof(full), "%s_batched%s", name, suffix);
    return kernel(full);
}

static void run(CUfunction function, unsigned x, unsigned y, void **params)
{
    CHECK(cuLaunchKernel(function, x, y, 1, BLOCK, 1, 1, 0, NULL, params, NULL));
}

static CUdeviceptr row(CUdeviceptr array, int number, size_t columns)
{
    return array + (size_t)number * columns * sizeof(float);
}

static void norms(CUdeviceptr x, CUdeviceptr w, CUdeviceptr y)
{
    int cols = COLS;
    float eps = 1e-5f;
    for (int r = 0; r < ROWS; r++) {
        CUdeviceptr xr = row(x, r, COLS), yr = row(y, r, COLS);
        run(kernel("rms_norm"), 1, 1, (void *[]){&xr, &w, &yr, &cols, &eps});
    }
    run(batched("rms_norm"), ROWS, 1, (void *[]){&x, &w, &y, &cols, &eps});
    print_sum("rmsnorm", y, ROWS * COLS * sizeof(float));
}

static void products(const char *name, CUdeviceptr w, CUdeviceptr x, CUdeviceptr y)
{
    int n = N, k = COLS;
    for (int r = 0; r < ROWS; r++) {
        CUdeviceptr xr = row(x, r, COLS), yr = row(y, r, N);
        run(kernel(name), N, 1, (void *[]){&w, &xr, &yr, &n, &k});
    }
    run(batched(name), N, ROWS, (void *[]){&w, &x, &y, &n, &k});
    print_sum(name, y, ROWS * N * sizeof(float));
}

/* A kernel of two inputs, y = f(a, b). */
static void pairs(const char *name, CUdeviceptr a, CUdeviceptr b, CUdeviceptr y)
{
    int cols = COLS;
    for (int r = 0; r < ROWS; r++) {
        CUdeviceptr ar = row(a, r, COLS), br = row(b, r, COLS), yr = row(y, r, COLS);
        run(kernel(name), 1, 1, (void *[]){&ar, &br, &yr, &cols});
    }
    run(batched(name), 1, ROWS, (void *[]){&a, &b, &y, &cols});
    print_sum(name, y, ROWS * COLS * sizeof(float));
}

static void turns(CUdeviceptr x, CUdeviceptr y)
{
    static const int positions[ROWS] = {3, 4, 5, 9};
    enum { EACH = HEADS * HALF * 2 };
    CUdeviceptr cos = upload(POSITIONS * HALF, 11), sin = upload(POSITIONS * HALF, 12), at;
    int heads = HEADS, half = HALF, count = POSITIONS;
    CHECK(cuMemAlloc(&at, sizeof(positions)));
    CHECK(cuMemcpyHtoD(at, positions, sizeof(positions)));
    for (int r = 0; r < ROWS; r++) {
        CUdeviceptr xr = row(x, r, EACH), yr = row(y, r, EACH), ar = row(at, r, 1);
        run(kernel("rope"), 1, 1, (void *[]){&xr, &cos, &sin, &ar, &yr, &heads, &half, &count});
    }
    run(batched("rope"), 1, ROWS, (void *[]){&x, &cos, &sin, &at, &y, &heads, &half, &count});
    print_sum("rope", y, ROWS * EACH * sizeof(float));
}

static void fused(const char *name)
{
    CUdeviceptr a = upload(ROWS * COLS, 1), b = upload(ROWS * COLS, 2), w = upload(COLS, 3);
    CUdeviceptr z = upload(ROWS * COLS, 4), y = upload(ROWS * COLS, 5);
    int cols = COLS;
    float eps = 1e-5f;
    run(kernel("fused_first"), ROWS, 1, (void *[]){&a, &b, &z, &cols});
    run(kernel("fused_second"), ROWS, 1, (void *[]){&z, &w, &y, &cols, &eps});
    run(kernel(name), ROWS, 1, (void *[]){&a, &b, &w, &z, &y, &cols, &eps});
    print_sum(name, y, ROWS * COLS * sizeof(float));
}

static void all(void)
{
    static const size_t q4_halves[] = {0, 2}, q6_halves[] = {208};
    CUdeviceptr a = upload(ROWS * COLS, 1), b = upload(ROWS * COLS, 2), w = upload(COLS, 3);
    CUdeviceptr y = upload(ROWS * COLS, 4);
    norms(a, w, y);
    products("q4k_gemv", codes(N * COLS / 256 * 144, 144, q4_halves, 2), a, y);
    products("q6k_gemv", codes(N * COLS / 256 * 210, 210, q6_halves, 1), a, y);
    pairs("residual_add", a, b, y);
    turns(a, y);
    pairs("swiglu", a, b, y);
}

/* All rows at once, then the first two: a kernel whose name begins with "alone" or "one" one by
 * one, "one" before all at once. */
static void sums(const char *name, CUdeviceptr x, CUdeviceptr y)
{
    int cols = COLS;
    bool alone = !strncmp(name, "alone", 5), one = !strncmp(name, "one", 3);
    for (int r = 0; r < ROWS && (alone || one); r++) {
        CUdeviceptr xr = row(x, r, COLS), yr = row(y, r, 1);
        run(kernel(name), 1, 1, (void *[]){&xr, &yr, &cols});
    }
    if (!alone)
        run(kernel(name), ROWS, 1, (void *[]){&x, &y, &cols});
    if (!strncmp(name, "shared", 6))
        run(kernel(name), 2, 1, (void *[]){&x, &y, &cols});
    print_sum(name, y, ROWS * sizeof(float));
}

static void steps(int count, CUdeviceptr x, CUdeviceptr y)
{
    int cols = COLS / 8;
    for (int step = 0; step < count; step++) {
        fill(x, ROWS * COLS / 8, (unsigned)step);
        for (int i = 2; *word(i); i++)
            run(kernel(word(i)), ROWS, 1, (void *[]){&x, &y, &cols});
    }
    print_sum("last", y, ROWS * sizeof(float));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    suffix = word(1);
    if (!strcmp(word(0), "all")) {
        all();
    } else if (!strcmp(word(0), "fused")) {
        fused(word(1));
    } else if (!strcmp(word(0), "steps")) {
        steps(atoi(word(1)), upload(ROWS * COLS, 5), upload(ROWS, 6));
    } else {
        CUdeviceptr x = upload(ROWS * COLS, 5), y = upload(ROWS, 6);
        for (int i = 0; *word(i); i++)
            sums(word(i), x, y);
    }
    finish();
    return 0;
}
