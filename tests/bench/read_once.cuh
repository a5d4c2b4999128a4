/* read_once.cuh - the rival of everything that reads all of its arrays: a kernel that reads
 * them. */
#ifndef BENCH_READ_ONCE_H
#define BENCH_READ_ONCE_H

#include <cuda_runtime.h>

static __device__ unsigned read_once_sum; /* hardly ever written */

/* Reads everything once and keeps nothing. */
static __global__ void read_once(const uint4 *array, size_t units)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    uint4 sum = {0, 0, 0, 0};
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (; i + 3 * step < units; i += 4 * step) {
        uint4 a = array[i], b = array[i + step], c = array[i + 2 * step], d = array[i + 3 * step];
        sum.x ^= a.x ^ b.x ^ c.x ^ d.x;
        sum.y ^= a.y ^ b.y ^ c.y ^ d.y;
        sum.z ^= a.z ^ b.z ^ c.z ^ d.z;
        sum.w ^= a.w ^ b.w ^ c.w ^ d.w;
    }
    for (; i < units; i += step)
        sum.x ^= array[i].x ^ array[i].y ^ array[i].z ^ array[i].w;
    if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 0x9E3779B9u)
        read_once_sum = 1;
}

#endif
