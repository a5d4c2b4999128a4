/* kernels.cu - sums of rows whose order is the same in a graph as outside, or is not. */
#include "kernels.cuh"

__device__ int back;

extern "C" __global__ void turn(int to)
{
    back = to;
}

static __device__ void add_up(const float *x, float *y, int cols, bool from_the_end)
{
    float sum = 0;
    if (threadIdx.x)
        return;
    for (int c = 0; c < cols; c++)
        sum += x[blockIdx.x * cols + (from_the_end ? cols - 1 - c : c)];
    y[blockIdx.x] = sum;
}

extern "C" __global__ void sums_same(const float *x, float *y, int cols)
{
    add_up(x, y, cols, false);
}

extern "C" __global__ void sums_turned(const float *x, float *y, int cols)
{
    add_up(x, y, cols, back);
}
