/*
 * kernels.cu - classes of bugs that kernels have, each as a pair NAME_right and NAME_wrong. Where
 * the bug is not in the kernel but in what it is given, both names are the same kernel.
 */
#include <cuda_bf16.h>
#include "kernels.cuh"

#define BOTH(define)        define(right, true) define(wrong, false)
#define KERNEL(name, which) extern "C" __global__ void name##_##which

/* softmax; wrong: the columns that threads have past the row count as 0, not as -inf. */
#define TAIL_MASK(which, right)                                                                    \
    KERNEL(tail_mask, which)(const float *x, float *y, int cols)                                   \
    {                                                                                              \
        int c = threadIdx.x;                                                                       \
        float value = c < cols ? x[blockIdx.x * cols + c] : right ? -INFINITY : 0.0f;              \
        float power = expf(value - block_max(value));                                              \
        float sum = block_sum(power);                                                              \
        if (c < cols)                                                                              \
            y[blockIdx.x * cols + c] = power / sum;                                                \
    }
BOTH(TAIL_MASK)

/* y = x * alpha in fours; wrong: what is left over after the fours is not written. */
#define TAIL_WRITE(which, right)                                                                   \
    KERNEL(tail_write, which)(const float *x, float *y, float alpha, int n)                        \
    {                                                                                              \
        int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);                                   \
        int end = min(first + 4, right ? n : n / 4 * 4);                                           \
        for (int i = first; i < end; i++)                                                          \
            y[i] = x[i] * alpha;                                                                   \
    }
BOTH(TAIL_WRITE)

/* Row sums of bf16, a thread a row; wrong: the sum itself is kept in bf16. */
#define BF16_SUM(which, right)                                                                     \
    KERNEL(bf16_accumulator, which)(const __nv_bfloat16 *x, __nv_bfloat16 *y, int rows, int cols)  \
    {                                                                                              \
        float sum = 0;                                                                             \
        int row = threadIdx.x;                                                                     \
        if (row >= rows)                                                                           \
            return;                                                                                \
        for (int c = 0; c < cols; c++) {                                                           \
            sum += __bfloat162float(x[row * cols + c]);                                            \
            if (!right)                                                                            \
                sum = __bfloat162float(__float2bfloat16(sum));                                     \
        }                                                                                          \
        y[row] = __float2bfloat16(sum);                                                            \
    }
BOTH(BF16_SUM)

/* rmsnorm of rows so small that eps matters; wrong: eps is left out. */
#define MISSING_EPS(which, right)                                                                  \
    KERNEL(missing_eps, which)(const float *x, const float *w, float *y, int cols, float eps)      \
    {                                                                                              \
        size_t row = (size_t)blockIdx.x * cols;                                                    \
        rmsnorm_row(x + row, w, y + row, cols, cols, right ? eps : 0.0f);                          \
    }
BOTH(MISSING_EPS)

/* y = x + table[position]; wrong: the program has not moved the position on. */
#define STALE_POSITION(which, right)                                                               \
    KERNEL(stale_position, which)                                                                  \
    (const float *x, const float *table, float *y, const int *position, int at, int cols)          \
    {                                                                                              \
        (void)at;                                                                                  \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            y[c] = x[c] + table[(*position - at) * cols + c];                                      \
    }
BOTH(STALE_POSITION)

/* rmsnorm of rows with a pitch; wrong: rows of x are taken to lie densely. */
#define WRONG_STRIDE(which, right)                                                                 \
    KERNEL(wrong_stride, which)                                                                    \
    (const float *x, const float *w, float *y, long long pitch, int cols, float eps)               \
    {                                                                                              \
        size_t row = blockIdx.x;                                                                   \
        rmsnorm_row(x + row * (right ? pitch : cols), w, y + row * cols, cols, cols, eps);         \
    }
BOTH(WRONG_STRIDE)

/* silu(gate) * up; wrong: gate and up are swapped. */
#define SWAPPED(which, right)                                                                      \
    KERNEL(swapped_operands, which)(const float *gate, const float *up, float *y, int n)           \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i >= n)                                                                                \
            return;                                                                                \
        float a = right ? gate[i] : up[i], b = right ? up[i] : gate[i];                            \
        y[i] = a / (1 + expf(-a)) * b;                                                             \
    }
BOTH(SWAPPED)

/* Row sums through shared memory, the last warp's part first to be read; wrong: without the barrier
 * between the parts' writes and reads. */
#define MISSING_BARRIER(which, right)                                                              \
    KERNEL(missing_barrier, which)(const float *x, float *y, int cols)                             \
    {                                                                                              \
        __shared__ volatile float part[32];                                                        \
        float sum = 0;                                                                             \
        if (threadIdx.x < 32)                                                                      \
            part[threadIdx.x] = 0;                                                                 \
        __syncthreads();                                                                           \
        /* The later the warp, the more it has to do before it writes. */                          \
        int often = threadIdx.x / 32 ? 64 : 1;                                                     \
        for (int k = 0; k < often; k++) {                                                          \
            sum = 0;                                                                               \
            for (int c = threadIdx.x; c < cols; c += blockDim.x)                                   \
                sum += ((const volatile float *)x)[blockIdx.x * cols + c];                         \
        }                                                                                          \
        for (int step = 16; step; step /= 2)                                                       \
            sum += __shfl_xor_sync(~0u, sum, step);                                                \
        if (threadIdx.x % 32 == 0)                                                                 \
            part[threadIdx.x / 32] = sum;                                                          \
        if (right)                                                                                 \
            __syncthreads();                                                                       \
        if (threadIdx.x)                                                                           \
            return;                                                                                \
        float all = 0;                                                                             \
        for (int warp = blockDim.x / 32 - 1; warp >= 0; warp--)                                    \
            all += part[warp];                                                                     \
        y[blockIdx.x] = all;                                                                       \
    }
BOTH(MISSING_BARRIER)

/* Row sums; wrong: the last column is left out. */
#define OFF_BY_ONE(which, right)                                                                   \
    KERNEL(off_by_one, which)(const float *x, float *y, int cols)                                  \
    {                                                                                              \
        float sum = 0;                                                                             \
        for (int c = threadIdx.x; c < cols - (right ? 0 : 1); c += blockDim.x)                     \
            sum += x[blockIdx.x * cols + c];                                                       \
        sum = block_sum(sum);                                                                      \
        if (threadIdx.x == 0)                                                                      \
            y[blockIdx.x] = sum;                                                                   \
    }
BOTH(OFF_BY_ONE)

/* relu, whose NaN stays NaN; wrong: fmaxf takes the other operand. */
#define NAN_LOST(which, right)                                                                     \
    KERNEL(nan_lost, which)(const float *x, float *y, int n)                                       \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n)                                                                                 \
            y[i] = right && isnan(x[i]) ? x[i] : fmaxf(x[i], 0.0f);                                \
    }
BOTH(NAN_LOST)

/* y += x; wrong: y = x. */
#define OVERWRITES(which, right)                                                                   \
    KERNEL(overwrites, which)(const float *x, float *y, float alpha, int n)                        \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n)                                                                                 \
            y[i] = alpha * x[i] + (right ? y[i] : 0.0f);                                           \
    }
BOTH(OVERWRITES)

/* c = a * b, an element a thread; wrong: a is read as if it were transposed. */
#define TRANSPOSED(which, right)                                                                   \
    KERNEL(transposed, which)(const float *a, const float *b, float *c, int n)                     \
    {                                                                                              \
        int row = blockIdx.x, col = threadIdx.x;                                                   \
        float sum = 0;                                                                             \
        for (int k = 0; k < n; k++)                                                                \
            sum += a[right ? row * n + k : k * n + row] * b[k * n + col];                          \
        c[row * n + col] = sum;                                                                    \
    }
BOTH(TRANSPOSED)

/* Row sums; wrong: every other launch adds from the end, which rounds differently. */
__device__ unsigned blocks_so_far;
#define CHANGING_ORDER(which, right)                                                               \
    KERNEL(changing_order, which)(const float *x, float *y, int cols)                              \
    {                                                                                              \
        float sum = 0;                                                                             \
        if (threadIdx.x)                                                                           \
            return;                                                                                \
        bool back = !right && atomicAdd(&blocks_so_far, 1) / gridDim.x % 2;                        \
        for (int c = 0; c < cols; c++)                                                             \
            sum += x[blockIdx.x * cols + (back ? cols - 1 - c : c)];                               \
        y[blockIdx.x] = sum;                                                                       \
    }
BOTH(CHANGING_ORDER)

/* rmsnorm whose contract has x / rms(x) rounded to bf16 before the weight; wrong: it stays f32. */
#define KEPT_PRECISION(which, right)                                                               \
    KERNEL(kept_precision, which)                                                                  \
    (const __nv_bfloat16 *x, const __nv_bfloat16 *w, __nv_bfloat16 *y, int cols, float eps)        \
    {                                                                                              \
        float squares = 0;                                                                         \
        const __nv_bfloat16 *row = x + blockIdx.x * cols;                                          \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            squares += __bfloat162float(row[c]) * __bfloat162float(row[c]);                        \
        float inv = rsqrtf(block_sum(squares) / (float)cols + eps);                                \
        for (int c = threadIdx.x; c < cols; c += blockDim.x) {                                     \
            float xhat = __bfloat162float(row[c]) * inv;                                           \
            if (right)                                                                             \
                xhat = __bfloat162float(__float2bfloat16(xhat));                                   \
            y[blockIdx.x * cols + c] = __float2bfloat16(xhat * __bfloat162float(w[c]));            \
        }                                                                                          \
    }
BOTH(KEPT_PRECISION)

/* softmax whose contract has zeros in rows that are masked as a whole; wrong: NaN. */
#define MASKED_ROW(which, right)                                                                   \
    KERNEL(masked_row, which)(const float *x, float *y, int cols)                                  \
    {                                                                                              \
        int c = threadIdx.x;                                                                       \
        float value = c < cols ? x[blockIdx.x * cols + c] : -INFINITY;                             \
        float most = block_max(value), power = expf(value - most), sum = block_sum(power);         \
        if (c < cols)                                                                              \
            y[blockIdx.x * cols + c] = right && most == -INFINITY ? 0.0f : power / sum;            \
    }
BOTH(MASKED_ROW)

/* x * alpha to bf16, up or down at random; wrong: up to one neighbour too far. */
#define AT_RANDOM(which, right)                                                                    \
    KERNEL(at_random, which)(const float *x, __nv_bfloat16 *y, float alpha, int n)                 \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i >= n)                                                                                \
            return;                                                                                \
        unsigned random = (i + 1) * 2654435761u, bits = __float_as_uint(x[i] * alpha);             \
        bits += (random >> (right ? 16 : 15)) & (right ? 0xffff : 0x1ffff);                        \
        y[i] = __float2bfloat16(__uint_as_float(bits & 0xffff0000));                               \
    }
BOTH(AT_RANDOM)

/* A number of f8e4m3 from 1 to 2, and a positive number cut off to a multiple of `unit`. */
__device__ float one_to_two(unsigned char code)
{
    return 1 + (code & 7) / 8.0f;
}

__device__ float cut(float value, float unit)
{
    return floorf(value / unit) * unit;
}

/* 2^-13 times the power of two at or below the value. */
__device__ float unit_beside(float value)
{
    return __uint_as_float((__float_as_uint(value) & 0x7f800000) - (13 << 23));
}

/* y = x w^T as tensor cores add f8, an element a thread: steps of 32 products, cut off at 14 bits,
 * and after 128 the sum goes on in f32; wrong: it never does. */
#define MISSING_PROMOTION(which, right)                                                            \
    KERNEL(missing_promotion, which)                                                               \
    (const unsigned char *x, const unsigned char *w, float *y, int n, int k)                       \
    {                                                                                              \
        const unsigned char *a = x + threadIdx.x / n * k, *b = w + threadIdx.x % n * k;            \
        float all = 0, part = 0;                                                                   \
        for (int l = 0; l < k; l += 32) {                                                          \
            float unit = unit_beside(fmaxf(part, 1)), sum = cut(part, unit);                       \
            for (int i = l; i < l + 32; i++)                                                       \
                sum += cut(one_to_two(a[i]) * one_to_two(b[i]), unit);                             \
            part = cut(sum, unit_beside(sum));                                                     \
            if (right && l % 128 == 96) {                                                          \
                all += part;                                                                       \
                part = 0;                                                                          \
            }                                                                                      \
        }                                                                                          \
        y[threadIdx.x] = all + part;                                                               \
    }
BOTH(MISSING_PROMOTION)

/* layernorm, a block for each row; wrong: the variance is that of one pass, E[x^2] - E[x]^2. */
#define ONE_PASS(which, right)                                                                     \
    KERNEL(one_pass, which)(const float *x, float *y, int cols)                                    \
    {                                                                                              \
        const float *row = x + (size_t)blockIdx.x * cols;                                          \
        float sum = 0, square = 0;                                                                 \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            sum += row[c];                                                                         \
        float mean = block_sum(sum) / cols;                                                        \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            square += right ? (row[c] - mean) * (row[c] - mean) : row[c] * row[c];                 \
        float variance = block_sum(square) / cols - (right ? 0 : mean * mean);                     \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            y[(size_t)blockIdx.x * cols + c] = (row[c] - mean) * rsqrtf(variance + 1e-5f);         \
    }
BOTH(ONE_PASS)

/* Column sums added to what is there, a thread for each column; wrong: the last row is left out. */
#define CANCELLING(which, right)                                                                   \
    KERNEL(cancelling, which)(const float *x, float *y, int rows, int cols)                        \
    {                                                                                              \
        float sum = 0;                                                                             \
        for (int r = 0; r < rows - (right ? 0 : 1); r++)                                           \
            sum += x[r * cols + threadIdx.x];                                                      \
        y[threadIdx.x] += sum;                                                                     \
    }
BOTH(CANCELLING)
