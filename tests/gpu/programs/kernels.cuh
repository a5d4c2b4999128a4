/*
 * kernels.cuh - plain, correct kernels and a few mutants of them, as device functions. Programs give
 * them names with __global__ wrappers. All accumulate in f32; blocks of row kernels are of any
 * multiple of 32 threads up to 1024, one block a row.
 */
#ifndef TESTS_GPU_KERNELS_CUH
#define TESTS_GPU_KERNELS_CUH

#include "common.cuh"

__device__ static inline float block_reduce(float value, bool maximum)
{
    __shared__ float part[32];
    __shared__ float all;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    for (int step = 16; step; step >>= 1) {
        float other = __shfl_xor_sync(~0u, value, step);
        value = maximum ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (lane == 0)
        part[warp] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = part[0];
        for (int i = 1; i < warps; i++)
            total = maximum ? fmaxf(total, part[i]) : total + part[i];
        all = total;
    }
    __syncthreads();
    return all;
}

__device__ static inline float block_sum(float value) { return block_reduce(value, false); }
__device__ static inline float block_max(float value) { return block_reduce(value, true); }

/* y = x * rsqrt(mean(x^2) + eps) * w over one row; w may be null. `used` < cols is a mutant: the
 * columns past it are left out of the mean. */
template <typename T>
__device__ void rmsnorm_row(const T *x, const T *w, T *y, int cols, int used, float eps)
{
    float sum = 0;
    for (int c = threadIdx.x; c < used; c += blockDim.x)
        sum += float(x[c]) * float(x[c]);
    float inv = rsqrtf(block_sum(sum) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[c] = T(float(x[c]) * inv * (w ? float(w[c]) : 1.0f));
}

template <typename T>
__device__ void layernorm_row(const T *x, const T *w, const T *b, T *y, float *mean, float *rstd,
                              int cols, float eps)
{
    float sum = 0, square = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += float(x[c]);
    float m = block_sum(sum) / cols;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        square += (float(x[c]) - m) * (float(x[c]) - m);
    float inv = rsqrtf(block_sum(square) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[c] = T((float(x[c]) - m) * inv * (w ? float(w[c]) : 1.0f) + (b ? float(b[c]) : 0.0f));
    if (threadIdx.x == 0 && mean)
        *mean = m;
    if (threadIdx.x == 0 && rstd)
        *rstd = inv;
}

/* softmax over one row. With `pad` > cols it is a mutant: the row is taken as padded with 0, not
 * with -inf, up to `pad` columns. */
template <typename T> __device__ void softmax_row(const T *x, T *y, int cols, int pad)
{
    float top = pad > cols ? 0.0f : -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        top = fmaxf(top, float(x[c]));
    top = block_max(top);
    for (int c = threadIdx.x; c < pad; c += blockDim.x)
        sum += expf((c < cols ? float(x[c]) : 0.0f) - top);
    sum = block_sum(sum);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[c] = T(expf(float(x[c]) - top) / sum);
}

template <typename T> __device__ void row_sum_row(const T *x, T *y, int cols)
{
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += float(x[c]);
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *y = T(sum);
}

__device__ static inline float silu_value(float x) { return x / (1.0f + expf(-x)); }

__device__ static inline float gelu_tanh_value(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x)));
}

#endif
