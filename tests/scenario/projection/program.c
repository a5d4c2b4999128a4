/*
 * program.c - products of matrices, `program FATBIN KERNEL`: plain_... (f32), layer_... (f16, a
 * transposed weight and a bias), batch_... (f32, three of them, the second factor transposed) or
 * adds_... (f32, to what was there). With the word `graph` behind KERNEL each launch is a graph's.
 */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>

enum { M = 192, N = 96, K = 40, BATCH = 3, REPEAT = 3 };

static bool is(const char *prefix)
{
    return strncmp(word(0), prefix, strlen(prefix)) == 0;
}

/* Bits of f16 numbers between 0.5 and 1 of either sign, the same for the same seed. */
static void fill_half(CUdeviceptr array, size_t count, unsigned seed)
{
    uint16_t *bits = malloc(2 * count);
    for (size_t i = 0; i < count; i++) {
        uint32_t z = ((uint32_t)i + seed * 7919) * 2654435761u;
        z = (z ^ z >> 15) * 2246822519u;
        bits[i] = (uint16_t)(0x3800 | (z >> 20 & 0x3ff) | (z >> 16 & 0x8000));
    }
    CHECK(cuMemcpyHtoD(array, bits, 2 * count));
    free(bits);
}

/* The launch, captured at its first time. */
static void replay(CUfunction function, unsigned batch, void **params)
{
    static CUgraphExec ready;
    static CUstream stream;
    CUgraph graph;
    if (!ready) {
        CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
        CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        CHECK(cuLaunchKernel(function, M, batch, 1, N, 1, 1, 0, stream, params, NULL));
        CHECK(cuStreamEndCapture(stream, &graph));
        CHECK(cuGraphInstantiate(&ready, graph, 0));
        CHECK(cuGraphDestroy(graph));
    }
    CHECK(cuGraphLaunch(ready, stream));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    unsigned batch = is("batch") ? BATCH : 1;
    CUdeviceptr a = upload(BATCH * M * K, 1), b = upload(BATCH * K * N, 2);
    CUdeviceptr bias = upload(N, 3), c = upload(BATCH * M * N, 4);
    int m = M, n = N, k = K;
    void *plain[] = {&a, &b, &c, &m, &n, &k}, *layer[] = {&a, &b, &bias, &c, &m, &n, &k};
    CUfunction function = kernel(word(0));
    for (unsigned i = 0; i < REPEAT; i++) {
        fill(a, BATCH * M * K, 10 + i);
        if (is("layer")) {
            fill_half(a, M * K, 20 + i);
            fill_half(b, N * K, 30 + i);
        }
        if (!is("adds"))
            CHECK(cuMemsetD8(c, 0, BATCH * M * N * sizeof(float)));
        void **params = is("layer") ? layer : plain;
        if (*word(1))
            replay(function, batch, params);
        else
            CHECK(cuLaunchKernel(function, M, batch, 1, N, 1, 1, 0, NULL, params, NULL));
        CHECK(cuCtxSynchronize());
    }
    print_sum(word(0), c, BATCH * M * N * sizeof(float));
    finish();
    return 0;
}
