/*
 * kernels.cuh - device functions that the kernels of the scenarios are made of: sums and maxima
 * over a block of any multiple of 32 threads, and rmsnorm of one row.
 */
#ifndef SCENARIO_KERNELS_CUH
#define SCENARIO_KERNELS_CUH

__device__ static inline float block_fold(float value, bool maximum)
{
    __shared__ float part[32];
    for (int step = 16; step; step /= 2) {
        float other = __shfl_xor_sync(~0u, value, step);
        value = maximum ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = value;
    __syncthreads();
    float all = part[0];
    for (unsigned warp = 1; warp < blockDim.x / 32; warp++)
        all = maximum ? fmaxf(all, part[warp]) : all + part[warp];
    return all;
}

__device__ static inline float block_sum(float value)
{
    return block_fold(value, false);
}

__device__ static inline float block_max(float value)
{
    return block_fold(value, true);
}

/* y = x / sqrt(mean(x * x) + eps) * w; `used` columns go into the mean, and w may be null. */
__device__ static inline void rmsnorm_row(const float *x, const float *w, float *y, int cols,
                                          int used, float eps)
{
    float squares = 0;
    for (int c = threadIdx.x; c < used; c += blockDim.x)
        squares += x[c] * x[c];
    float inverse = rsqrtf(block_sum(squares) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[c] = x[c] * inverse * (w ? w[c] : 1.0f);
}

/* A kernel that is right, and one that leaves the last eight columns out of the mean. */
#define RMSNORM_RIGHT(name)                                                                        \
    extern "C" __global__ void name(const float *x, const float *w, float *y, int cols, float eps) \
    {                                                                                              \
        size_t row = (size_t)blockIdx.x * cols;                                                    \
        rmsnorm_row(x + row, w, y + row, cols, cols, eps);                                         \
    }
#define RMSNORM_WRONG(name)                                                                        \
    extern "C" __global__ void name(const float *x, const float *w, float *y, int cols, float eps) \
    {                                                                                              \
        size_t row = (size_t)blockIdx.x * cols;                                                    \
        rmsnorm_row(x + row, w, y + row, cols, cols - 8, eps);                                     \
    }

#endif
