/*
 * kernels.cu - right kernels, and some that are wrong in a part of what they write: the tail of
 * each row, the last row, a row in the middle, or where values are large.
 */
#include "kernels.cuh"

enum { ALL = -1, NONE = -2 };

/* rmsnorm, a row a block; the last column of `wrong` is not written. May work in place. */
__device__ static void norm(const float *x, const float *w, float *y, long long pitch, int cols,
                            float eps, int wrong)
{
    int row = blockIdx.x, written = row == wrong || wrong == ALL ? cols - 1 : cols;
    float squares = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        squares += x[row * pitch + c] * x[row * pitch + c];
    float inverse = rsqrtf(block_sum(squares) / cols + eps);
    for (int c = threadIdx.x; c < written; c += blockDim.x)
        y[row * pitch + c] = x[row * pitch + c] * inverse * w[c];
}

#define NORM(name, wrong)                                                                          \
    extern "C" __global__ void norm_##name(const float *x, const float *w, float *y,               \
                                           long long pitch, int cols, float eps)                   \
    {                                                                                              \
        norm(x, w, y, pitch, cols, eps, wrong);                                                    \
    }
NORM(right, NONE)
NORM(tail, ALL)
NORM(last, (int)gridDim.x - 1)
NORM(middle, (int)gridDim.x / 2 + 1)

/* Squares saturate at 1000. */
extern "C" __global__ void norm_narrow(const float *x, const float *w, float *y, long long pitch,
                                       int cols, float eps)
{
    float squares = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        squares += fminf(x[blockIdx.x * pitch + c] * x[blockIdx.x * pitch + c], 1000.0f);
    float inverse = rsqrtf(block_sum(squares) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[blockIdx.x * pitch + c] = x[blockIdx.x * pitch + c] * inverse * w[c];
}

/* layernorm, a row a block; wrong: the last row's mean is not written. */
#define LAYER(name, rows)                                                                          \
    extern "C" __global__ void layer_##name(const float *x, const float *w, const float *b,        \
                                            float *y, float *mean, float *rstd, int cols,          \
                                            float eps)                                             \
    {                                                                                              \
        const float *row = x + (size_t)blockIdx.x * cols;                                          \
        float sum = 0, squares = 0;                                                                \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            sum += row[c];                                                                         \
        float mu = block_sum(sum) / cols;                                                          \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            squares += (row[c] - mu) * (row[c] - mu);                                              \
        float inverse = rsqrtf(block_sum(squares) / cols + eps);                                   \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            y[(size_t)blockIdx.x * cols + c] = (row[c] - mu) * inverse * w[c] + b[c];              \
        if (threadIdx.x == 0 && blockIdx.x < rows)                                                 \
            mean[blockIdx.x] = mu;                                                                 \
        if (threadIdx.x == 0)                                                                      \
            rstd[blockIdx.x] = inverse;                                                            \
    }
LAYER(right, gridDim.x)
LAYER(last, gridDim.x - 1)

/* y = alpha x; wrong: what is left over after the fours is not written. */
#define FLAT(name, end)                                                                            \
    extern "C" __global__ void flat_##name(const float *x, float *y, float alpha, int n)           \
    {                                                                                              \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x)  \
            y[i] = alpha * x[i];                                                                   \
    }
FLAT(right, n)
FLAT(tail, n / 4 * 4)

/* y = y + x; narrow: what it adds saturates at 50. */
#define UPDATE(name, end, most)                                                                    \
    extern "C" __global__ void update_##name(float *y, const float *x, int n)                      \
    {                                                                                              \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x)  \
            y[i] = y[i] + fminf(x[i], most);                                                       \
    }
UPDATE(right, n, INFINITY)
UPDATE(tail, n / 4 * 4, INFINITY)
UPDATE(narrow, n, 50.0f)

/* y = silu(x[0]) x[1], two planes of n. */
#define PLANES(name, end)                                                                          \
    extern "C" __global__ void planes_##name(const float *x, float *y, int n)                      \
    {                                                                                              \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x)  \
            y[i] = x[i] / (1 + expf(-x[i])) * x[n + i];                                            \
    }
PLANES(right, n)
PLANES(tail, n / 4 * 4)
