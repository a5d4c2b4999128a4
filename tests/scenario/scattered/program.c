/*
 * program.c - runs a kernel that Triton made, that stores to rows which memory names, and that no
 * entry names: `program FATBIN PTX KERNEL [near | far | shared | large]`. Two of the rows of `put`
 * are one, in blocks side by side or far apart, or it reads what it writes; the weights of experts
 * lie in a large allocation. It is launched many times, since its own PTX takes a while to become
 * its reference.
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LAUNCHES = 24,
    PAUSE_MS = 30,
    MOST = 16,
    THREADS = 128,
    SHARED = 16 << 10,
    LARGE = 64 << 20
};
enum { ROWS = 64, WIDTH = 112 };                                                /* of put */
enum { SLOTS = 48, TOP = 2, EXPERTS = 12, N = 80, K = 272, M = 16, TILES = 3 }; /* of experts */

static void *params[MOST];
static unsigned count, grid;
static CUdeviceptr array[MOST], scratch;
static CUdeviceptr result;
static size_t result_bytes;

static void add_word(int value)
{
    int *copy = malloc(sizeof value);
    *copy = value;
    params[count++] = copy;
}

static CUdeviceptr add_array(const void *bytes, size_t size)
{
    CHECK(cuMemAlloc(&array[count], size));
    if (bytes)
        CHECK(cuMemcpyHtoD(array[count], bytes, size));
    params[count] = &array[count];
    return array[count++];
}

/* Numbers of bf16 between -2 and 2. */
static void add_narrow(size_t elements)
{
    uint16_t *host = malloc(elements * 2);
    for (size_t i = 0; i < elements; i++)
        host[i] = (uint16_t)(0x3f00 + i * 37 % 256 + (i % 3 == 1 ? 0x8000 : 0));
    add_array(host, elements * 2);
    free(host);
}

static void put(void)
{
    int64_t rows[ROWS];
    fill(add_array(NULL, sizeof(float) * ROWS * WIDTH), (size_t)ROWS * WIDTH, 1);
    for (int i = 0; i < ROWS; i++)
        rows[i] = i * 5 % ROWS;
    if (!strcmp(word(2), "near"))
        rows[1] = rows[0];
    if (!strcmp(word(2), "far"))
        rows[ROWS - 1] = rows[0];
    add_array(rows, sizeof rows);
    result_bytes = sizeof(float) * ROWS * WIDTH;
    result = add_array(NULL, result_bytes);
    CHECK(cuMemsetD8(result, 0, result_bytes));
    if (!strcmp(word(2), "shared"))
        array[0] = result;
    add_word(WIDTH);
    grid = ROWS;
}

/* The slots of each expert are one behind the other, in whole tiles; SLOTS stands for none. */
static void add_order(void)
{
    int32_t order[SLOTS + EXPERTS * M], expert[SLOTS + EXPERTS], tiles = 0;
    for (int e = 0; e < EXPERTS; e++) {
        for (int slot = e, first = 1; slot < SLOTS; slot += EXPERTS, first = 0) {
            if (first)
                expert[tiles++] = e;
            order[(tiles - 1) * M + slot / EXPERTS] = slot;
        }
        for (int i = SLOTS / EXPERTS; i < M; i++)
            order[(tiles - 1) * M + i] = SLOTS;
    }
    const int32_t padded = tiles * M;
    add_array(order, (size_t)padded * 4);
    add_array(expert, (size_t)tiles * 4);
    add_array(&padded, sizeof padded);
    grid = (unsigned)(tiles * TILES);
}

/* In front of those of other experts, which no token has. */
static void add_weights(void)
{
    const size_t elements = EXPERTS * N * K;
    const unsigned at = count;
    CUdeviceptr large;
    add_narrow(elements);
    if (strcmp(word(2), "large"))
        return;
    CHECK(cuMemAlloc(&large, elements * 2 + LARGE));
    CHECK(cuMemcpyDtoD(large, array[at], elements * 2));
    CHECK(cuMemFree(array[at]));
    array[at] = large;
}

static void experts(void)
{
    float weights[SLOTS];
    for (int i = 0; i < SLOTS; i++)
        weights[i] = 0.25f + 0.01f * (float)i;
    add_narrow(SLOTS / TOP * K);
    add_weights();
    result_bytes = SLOTS * N * 2;
    result = add_array(NULL, result_bytes);
    add_array(weights, sizeof weights);
    add_order();
    const int word[] = {N, K, SLOTS, N * K};
    for (int i = 0; i < 4; i++)
        add_word(word[i]);
}

int main(int argc, char **argv)
{
    CUmodule own;
    CUfunction function;
    start(argc, argv);
    CHECK(cuModuleLoad(&own, word(0)));
    CHECK(cuModuleGetFunction(&function, own, word(1)));
    if (!strcmp(word(1), "put"))
        put();
    else
        experts();
    params[count++] = &scratch;
    params[count++] = &scratch;
    const char *pause_ms = getenv("PAUSE_MS");
    const useconds_t pause_us = 1000 * (useconds_t)(pause_ms ? atoi(pause_ms) : PAUSE_MS);
    for (int i = 0; i < LAUNCHES; i++) {
        CHECK(cuLaunchKernel(function, grid, 1, 1, THREADS, 1, 1, SHARED, NULL, params, NULL));
        CHECK(cuCtxSynchronize());
        usleep(pause_us);
    }
    print_sum(word(1), result, result_bytes);
    CHECK(cuModuleUnload(own));
    finish();
    return 0;
}
