/*
 * program.c - runs a product of matrices that Triton made, which copies tiles by tensor maps, and
 * that no entry names: `program FATBIN PTX KERNEL [graph | moved | on | made | roles]`, as the node
 * of a CUDA graph, with maps whose address was replaced, where each block has several tiles, or
 * makes the maps, also in warps with roles. It is launched many times, since its own PTX takes a
 * while to become its reference.
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAUNCHES = 24, PAUSE_MS = 30, MOST = 24, SHARED = 32 << 10, BLOCKS = 5, THREADS = 128 };
enum { M = 300, N = 24, K = 264, TILE_M = 64, TILE_N = 32, TILE_K = 32 };

static void *params[MOST];
static unsigned count;
static CUdeviceptr matrix[3], scratch;
static CUtensorMap map[3];
static bool made, roles;
static unsigned width;

static void add(const void *value, size_t bytes)
{
    void *copy = malloc(bytes);
    params[count++] = memcpy(copy, value, bytes);
}

static void add_word(int value)
{
    add(&value, sizeof(value));
}

static void add_long(int64_t value)
{
    add(&value, sizeof(value));
}

/* Numbers of f16 between 1/16 and 1/8. */
static void fill_half(CUdeviceptr to, size_t elements)
{
    uint16_t *host = malloc(elements * 2);
    for (size_t i = 0; i < elements; i++)
        host[i] = (uint16_t)(0x2c00 + i * 37 % 1024);
    CHECK(cuMemcpyHtoD(to, host, elements * 2));
    free(host);
}

static void encode(CUtensorMap *out, CUdeviceptr address, unsigned rows, unsigned columns,
                   unsigned tile)
{
    const cuuint64_t size[] = {columns, rows}, stride[] = {(cuuint64_t)columns * 2};
    const cuuint32_t box[] = {TILE_K, tile}, step[] = {1, 1};
    CHECK(cuTensorMapEncodeTiled(out, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, (void *)address, size,
                                 stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

/* Triton passes a map, its sizes and its strides. */
static void add_matrix(unsigned i, unsigned rows, unsigned columns, unsigned tile)
{
    const bool moved = !strcmp(word(2), "moved");
    CHECK(cuMemAlloc(&matrix[i], (size_t)rows * columns * 2));
    encode(&map[i], matrix[i] + (moved ? 16 : 0), rows, columns, tile);
    if (moved)
        CHECK(cuTensorMapReplaceAddress(&map[i], (void *)matrix[i]));
    if (made) {
        params[count++] = &matrix[i];
        return;
    }
    params[count++] = &map[i];
    add_word((int)rows);
    add_word((int)columns);
    add_long(columns);
    add_long(1);
}

static void make_params(void)
{
    roles = !strcmp(word(2), "roles");
    made = roles || !strcmp(word(2), "made");
    width = made ? TILE_N : N;
    add_matrix(0, M, K, TILE_M);
    add_matrix(1, width, K, TILE_N);
    add_matrix(2, M, width, TILE_M);
    fill_half(matrix[0], (size_t)M * K);
    fill_half(matrix[1], (size_t)width * K);
    if (made || !strcmp(word(2), "on"))
        add_word(M);
    add_word(K);
    CHECK(cuMemAlloc(&scratch, (size_t)BLOCKS * 4 * sizeof(CUtensorMap)));
    params[count++] = &scratch;
    params[count++] = &scratch;
}

static void start_kernel(CUfunction function, CUstream stream)
{
    const unsigned grid = roles || !strcmp(word(2), "on") ? BLOCKS / 2 : BLOCKS;
    const unsigned threads = roles ? 3 * THREADS : THREADS;
    CHECK(cuLaunchKernel(function, grid, 1, 1, threads, 1, 1, SHARED, stream, params, NULL));
}

static CUgraphExec capture(CUfunction function)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    start_kernel(function, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}

int main(int argc, char **argv)
{
    CUmodule own;
    CUfunction function;
    start(argc, argv);
    CHECK(cuModuleLoad(&own, word(0)));
    CHECK(cuModuleGetFunction(&function, own, word(1)));
    make_params();
    const char *pause_ms = getenv("PAUSE_MS");
    const useconds_t pause_us = 1000 * (useconds_t)(pause_ms ? atoi(pause_ms) : PAUSE_MS);
    CUgraphExec exec = strcmp(word(2), "graph") ? NULL : capture(function);
    for (int i = 0; i < LAUNCHES; i++) {
        if (exec)
            CHECK(cuGraphLaunch(exec, NULL));
        else
            start_kernel(function, NULL);
        CHECK(cuCtxSynchronize());
        usleep(pause_us);
    }
    print_sum(word(1), matrix[2], (size_t)M * width * 2);
    CHECK(cuModuleUnload(own));
    finish();
    return 0;
}
