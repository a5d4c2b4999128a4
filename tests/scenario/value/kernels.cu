/*
 * kernels.cu - kernels that read numbers from memory: a factor, how many rows are valid, a step
 * that they count themselves; right ones and wrong ones.
 */
#include "kernels.cuh"

/* y[r] = factor[which] * x[r] for the first *valid rows; a block a row. */
__device__ static void scale(const float *x, const float *factor, const int *valid, float *y,
                             int cols, int which, int missing)
{
    int row = blockIdx.x;
    if (row >= *valid - missing)
        return;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[row * cols + c] = factor[which] * x[row * cols + c];
}

#define SCALE(name, which, missing)                                                                \
    extern "C" __global__ void name(const float *x, const float *factor, const int *valid,         \
                                    float *y, int rows, int cols)                                  \
    {                                                                                              \
        scale(x, factor, valid, y, cols, which, missing);                                          \
    }
SCALE(scale_right, 2, 0)
SCALE(scale_other, 1, 0)
SCALE(scale_short, 2, 1)

/* y = *step * x, then *step is one more; one block. */
#define COUNT(name, ahead)                                                                         \
    extern "C" __global__ void name(const float *x, long long *step, float *y, int n)              \
    {                                                                                              \
        float factor = (float)(*step + (ahead));                                                   \
        for (int i = threadIdx.x; i < n; i += blockDim.x)                                          \
            y[i] = factor * x[i];                                                                  \
        __syncthreads();                                                                           \
        if (threadIdx.x == 0)                                                                      \
            *step += 1;                                                                            \
    }
COUNT(count_right, 0)
COUNT(count_late, 1)
