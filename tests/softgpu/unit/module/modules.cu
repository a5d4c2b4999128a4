/* modules.cu - what test_fatbins.c loads, from fatbins in all their forms. */
#include <cstdio>

__constant__ float scale = 2.0f;
__device__ int counter = 5;
__device__ int table[4] = {1, 2, 3, 4};
__device__ int *into_table = table + 1;

extern "C" __global__ void axpy(float *y, const float *x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i] * scale;
}

extern "C" __global__ void count(int *seen)
{
    *seen = atomicAdd(&counter, 1) * 100 + *into_table;
}

extern "C" __global__ void greet(int n)
{
    if (threadIdx.x < n)
        printf("thread %d of %s: %.2f\n", threadIdx.x, "greet", 0.25 * threadIdx.x);
}
