/*
 * program.c - products of matrices, `program FATBIN KERNEL`: plain_... (f32), layer_... (f16, a
 * transposed weight and a bias), batch_... (f32, three of them, the second factor transposed) or
 * adds_... (f32, to what was there).
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
        CHECK(cuLaunchKernel(function, M, batch, 1, N, 1, 1, 0, NULL, is("layer") ? layer : plain,
                             NULL));
        CHECK(cuCtxSynchronize());
    }
    print_sum(word(0), c, BATCH * M * N * sizeof(float));
    finish();
    return 0;
}
