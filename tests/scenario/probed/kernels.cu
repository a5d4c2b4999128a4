/* kernels.cu - silu of rows that lie `stride` elements apart: one kernel with a wrong element,
 * whose bundle serves for all, a right one, and others that are wrong in what a single launch does
 * not show. */
#include "kernels.cuh"

#define ROWS(row) for (int row = (int)blockIdx.x; row < rows; row += (int)gridDim.x)
#define COLS(col) for (int col = (int)threadIdx.x; col < cols; col += (int)blockDim.x)

static __device__ float silu(float x)
{
    return x / (1 + expf(-x));
}

extern "C" __global__ void off(const float *x, float *y, int rows, int cols, int stride)
{
    ROWS(row) COLS(col)
    {
        size_t at = (size_t)row * stride + col;
        y[at] = row == 5 && col == 3 ? 1.5f * silu(x[at]) : silu(x[at]);
    }
}

extern "C" __global__ void straight(const float *x, float *y, int rows, int cols, int stride)
{
    ROWS(row) COLS(col) y[(size_t)row * stride + col] = silu(x[(size_t)row * stride + col]);
}

/* The offset is computed in 32 bits. */
extern "C" __global__ void narrow(const float *x, float *y, int rows, int cols, int stride)
{
    ROWS(row) COLS(col) y[row * stride + col] = silu(x[row * stride + col]);
}

/* The other warps rely on their loop being longer than what the first one does. */
extern "C" __global__ void timed(const float *x, float *y, int rows, int cols, int stride)
{
    __shared__ volatile float factor;
    if (threadIdx.x == 0)
        factor = 1;
    for (int i = 0; threadIdx.x >= 32 && i < 40000; i++)
        asm volatile("");
    ROWS(row) COLS(col)
    {
        size_t at = (size_t)row * stride + col;
        y[at] = silu(x[at]) * factor;
    }
}

/* Another order of the same operations where there are few rows. */
extern "C" __global__ void batched(const float *x, float *y, int rows, int cols, int stride)
{
    ROWS(row) COLS(col)
    {
        size_t at = (size_t)row * stride + col;
        y[at] = rows > 8 ? silu(x[at]) : x[at] * (1 / (1 + expf(-x[at])));
    }
}

/* A sum with what the output held, times zero: NaN stays. */
extern "C" __global__ void zeroed(const float *x, float *y, int rows, int cols, int stride)
{
    ROWS(row) COLS(col)
    {
        size_t at = (size_t)row * stride + col;
        y[at] = silu(x[at]) + 0.0f * y[at];
    }
}

/* The same without the factor. */
extern "C" __global__ void added(const float *x, float *y, int rows, int cols, int stride)
{
    ROWS(row) COLS(col)
    {
        size_t at = (size_t)row * stride + col;
        y[at] = silu(x[at]) + y[at];
    }
}

/* Another order of the same operations where the input does not begin at a multiple of 32. */
extern "C" __global__ void aligned(const float *x, float *y, int rows, int cols, int stride)
{
    bool even = (size_t)x % 32 == 0;
    ROWS(row) COLS(col)
    {
        size_t at = (size_t)row * stride + col;
        y[at] = even ? silu(x[at]) : x[at] * (1 / (1 + expf(-x[at])));
    }
}

/* Twice the input, but for a number that column 3 has in one row. */
extern "C" __global__ void twice(const float *x, float *y, int rows, int cols, int stride)
{
    ROWS(row) COLS(col)
    {
        size_t at = (size_t)row * stride + col;
        bool odd = col == 3 && x[at] > -0.375f && x[at] < -0.3748f;
        y[at] = 2 * x[at] + (odd ? 1.0f : 0.0f);
    }
}
