/* kernels.cu - kernels that are right on ordinary input and wrong on large values. */
#include "kernels.cuh"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

RMSNORM_RIGHT(norm_right)

/* Its squares saturate at 1000. */
extern "C" __global__ void norm_narrow(const float *x, const float *w, float *y, int cols,
                                       float eps)
{
    size_t row = (size_t)blockIdx.x * cols;
    float squares = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        squares += fminf(x[row + c] * x[row + c], 1000.0f);
    float inverse = rsqrtf(block_sum(squares) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[row + c] = x[row + c] * inverse * w[c];
}

/* Takes what is negative for positive. */
extern "C" __global__ void norm_positive(const float *x, const float *w, float *y, int cols,
                                         float eps)
{
    size_t row = (size_t)blockIdx.x * cols;
    float squares = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        squares += x[row + c] * x[row + c];
    float inverse = rsqrtf(block_sum(squares) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[row + c] = fabsf(x[row + c]) * inverse * w[c];
}

/* Updates its output; what it adds saturates at 50. */
extern "C" __global__ void update_narrow(float *y, const float *x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = y[i] + fminf(x[i], 50.0f);
}

/* A copy, which saturates at `most`, and the means to make its input, in one type. */
#define CAST(suffix, T, real)                                                                      \
    extern "C" __global__ void make_##suffix(T *to, const float *from, int n)                      \
    {                                                                                              \
        for (int i = threadIdx.x; i < n; i += blockDim.x)                                          \
            to[i] = (T)from[i];                                                                    \
    }                                                                                              \
    extern "C" __global__ void cast_##suffix(const T *x, T *y, int n, float most)                  \
    {                                                                                              \
        for (int i = threadIdx.x; i < n; i += blockDim.x)                                          \
            y[i] = (real)x[i] > (real)most ? (T)most : x[i];                                       \
    }
CAST(f64, double, double)
CAST(f16, __half, float)
CAST(bf16, __nv_bfloat16, float)
CAST(f8e4m3, __nv_fp8_e4m3, float)
CAST(f8e5m2, __nv_fp8_e5m2, float)

/* Rows of a table; of an index only the bits of `mask` are used. */
#define LOOKUP(name, index)                                                                        \
    extern "C" __global__ void name(const index *ids, const float *table, float *y, int cols,      \
                                    int entries, long long mask)                                   \
    {                                                                                              \
        const float *row = table + (ids[blockIdx.x] & mask) * cols;                                \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            y[blockIdx.x * cols + c] = row[c];                                                     \
    }
LOOKUP(lookup_i64, long long)
LOOKUP(lookup_i32, int)
