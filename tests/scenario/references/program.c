/*
 * program.c - runs kernels that really compute, in each type, on shapes that need each way to check
 * them: `program FATBIN right|wrong`. They are of the references that have kernels for a dtype of
 * their own, and products; ../catalogue runs every reference.
 */
#include "common/program.h"

#include <stdio.h>
#include <string.h>

enum { ARRAYS = 6, INNER = 24, MOST_COLS = 1088, COUNT = INNER * MOST_COLS, BLOCK = 64 };

static const char *const ops[] = {
    "add",     "mul",      "scale",        "residual_add", "relu",    "leaky_relu", "gelu",
    "silu",    "swiglu",   "silu_and_mul", "gelu_tanh",    "rmsnorm", "layernorm",  "row_sum",
    "row_max", "row_mean", "softmax",      "log_softmax",  "matmul",  "linear"};

struct shape {
    int rows, cols, wrong; /* `wrong`: the element that is */
};
static const struct shape words = {3, 64, 0}, /* rows of whole words of 16 bytes, for a warp */
    odd = {3, 37, 0},                         /* rows that are none */
    wide = {1, MOST_COLS, 0},                 /* for a block */
    sampled = {96, 96, 5000};                 /* more elements than a matmul has checked */

static CUdeviceptr array[ARRAYS];

static void new_arrays(const char *type, size_t bytes)
{
    char name[32];
    snprintf(name, sizeof(name), "fill_%s", type);
    for (unsigned i = 0; i < ARRAYS; i++) {
        CUdeviceptr from = upload(COUNT, 1 + i);
        int count = COUNT;
        CHECK(cuMemAlloc(&array[i], COUNT * bytes));
        launch(kernel(name), 8, 256, NULL, (void *[]){&array[i], &from, &count});
        CHECK(cuMemFree(from));
    }
}

static void free_arrays(void)
{
    for (unsigned i = 0; i < ARRAYS; i++)
        CHECK(cuMemFree(array[i]));
}

static void run(const char *op, const char *type, size_t bytes, struct shape shape)
{
    char name[64];
    int inner = INNER, wrong = strcmp(word(0), "wrong") == 0 ? shape.wrong : -1;
    float alpha = 0.25f;
    snprintf(name, sizeof(name), "%s_%s", op, type);
    launch(kernel(name), (unsigned)shape.rows, BLOCK, NULL,
           (void *[]){array, array + 1, array + 2, array + 3, array + 4, array + 5, &shape.rows,
                      &shape.cols, &inner, &alpha, &wrong});
    snprintf(name, sizeof(name), "%s_%s %dx%d", op, type, shape.rows, shape.cols);
    print_sum(name, array[3], COUNT * bytes);
}

/* Each reference: in f64, in the types that have kernels of their own, and in f32 as others come.
 */
static void run_all(const char *type, size_t bytes)
{
    new_arrays(type, bytes);
    for (unsigned i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        run(ops[i], type, bytes, words);
        if (strcmp(type, "f32") == 0) {
            run(ops[i], type, bytes, odd);
            run(ops[i], type, bytes, wide);
        }
    }
    if (strcmp(type, "f32") == 0)
        run("matmul", type, bytes, sampled);
    free_arrays();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        size_t bytes;
    } others[] = {{"f8e4m3", 1}, {"f8e5m2", 1}, {"i8", 1},  {"i16", 2}, {"i32", 4}, {"i64", 8},
                  {"u8", 1},     {"u16", 2},    {"u32", 4}, {"u64", 8}, {"bool", 1}};
    start(argc, argv);
    run_all("f64", 8);
    run_all("f32", 4);
    run_all("f16", 2);
    run_all("bf16", 2);
    for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++) {
        new_arrays(others[i].name, others[i].bytes);
        run("mul", others[i].name, others[i].bytes, odd);
        free_arrays();
    }
    finish();
    return 0;
}
