/* kernels.cu - silu: right, wrong in one row, writing behind its output, leaving a column stale,
 * and in an order that changes from run to run. Each but the first is a finding, whose bundle is
 * replayed and probed. */
#include "kernels.cuh"

#define EACH(i, count)                                                                             \
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < (count);                        \
         i += (int)(gridDim.x * blockDim.x))

static __device__ float silu(float x)
{
    return x / (1 + expf(-x));
}

extern "C" __global__ void right(const float *x, float *y, int rows, int cols)
{
    EACH(i, rows * cols) y[i] = silu(x[i]);
}

extern "C" __global__ void wrong(const float *x, float *y, int rows, int cols)
{
    EACH(i, rows * cols)
    y[i] = i / cols == rows / 2 && i % cols == 3 ? 1.5f * silu(x[i]) : silu(x[i]);
}

extern "C" __global__ void outside(const float *x, float *y, int rows, int cols)
{
    EACH(i, rows * cols + 1) y[i] = i == 5 ? 7 : i < rows * cols ? silu(x[i]) : 1;
}

extern "C" __global__ void stale(const float *x, float *y, int rows, int cols)
{
    EACH(i, rows * cols)
    {
        if (i % cols != cols - 1)
            y[i] = silu(x[i]);
    }
}

extern "C" __global__ void racing(const float *x, float *y, int rows, int cols)
{
    __shared__ int last;
    for (int row = (int)blockIdx.x; row < rows; row += (int)gridDim.x) {
        last = (int)(clock64() & 0xffff);
        __syncthreads();
        for (int i = (int)threadIdx.x; i < cols; i += (int)blockDim.x)
            y[row * cols + i] = silu(x[row * cols + i]) + (i == 0 ? 1 + (float)last : 0);
        __syncthreads();
    }
}
