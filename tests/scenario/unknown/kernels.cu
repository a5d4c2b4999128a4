// kernels.cu - kernels of a program that no registry describes: eleven that compute what a
// reference of the catalogue does, as C++ templates, classes of CUDA and plain C; one that is
// wrong; one of its own.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace engine
{

template <typename T> __device__ float sum_of_block(T value)
{
    __shared__ float part[32];
    float sum = value;
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < blockDim.x / 32; i++)
        sum += part[i];
    __syncthreads();
    return sum;
}

template <typename T, int BLOCK>
__global__ void fused_rms_kernel(T *out, const T *in, const T *weight, float epsilon, int hidden)
{
    const T *row = in + (size_t)blockIdx.x * hidden;
    float square = 0;
    for (int i = threadIdx.x; i < hidden; i += BLOCK)
        square += (float)row[i] * (float)row[i];
    float inverse = rsqrtf(sum_of_block(square) / hidden + epsilon);
    for (int i = threadIdx.x; i < hidden; i += BLOCK)
        out[(size_t)blockIdx.x * hidden + i] = (T)((float)row[i] * inverse * (float)weight[i]);
}
template __global__ void fused_rms_kernel<float, 64>(float *, const float *, const float *, float,
                                                     int);

// The sum is not divided by the row's length.
template <typename T, int BLOCK>
__global__ void forgetful_rms_kernel(T *out, const T *in, const T *weight, float epsilon,
                                     int hidden)
{
    const T *row = in + (size_t)blockIdx.x * hidden;
    float square = 0;
    for (int i = threadIdx.x; i < hidden; i += BLOCK)
        square += (float)row[i] * (float)row[i];
    float inverse = rsqrtf(sum_of_block(square) + epsilon);
    for (int i = threadIdx.x; i < hidden; i += BLOCK)
        out[(size_t)blockIdx.x * hidden + i] = (T)((float)row[i] * inverse * (float)weight[i]);
}
template __global__ void forgetful_rms_kernel<float, 64>(float *, const float *, const float *,
                                                         float, int);

template <typename T>
__global__ void gated_activation(const T *gate, const T *up, T *result, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        float g = (float)gate[i];
        result[i] = (T)(g / (1 + __expf(-g)) * (float)up[i]);
    }
}
template __global__ void
gated_activation<__nv_bfloat16>(const __nv_bfloat16 *, const __nv_bfloat16 *, __nv_bfloat16 *, int);

__global__ void probabilities(float *p, const float *logits, int columns)
{
    const float *row = logits + (size_t)blockIdx.x * columns;
    float most = -INFINITY, sum = 0;
    for (int i = 0; i < columns; i++)
        most = fmaxf(most, row[i]);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += __expf(row[i] - most);
    sum = sum_of_block(sum);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        p[(size_t)blockIdx.x * columns + i] = __expf(row[i] - most) / sum;
}

} // namespace engine

// c = a b, a of m x k and b of k x n.
extern "C" __global__ void tiled_product(const float *a, const float *b, float *c, int m, int n,
                                         int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (row >= m || col >= n)
        return;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}

// x += y
extern "C" __global__ void accumulate_into(__half *x, const __half *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = __float2half(__half2float(x[i]) + __half2float(y[i]));
}

extern "C" __global__ void rows_total(const float *values, float *totals, int columns)
{
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += values[(size_t)blockIdx.x * columns + i];
    sum = engine::sum_of_block(sum);
    if (threadIdx.x == 0)
        totals[blockIdx.x] = sum;
}

extern "C" __global__ void multiply_all(const float *in, float *out, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * factor;
}

extern "C" __global__ void normalise_rows(const float *x, const float *w, const float *b, float *y,
                                          float eps, int columns)
{
    const float *row = x + (size_t)blockIdx.x * columns;
    float sum = 0, square = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += row[i];
    float mean = engine::sum_of_block(sum) / columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        square += (row[i] - mean) * (row[i] - mean);
    float inverse = rsqrtf(engine::sum_of_block(square) / columns + eps);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        y[(size_t)blockIdx.x * columns + i] = (row[i] - mean) * inverse * w[i] + b[i];
}

// Rows that lie apart, in both arrays.
extern "C" __global__ void padded_silu(const float *x, float *y, int x_stride, int y_stride,
                                       int columns)
{
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        float v = x[(size_t)blockIdx.x * x_stride + i];
        y[(size_t)blockIdx.x * y_stride + i] = v / (1 + __expf(-v));
    }
}

// Heads apart, in attention's layout: y[heads][tokens][width] of x[tokens][heads][width].
extern "C" __global__ void heads_apart(const float *x, float *y, int tokens, int heads, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= tokens * heads * width)
        return;
    int c = i % width, t = i / width % tokens, h = i / width / tokens;
    y[i] = x[((size_t)t * heads + h) * width + c];
}

// An rmsnorm that counts the numbers above their row's mean square, too.
extern "C" __global__ void rmsnorm_and_count(const float *x, const float *w, float *y, float *above,
                                             int columns, float eps)
{
    const float *row = x + (size_t)blockIdx.x * columns;
    float square = 0, count = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        square += row[i] * row[i];
    float mean = engine::sum_of_block(square) / columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        count += row[i] > mean ? 1.0f : 0.0f;
        y[(size_t)blockIdx.x * columns + i] = row[i] * rsqrtf(mean + eps) * w[i];
    }
    count = engine::sum_of_block(count);
    if (threadIdx.x == 0)
        above[blockIdx.x] = count;
}

// No formula of the catalogue.
extern "C" __global__ void iterate(const float *x, float *y, int steps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float z = 0;
        for (int s = 0; s < steps; s++)
            z = z * z + x[i] * 0.5f;
        y[i] = z;
    }
}
