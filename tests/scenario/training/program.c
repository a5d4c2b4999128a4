/*
 * program.c - steps of training on one of two ranks, RANK in the environment: `program FATBIN
 * ACCUMULATE REDUCE ADAMW`, the kernels. The other rank's gradient is computed here, too, so the
 * program needs no other one; REDUCE goes wrong on rank 1 alone, in the third step and later.
 */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 96, STEPS = 4, MICRO = 2, RANKS = 2, ODD = 2, BLOCK = 32, GRID = COUNT / BLOCK };

static CUdeviceptr zeros(void)
{
    CUdeviceptr array;
    CHECK(cuMemAlloc(&array, COUNT * sizeof(float)));
    CHECK(cuMemsetD8(array, 0, COUNT * sizeof(float)));
    return array;
}

/* The sum of a rank's micro-steps. */
static void backward(int step, int rank, CUdeviceptr part, CUdeviceptr sum)
{
    int count = COUNT;
    CHECK(cuMemsetD8(sum, 0, COUNT * sizeof(float)));
    for (int micro = 0; micro < MICRO; micro++) {
        fill(part, COUNT, (unsigned)(step * RANKS * MICRO + rank * MICRO + micro));
        launch(kernel(word(0)), GRID, BLOCK, NULL, (void *[]){&part, &sum, &count});
    }
}

int main(int argc, char **argv)
{
    start(argc, argv);
    const char *number = getenv("RANK");
    int rank = number ? atoi(number) : 0, count = COUNT;
    float lr = 0.01f, beta1 = 0.9f, beta2 = 0.99f, eps = 1e-8f, decay = 0.1f;
    CUdeviceptr p = upload(COUNT, 99), m = zeros(), v = zeros(), part = zeros(), grad = zeros();
    CUdeviceptr sum[RANKS] = {zeros(), zeros()};
    float power1 = 1, power2 = 1;
    for (int step = 0; step < STEPS; step++) {
        power1 *= beta1;
        power2 *= beta2;
        float c1 = 1 - power1, c2 = 1 - power2;
        for (int r = 0; r < RANKS; r++)
            backward(step, r, part, sum[r]);
        bool odd = rank == 1 && step >= ODD;
        launch(kernel(odd ? word(1) : "all_reduce"), GRID, BLOCK, NULL,
               (void *[]){&sum[rank], &sum[!rank], &grad, &count});
        launch(kernel(word(2)), GRID, BLOCK, NULL,
               (void *[]){&p, &grad, &m, &v, &lr, &beta1, &beta2, &eps, &decay, &c1, &c2, &count});
    }
    print_sum("parameters", p, COUNT * sizeof(float));
    finish();
    return 0;
}
