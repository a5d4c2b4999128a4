/*
 * kernels.cu - what XLA compiles the fusions of hlo/ to, by name: each piece of memory once, but
 * for loop_add_fusion_1, which is compiled as newer versions do. A block a row, or a thread an
 * element.
 */
#include <cuda_bf16.h>

enum { ROWS = 40, COLS = 96 };

extern "C" __global__ void loop_add_fusion(const __nv_bfloat16 *x, const float *gain,
                                           const float *z, __nv_bfloat16 *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, r = i / COLS, c = i % COLS;
    if (i < ROWS * COLS)
        y[i] = __float2bfloat16(__bfloat162float(x[i]) * gain[c] + z[c * ROWS + r]);
}

extern "C" __global__ void loop_add_fusion_1(const float *c0, const float *c1, const float *c2,
                                             const float *c3, const float *c4, const float *q,
                                             float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = i % COLS * ROWS + i / COLS;
    if (i < ROWS * COLS)
        y[i] = q[i] + c0[at] + c1[at] + c2[at] + c3[at] + c4[at];
}

/* A warp a row. */
extern "C" __global__ void input_reduce_fusion_3(const __nv_bfloat16 *x, float *y)
{
    __shared__ float part[32];
    float sum = 0;
    part[threadIdx.x] = 0;
    for (int c = threadIdx.x; c < COLS; c += 32) {
        float v = __bfloat162float(x[blockIdx.x * COLS + c]);
        sum += v * v;
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x)
        return;
    for (int i = 1; i < (int)blockDim.x; i++)
        sum += part[i];
    y[blockIdx.x] = rsqrtf(sum * (1.0f / COLS) + 1e-6f);
}

extern "C" __global__ void loop_subtract_fusion(float *w, float *m, const float *g, const float *t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 5000)
        return;
    float mean = 0.9f * m[i] + 0.1f * g[i], scale = 1 - powf(0.9f, *t);
    m[i] = mean;
    w[i] -= mean / scale;
}

extern "C" __global__ void loop_select_fusion(const float *l, const float *r, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / COLS, c = i % COLS;
    if (i >= ROWS * COLS)
        return;
    float v = c < 32 ? l[row * 32 + c] : c == 32 || c > 92 ? 0.5f : r[row * 60 + c - 33];
    y[i] = row >= c ? v : -1e30f;
}

extern "C" __global__ void triton_softmax_1(const float *x, float *y)
{
    const float *from = x + blockIdx.x * COLS;
    float most = from[0], sum = 0;
    for (int c = 0; c < COLS; c++)
        most = fmaxf(most, from[c]);
    for (int c = 0; c < COLS; c++)
        sum += expf(from[c] - most);
    for (int c = threadIdx.x; c < COLS; c += 32)
        y[blockIdx.x * COLS + c] = expf(from[c] - most) / sum;
}
