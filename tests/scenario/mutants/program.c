/*
 * program.c - runs one kernel of kernels.cu a few times: `program FATBIN CLASS right|wrong`.
 */
#include "common/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 6,
    COLS = 77,
    PITCH = 96,
    COUNT = ROWS * COLS,
    WIDE = 512,
    SIDE = 32,
    LONG = 4096,
    REPEAT = 3
};

static char name[64];
static bool wrong;

static void repeat(unsigned grid, unsigned block, void **params)
{
    for (int i = 0; i < REPEAT; i++)
        launch(kernel(name), grid, block, NULL, params);
}

static void rows_to_rows(void)
{
    CUdeviceptr x = upload(COUNT, 1), y = upload(COUNT, 2);
    int cols = COLS;
    repeat(ROWS, 96, (void *[]){&x, &y, &cols});
    print_sum(name, y, COUNT * sizeof(float));
}

static void rows_to_sums(void)
{
    CUdeviceptr x = upload(ROWS * WIDE, 3), y = upload(ROWS, 4);
    int cols = WIDE;
    repeat(ROWS, 128, (void *[]){&x, &y, &cols});
    if (!wrong ||
        strncmp(name, "missing_barrier", 15)) /* what a race gives is not to be compared */
        print_sum(name, y, ROWS * sizeof(float));
}

/* Values of one sign, so that a sum grows well past what bf16 can add to it. */
static void bf16_sums(void)
{
    static uint16_t host[ROWS * WIDE];
    CUdeviceptr x, y;
    int rows = ROWS, cols = WIDE;
    for (int i = 0; i < ROWS * WIDE; i++)
        host[i] = (uint16_t)(0x3f80 + i * 7 % 64); /* 1 to 1.5 */
    CHECK(cuMemAlloc(&x, sizeof(host)));
    CHECK(cuMemcpyHtoD(x, host, sizeof(host)));
    CHECK(cuMemAlloc(&y, ROWS * sizeof(uint16_t)));
    repeat(1, 32, (void *[]){&x, &y, &rows, &cols});
    print_sum(name, y, ROWS * sizeof(uint16_t));
}

static void small_rows(void)
{
    static float host[COUNT];
    struct norm norm = norm_new(ROWS, COLS, 5);
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)(i % 13 - 6) * 1e-3f;
    CHECK(cuMemcpyHtoD(norm.x, host, sizeof(host)));
    for (int i = 0; i < REPEAT; i++)
        norm_launch(name, &norm, NULL);
    norm_print(name, &norm);
}

static void positions(void)
{
    CUdeviceptr x = upload(COLS, 8), table = upload(COUNT, 9), y = upload(COLS, 10), position;
    int cols = COLS;
    CHECK(cuMemAlloc(&position, sizeof(int)));
    CHECK(cuMemsetD32(position, 1, 1));
    for (int at = 1; at < 1 + REPEAT; at++) {
        CUdeviceptr row = table + (CUdeviceptr)(at * COLS) * sizeof(float);
        if (!wrong || at == 1)
            CHECK(cuMemcpyHtoD(position, &at, sizeof(at)));
        launch(kernel(name), 1, 64, NULL, (void *[]){&x, &row, &y, &position, &at, &cols});
        print_sum(name, y, COLS * sizeof(float));
    }
}

static void strided_rows(void)
{
    struct norm norm = norm_new(ROWS, COLS, 11);
    CUdeviceptr x = upload(ROWS * PITCH, 12);
    long long pitch = PITCH;
    repeat(ROWS, 64, (void *[]){&x, &norm.w, &norm.y, &pitch, &norm.cols, &norm.eps});
    norm_print(name, &norm);
}

static void two_inputs(void)
{
    CUdeviceptr a = upload(COUNT, 13), b = upload(COUNT, 14), y = upload(COUNT, 15);
    int n = COUNT;
    repeat((COUNT + 63) / 64, 64, (void *[]){&a, &b, &y, &n});
    print_sum(name, y, COUNT * sizeof(float));
}

static void matrices(void)
{
    CUdeviceptr a = upload(SIDE * SIDE, 16), b = upload(SIDE * SIDE, 17),
                c = upload(SIDE * SIDE, 18);
    int n = SIDE;
    repeat(SIDE, SIDE, (void *[]){&a, &b, &c, &n});
    print_sum(name, c, SIDE * SIDE * sizeof(float));
}

static void with_nans(void)
{
    CUdeviceptr x = upload(COUNT, 19), y = upload(COUNT, 20);
    float nan = NAN;
    int n = COUNT;
    CHECK(cuMemcpyHtoD(x + 40 * sizeof(float), &nan, sizeof(nan)));
    repeat((COUNT + 63) / 64, 64, (void *[]){&x, &y, &n});
    print_sum(name, y, COUNT * sizeof(float));
}

/* bf16 in [-1, 1) at `count` places. */
static CUdeviceptr upload_bf16(size_t count, unsigned step)
{
    static uint16_t host[ROWS * WIDE];
    CUdeviceptr array;
    for (size_t i = 0; i < count; i++) {
        float value = (float)((i * step + 17) % 4099) / 2050 - 1;
        uint32_t bits;
        memcpy(&bits, &value, sizeof(bits));
        host[i] = (uint16_t)(bits >> 16);
    }
    CHECK(cuMemAlloc(&array, count * sizeof(*host)));
    CHECK(cuMemcpyHtoD(array, host, count * sizeof(*host)));
    return array;
}

static void bf16_norm(void)
{
    CUdeviceptr x = upload_bf16(ROWS * WIDE, 2311), w = upload_bf16(WIDE, 977);
    CUdeviceptr y = upload_bf16(ROWS * WIDE, 1);
    int cols = WIDE;
    float eps = 1e-5f;
    repeat(ROWS, 128, (void *[]){&x, &w, &y, &cols, &eps});
    print_sum(name, y, ROWS * WIDE * sizeof(uint16_t));
}

static void masked_rows(void)
{
    static float host[COLS];
    CUdeviceptr x = upload(COUNT, 1), y = upload(COUNT, 2);
    int cols = COLS;
    for (int i = 0; i < COLS; i++)
        host[i] = -INFINITY;
    CHECK(cuMemcpyHtoD(x + 2 * sizeof(host), host, sizeof(host)));
    repeat(ROWS, 96, (void *[]){&x, &y, &cols});
    print_sum(name, y, COUNT * sizeof(float));
}

static void to_bf16(void)
{
    CUdeviceptr x = upload(COUNT, 3), y = upload_bf16(COUNT, 1);
    float alpha = 0.7f;
    int n = COUNT;
    repeat((COUNT + 63) / 64, 64, (void *[]){&x, &y, &alpha, &n});
    print_sum(name, y, COUNT * sizeof(uint16_t));
}

/* Of numbers from 1 to 2, so that what is cut off has one sign. */
static CUdeviceptr upload_f8(size_t count, unsigned step)
{
    static uint8_t host[LONG * 4];
    CUdeviceptr array;
    for (size_t i = 0; i < count; i++)
        host[i] = (uint8_t)(0x38 + i * step % 4099 % 8);
    CHECK(cuMemAlloc(&array, count));
    CHECK(cuMemcpyHtoD(array, host, count));
    return array;
}

static void f8_products(void)
{
    int m = 2, n = 4, k = LONG;
    CUdeviceptr x = upload_f8((size_t)(m * k), 2311), w = upload_f8((size_t)(n * k), 977),
                y = upload((size_t)(m * n), 23);
    repeat(1, (unsigned)(m * n), (void *[]){&x, &w, &y, &n, &k});
    print_sum(name, y, (size_t)(m * n) * sizeof(float));
}

static void scaled(void)
{
    CUdeviceptr x = upload(COUNT + 3, 21), y = upload(COUNT + 3, 22);
    float alpha = 0.75f;
    int n = COUNT + 1; /* odd: no multiple of four */
    repeat((COUNT + 64) / 64, 64, (void *[]){&x, &y, &alpha, &n});
    print_sum(name, y, (COUNT + 1) * sizeof(float));
}

/* In [-1, 1), of no order. */
static float noise(unsigned i)
{
    i = (i ^ i >> 15) * 0x2c1b3c6du;
    i = (i ^ i >> 12) * 0x297a2d39u;
    return (float)((i ^ i >> 15) >> 8) * 0x1p-23f - 1;
}

/* Rows about 100, of deviation 1. */
static void rows_about_100(void)
{
    static float host[ROWS * WIDE];
    CUdeviceptr x = upload(ROWS * WIDE, 3), y = upload(ROWS * WIDE, 4);
    int cols = WIDE;
    for (unsigned i = 0; i < ROWS * WIDE; i++) {
        float sum = 0;
        for (unsigned k = 0; k < 12; k++)
            sum += noise(12 * i + k);
        host[i] = 100 + 0.5f * sum;
    }
    CHECK(cuMemcpyHtoD(x, host, sizeof(host)));
    repeat(ROWS, 128, (void *[]){&x, &y, &cols});
    print_sum(name, y, sizeof(host));
}

/* Half of the columns add up to nothing: each second row takes back the one before. */
static void cancelling_columns(void)
{
    static float host[WIDE * SIDE];
    CUdeviceptr x = upload(WIDE * SIDE, 3), y = upload(SIDE, 4);
    int rows = WIDE, cols = SIDE;
    for (unsigned i = 0; i < WIDE * SIDE; i++) {
        bool back = i / SIDE % 2 && i % 2;
        host[i] = back ? 1e-4f * noise(i) - host[i - SIDE] : noise(i);
    }
    CHECK(cuMemcpyHtoD(x, host, sizeof(host)));
    CHECK(cuMemsetD32(y, 0, SIDE));
    repeat(1, SIDE, (void *[]){&x, &y, &rows, &cols});
    print_sum(name, y, SIDE * sizeof(float));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } classes[] = {
        {"tail_mask", rows_to_rows},
        {"tail_write", scaled},
        {"bf16_accumulator", bf16_sums},
        {"missing_eps", small_rows},
        {"stale_position", positions},
        {"wrong_stride", strided_rows},
        {"swapped_operands", two_inputs},
        {"missing_barrier", rows_to_sums},
        {"off_by_one", rows_to_sums},
        {"changing_order", rows_to_sums},
        {"nan_lost", with_nans},
        {"overwrites", scaled},
        {"transposed", matrices},
        {"kept_precision", bf16_norm},
        {"masked_row", masked_rows},
        {"at_random", to_bf16},
        {"missing_promotion", f8_products},
        {"one_pass", rows_about_100},
        {"cancelling", cancelling_columns},
    };
    start(argc, argv);
    wrong = !strcmp(word(1), "wrong");
    snprintf(name, sizeof(name), "%s_%s", word(0), word(1));
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
        if (!strcmp(word(0), classes[i].name)) {
            classes[i].run();
            finish();
            return 0;
        }
    fprintf(stderr, "unknown class '%s'\n", word(0));
    return 2;
}
