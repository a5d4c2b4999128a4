/*
 * program.c - kernels launched as CuPy launches them: `program FATBIN ufuncs|sums [wrong]`.
 */
#include "common/program.h"

#include <string.h>

enum { REPEAT = 3, MOST = 3 };

/* An array as it is passed: address and count, then D sizes and D strides in bytes. */
struct array {
    CUdeviceptr data;
    long long size, words[2 * MOST];
};

/* What a kernel counts over: D sizes, and room for an index. */
struct indexer {
    long long size, words[2 * MOST];
};

static struct array array(CUdeviceptr data, int dims, const long long *shape,
                          const long long *strides)
{
    struct array out = {.data = data, .size = 1};
    for (int d = 0; d < dims; d++) {
        out.size *= shape[d];
        out.words[d] = shape[d];
        out.words[dims + d] = strides[d];
    }
    return out;
}

#define SHAPE(...)                                                                                 \
    (long long[])                                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static struct array flat(CUdeviceptr data, long long n, long long item)
{
    return array(data, 1, &n, &item);
}

static void run(const char *name, const struct array *out, int dims, void **params)
{
    struct indexer all = {.size = out->size};
    int at = 0;
    memset(all.words, 0xa5, sizeof all.words);
    memcpy(all.words, out->words, sizeof all.words[0] * (size_t)dims);
    while (params[at])
        at++;
    params[at] = &all;
    for (int i = 0; i < REPEAT; i++)
        launch(kernel(name), (unsigned)((out->size + 127) / 128), 128, NULL, params);
    print_sum(name, out->data, 64);
}

static void right(void)
{
    long long n = 5000;
    struct array x = flat(upload(5000, 1), n, 4), y = flat(upload(5000, 2), n, 4);
    run("cupy_add__float32_float32_float32", &x, 1, (void *[]){&x, &y, &x, NULL, NULL});

    /* points[200][1][16] - centres[8][16] */
    struct array points = array(x.data, 3, SHAPE(200, 8, 16), SHAPE(64, 0, 4));
    struct array centres = array(y.data, 3, SHAPE(200, 8, 16), SHAPE(0, 64, 4));
    struct array gaps = array(upload(25600, 3), 3, SHAPE(200, 8, 16), SHAPE(512, 64, 4));
    run("cupy_subtract__float32_float32_float32", &gaps, 3,
        (void *[]){&points, &centres, &gaps, NULL, NULL});

    /* A transposed array and a number. */
    struct array t = array(gaps.data, 2, SHAPE(160, 80), SHAPE(4, 640));
    struct array scaled = array(upload(12800, 4), 2, SHAPE(160, 80), SHAPE(320, 4));
    float factor = 0.3f;
    run("cupy_multiply__float32_float_float32", &scaled, 2,
        (void *[]){&t, &factor, &scaled, NULL, NULL});

    struct array mask = flat(upload(1250, 5), n, 1), chosen = flat(upload(5000, 6), n, 4);
    long long least = 7;
    float other = -1;
    run("cupy_less__int32_int_bool", &mask, 1, (void *[]){&x, &least, &mask, NULL, NULL});
    run("cupy_where__bool_float32_float_float32", &chosen, 1,
        (void *[]){&mask, &x, &other, &chosen, NULL, NULL});
    struct array wide = flat(gaps.data, n, 8);
    run("cupy_copy__float64_float32", &chosen, 1, (void *[]){&wide, &chosen, NULL, NULL});
    run("cupy_fill", &chosen, 1, (void *[]){&other, &chosen, NULL, NULL});
}

static void wrong(void)
{
    struct array x = flat(upload(5000, 1), 5000, 4), y = flat(upload(5000, 2), 5000, 4);
    float three = 3;
    run("cupy_negative__float32_float32", &y, 1, (void *[]){&x, &y, NULL, NULL});
    run("cupy_true_divide__float32_float_float32", &y, 1, (void *[]){&x, &three, &y, NULL, NULL});

    struct array a = array(x.data, 2, SHAPE(40, 50), SHAPE(200, 4));
    struct array b = array(y.data, 2, SHAPE(40, 50), SHAPE(4, 160));
    struct array c = array(upload(2000, 3), 2, SHAPE(40, 50), SHAPE(200, 4));
    run("cupy_maximum__float32_float32_float32", &c, 2, (void *[]){&a, &b, &c, NULL, NULL});
}

static void reduce(const char *name, int dims, struct array x, struct array y, int stride)
{
    struct indexer in = {.size = x.size}, out = {.size = y.size, .words = {y.words[0]}};
    memcpy(in.words, x.words, sizeof in.words[0] * (size_t)dims);
    void *params[] = {&x, &y, &in, &out, &stride};
    for (int i = 0; i < REPEAT; i++)
        launch(kernel(name), (unsigned)((y.size + stride - 1) / stride), 128, NULL, params);
    print_sum(name, y.data, (size_t)y.size * 4);
}

/* Dims that are reduced come first. */
static void sums(bool is_wrong)
{
    CUdeviceptr x = upload(60000, 7), y = upload(6000, 8);
    int few = is_wrong ? 3 : 4;
    /* [1600][24] over the last dim, and [60][10][40] over the first, whose others are joined. */
    reduce("cupy_sum", 2, array(x, 2, SHAPE(24, 1600), SHAPE(4, 96)), flat(y, 1600, 4), few);
    reduce("cupy_sum", 2, array(x, 2, SHAPE(6, 4000), SHAPE(32000, 4)), flat(y, 400, 4), few);
    /* [20][30][50] over the first and the last dim, and over the middle one. */
    reduce("cupy_mean", 3, array(x, 3, SHAPE(20, 50, 30), SHAPE(6000, 4, 200)), flat(y, 30, 4),
           few);
    reduce("cupy_mean", 3, array(x, 3, SHAPE(30, 20, 50), SHAPE(200, 6000, 4)), flat(y, 1000, 4),
           few);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    bool is_wrong = strcmp(word(1), "wrong") == 0;
    if (strcmp(word(0), "sums") == 0)
        sums(is_wrong);
    else if (is_wrong)
        wrong();
    else
        right();
    finish();
    return 0;
}
