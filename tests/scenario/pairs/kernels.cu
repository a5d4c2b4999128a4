/*
 * kernels.cu - kernels for a single row and kernels for many, right and wrong ones. Some of the
 * wrong ones are within every bound: only that the two differ shows it.
 */
#include <cuda_fp16.h>
#include "kernels.cuh"

/* ---- rmsnorm; the wrong one multiplies in another order ---- */

static __device__ void norm_row(const float *x, const float *w, float *y, int cols, float eps)
{
    size_t row = (size_t)blockIdx.x * cols;
    rmsnorm_row(x + row, w, y + row, cols, cols, eps);
}

RMSNORM_RIGHT(rms_norm)
RMSNORM_RIGHT(rms_norm_batched)

static __device__ void norm_row_wrong(const float *x, const float *w, float *y, int cols, float eps)
{
    size_t row = (size_t)blockIdx.x * cols;
    float squares = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        squares += x[row + c] * x[row + c];
    float inverse = rsqrtf(block_sum(squares) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[row + c] = x[row + c] * (inverse * w[c]);
}

extern "C" __global__ void rms_norm_batched_wrong(const float *x, const float *w, float *y,
                                                  int cols, float eps)
{
    norm_row_wrong(x, w, y, cols, eps);
}

/* ---- a sum and its norm by two kernels, and by one; the wrong one has the wrong norm ---- */

static __device__ void add_row(const float *x, const float *residual, float *z, int cols)
{
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        z[blockIdx.x * cols + c] = x[blockIdx.x * cols + c] + residual[blockIdx.x * cols + c];
}

extern "C" __global__ void fused_first(const float *x, const float *residual, float *z, int cols)
{
    add_row(x, residual, z, cols);
}

RMSNORM_RIGHT(fused_second)

#define FUSED(name, norm)                                                                          \
    extern "C" __global__ void name(const float *x, const float *residual, const float *w,         \
                                    float *z, float *y, int cols, float eps)                       \
    {                                                                                              \
        add_row(x, residual, z, cols);                                                             \
        __syncthreads();                                                                           \
        norm(z, w, y, cols, eps);                                                                  \
    }

FUSED(fused_both, norm_row)
FUSED(fused_both_wrong, norm_row_wrong)

/* ---- products with weights in blocks of 256 ---- */

struct q4_K {
    half2 dm; /* scale and minimum */
    unsigned char scales[12], codes[128];
};

struct q6_K {
    unsigned char low[128], high[64];
    signed char scales[16];
    half d;
};

/* The six bits of scale or minimum `i` of 8. */
static __device__ int six(const unsigned char *q, int i, bool minimum)
{
    int at = i % 4 + (minimum ? 4 : 0);
    if (i < 4)
        return q[at] & 63;
    int low = minimum ? q[i + 4] >> 4 : q[i + 4] & 15;
    return low | q[at] >> 6 << 4;
}

/* The wrong one loses the upper bits of the later scales. */
static __device__ float q4_value(const q4_K &block, int i, bool wrong)
{
    int group = i / 32, byte = i / 64 * 32 + i % 32;
    int code = i % 64 < 32 ? block.codes[byte] & 15 : block.codes[byte] >> 4;
    int scale = six(block.scales, group, false), low = six(block.scales, group, true);
    if (wrong && group >= 4)
        scale &= 15;
    return __low2float(block.dm) * scale * code - __high2float(block.dm) * low;
}

/* The wrong one takes a scale for unsigned. */
static __device__ float q6_value(const q6_K &block, int i, bool wrong)
{
    int part = i / 128, l = i % 32, quarter = i % 128 / 32;
    int low = block.low[part * 64 + l + quarter % 2 * 32] >> quarter / 2 * 4 & 15;
    int code = (low | (block.high[part * 32 + l] >> quarter * 2 & 3) << 4) - 32;
    int scale = block.scales[i / 16];
    return __half2float(block.d) * (wrong ? scale & 255 : scale) * code;
}

template <class Block, float value(const Block &, int, bool)>
static __device__ void product(const Block *w, const float *x, float *y, int n, int k, bool wrong)
{
    float sum = 0;
    for (int l = threadIdx.x; l < k; l += blockDim.x)
        sum += x[(size_t)blockIdx.y * k + l] *
               value(w[(size_t)blockIdx.x * (k / 256) + l / 256], l % 256, wrong);
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        y[(size_t)blockIdx.y * n + blockIdx.x] = sum;
}

#define PRODUCT(name, Block, value, wrong)                                                         \
    extern "C" __global__ void name(const Block *w, const float *x, float *y, int n, int k)        \
    {                                                                                              \
        product<Block, value>(w, x, y, n, k, wrong);                                               \
    }

PRODUCT(q4k_gemv, q4_K, q4_value, false)
PRODUCT(q4k_gemv_batched, q4_K, q4_value, false)
PRODUCT(q4k_gemv_batched_wrong, q4_K, q4_value, true)
PRODUCT(q6k_gemv, q6_K, q6_value, false)
PRODUCT(q6k_gemv_batched, q6_K, q6_value, false)
PRODUCT(q6k_gemv_batched_wrong, q6_K, q6_value, true)

/* ---- residual add; the wrong one adds the first row's to all ---- */

static __device__ void add(const float *x, const float *residual, float *y, int cols, int row)
{
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[blockIdx.y * cols + c] = x[blockIdx.y * cols + c] + residual[row * cols + c];
}

#define ADD(name, row)                                                                             \
    extern "C" __global__ void name(const float *x, const float *residual, float *y, int cols)     \
    {                                                                                              \
        add(x, residual, y, cols, row);                                                            \
    }

ADD(residual_add, 0)
ADD(residual_add_batched, blockIdx.y)
ADD(residual_add_batched_wrong, 0)

/* ---- rotary; the wrong one takes the first token's position for all ---- */

static __device__ void turn(const float *x, const float *cos, const float *sin, float *y, int heads,
                            int half, int at)
{
    for (int i = threadIdx.x; i < heads * half; i += blockDim.x) {
        size_t pair = ((size_t)blockIdx.y * heads * half + i) * 2;
        float u = cos[at * half + i % half], v = sin[at * half + i % half];
        y[pair] = x[pair] * u - x[pair + 1] * v;
        y[pair + 1] = x[pair] * v + x[pair + 1] * u;
    }
}

#define ROPE(name, token)                                                                          \
    extern "C" __global__ void name(const float *x, const float *cos, const float *sin,            \
                                    const int *position, float *y, int heads, int half,            \
                                    int positions)                                                 \
    {                                                                                              \
        turn(x, cos, sin, y, heads, half, position[token]);                                        \
    }

ROPE(rope, 0)
ROPE(rope_batched, blockIdx.y)
ROPE(rope_batched_wrong, 0)

/* ---- swiglu; the wrong one divides last ---- */

static __device__ void gated(const float *gate, const float *up, float *y, int cols, bool wrong)
{
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float g = gate[blockIdx.y * cols + c], u = up[blockIdx.y * cols + c];
        float below = 1.0f + expf(-g);
        y[blockIdx.y * cols + c] = wrong ? g * u / below : g / below * u;
    }
}

#define SWIGLU(name, wrong)                                                                        \
    extern "C" __global__ void name(const float *gate, const float *up, float *y, int cols)        \
    {                                                                                              \
        gated(gate, up, y, cols, wrong);                                                           \
    }

SWIGLU(swiglu, false)
SWIGLU(swiglu_batched, false)
SWIGLU(swiglu_batched_wrong, true)

/* ---- sums of rows, in one order or the other ---- */

static __device__ void add_up(const float *x, float *y, int cols, bool from_the_end, float more)
{
    float sum = more;
    if (threadIdx.x)
        return;
    for (int c = 0; c < cols; c++)
        sum += x[blockIdx.x * cols + (from_the_end ? cols - 1 - c : c)];
    y[blockIdx.x] = sum;
}

#define SUMS(name, from_the_end, more)                                                             \
    extern "C" __global__ void name(const float *x, float *y, int cols)                            \
    {                                                                                              \
        add_up(x, y, cols, from_the_end, more);                                                    \
    }

SUMS(sums_first, false, 0)
SUMS(sums_second, false, 0)
SUMS(sums_backwards, true, 0)
SUMS(near_forwards, false, 0)
SUMS(near_backwards, true, 0)
SUMS(near_off, false, 1.2e-4f) /* within the bound of a sum, and more than the margin */
SUMS(one_sums, false, 0)
SUMS(one_same, gridDim.x > 1, 0)
SUMS(one_backwards, true, 0)
SUMS(alone_sums, false, 0)
SUMS(shared_same, false, 0)
SUMS(shared_sums, gridDim.x > 2, 0) /* the order depends on how many rows there are */
