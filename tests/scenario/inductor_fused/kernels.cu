/*
 * kernels.cu - what Inductor compiles the fragments of generated/ to, by name and parameters.
 * Behind those stands what Triton appends; here it is a number: 1 makes each kernel compute
 * something else than its fragment, as a wrong fusion does.
 */
#include <cuda_bf16.h>

enum { ROWS = 40, COLS = 96 };

extern "C" __global__ void triton_poi_fused__to_copy_add_mul_t_0(const __nv_bfloat16 *x,
                                                                 const float *gain, const float *z,
                                                                 __nv_bfloat16 *y, int n, int wrong)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, r = i / COLS, c = i % COLS;
    if (i < n)
        y[i] = __float2bfloat16(__bfloat162float(x[i]) * gain[c] + z[wrong ? i : c * ROWS + r]);
}

/* The sum of a row's values, in each lane of a warp. */
static __device__ float row_sum(float value)
{
    for (int lane = 16; lane; lane /= 2)
        value += __shfl_xor_sync(~0u, value, lane);
    return value;
}

extern "C" __global__ void triton_per_fused_add_mean_mul_pow_rsqrt_1(const float *x, const float *w,
                                                                     float *y, int rows, int cols,
                                                                     int wrong)
{
    float sum = 0;
    x += blockIdx.x * cols;
    for (int c = threadIdx.x; c < cols; c += 32)
        sum += x[c] * x[c];
    sum = row_sum(sum) / cols;
    float scale = wrong ? rsqrtf(sum) + 1e-5f : rsqrtf(sum + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += 32)
        y[blockIdx.x * cols + c] = x[c] * scale * w[c];
}

extern "C" __global__ void triton_poi_fused_add_gelu_2(float *y, const float *bias, int n,
                                                       int wrong)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = y[i] + bias[i % COLS];
    y[i] = (wrong ? y[i] : x) * 0.5f * (erff(x * 0.70710678f) + 1);
}

extern "C" __global__ void triton_per_fused__softmax_prepare_softmax_online_3(const float *x,
                                                                              float *y, int rows,
                                                                              int cols, int wrong)
{
    float most = x[blockIdx.x * cols], sum = 0;
    x += blockIdx.x * cols;
    for (int c = 0; c < cols; c++)
        most = fmaxf(most, x[c]);
    for (int c = threadIdx.x; c < cols; c += 32)
        sum += expf(x[c] - most);
    sum = row_sum(sum) + (wrong ? 32 * expf(-most) : 0);
    for (int c = threadIdx.x; c < cols; c += 32)
        y[blockIdx.x * cols + c] = expf(x[c] - most) / sum;
}

extern "C" __global__ void triton_per_fused_native_layer_norm_4(float *scale, const float *x,
                                                                const float *w, const float *b,
                                                                float *mean, float *y, int rows,
                                                                int cols, int wrong)
{
    float sum = 0, squares = 0;
    x += blockIdx.x * cols;
    for (int c = threadIdx.x; c < cols; c += 32)
        sum += x[c];
    float middle = row_sum(sum) / cols;
    for (int c = threadIdx.x; c < cols; c += 32)
        squares += (x[c] - middle) * (x[c] - middle);
    float by = rsqrtf(row_sum(squares) / (cols - wrong) + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += 32)
        y[blockIdx.x * cols + c] = (x[c] - middle) * by * w[c] + b[c];
    scale[blockIdx.x] = by;
    mean[blockIdx.x] = middle;
}

extern "C" __global__ void triton_poi_fused_cat_slice_where_5(const float *x, const float *left,
                                                              float *y, int n, int wrong)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, r = i / COLS, c = i % COLS;
    if (i >= n)
        return;
    float v = c < 32 ? left[r * 32 + c] : x[i - wrong];
    y[i] = v < 0.5f ? -2.5f : v;
}

/* One warp: the state is written over where it lies. */
extern "C" __global__ void
triton_red_fused_add_copy__slice_scatter_sum_7(const float *x, const float *part, float *total,
                                               float *wide, float *state, float *scratch, int n,
                                               int wrong)
{
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        int r = i / COLS, c = i % COLS;
        bool inside = c >= 16 && c < (wrong ? 47 : 48);
        float v = x[i] + (inside ? part[r * 32 + c - 16] : 0);
        state[i] = v;
        wide[r * 128 + c + 8] = v;
        sum += v;
    }
    for (int i = threadIdx.x; i < ROWS * 32; i += 32)
        wide[i / 32 * 128 + (i % 32 < 8 ? i % 32 : i % 32 + COLS)] = 1.5f;
    sum = row_sum(sum);
    if (threadIdx.x == 0)
        *total = *scratch = sum;
}
