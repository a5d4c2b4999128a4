// kernels.cu - kernels of common kinds as programs write them: arguments in a struct, vectors,
// masks, gathers, atomics, tiles. For tests/check_discover.sh.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T> __device__ T warp_sum(T value)
{
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    return value;
}

struct norm_args {
    const float *x, *weight, *bias;
    float *y;
    long long x_offset, y_offset;
    int cols;
    float eps;
};

extern "C" __global__ void layernorm_fwd(norm_args args)
{
    const float *x = args.x + args.x_offset + (size_t)blockIdx.x * args.cols;
    float *y = args.y + args.y_offset + (size_t)blockIdx.x * args.cols;
    float sum = 0, square = 0;
    for (int i = threadIdx.x; i < args.cols; i += 32)
        sum += x[i];
    float mean = warp_sum(sum) / args.cols;
    for (int i = threadIdx.x; i < args.cols; i += 32)
        square += (x[i] - mean) * (x[i] - mean);
    float scale = rsqrtf(warp_sum(square) / args.cols + args.eps);
    for (int i = threadIdx.x; i < args.cols; i += 32)
        y[i] = (x[i] - mean) * scale * args.weight[i] + args.bias[i];
}

extern "C" __global__ void copy2d(const float *src, int src_ld, float *dst, int dst_ld, int rows,
                                  int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols)
        dst[(size_t)row * dst_ld + col] = src[(size_t)row * src_ld + col];
}

// In place, two halves at once.
extern "C" __global__ void bias_gelu(__half2 *x, const __half2 *bias, int pairs, int pairs_a_row)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs)
        return;
    float2 v = __half22float2(x[i]), b = __half22float2(bias[i % pairs_a_row]);
    v.x += b.x;
    v.y += b.y;
    v.x = 0.5f * v.x * (1 + erff(v.x * 0.70710678f));
    v.y = 0.5f * v.y * (1 + erff(v.y * 0.70710678f));
    x[i] = __float22half2_rn(v);
}

namespace attention
{
// A row a warp; what the mask has as 0 is left out.
__global__ void masked_softmax(const float *scores, const unsigned char *mask, float *p,
                               float scale, int cols)
{
    size_t row = blockIdx.x;
    float most = -INFINITY, sum = 0;
    for (int i = 0; i < cols; i++)
        if (mask[row * cols + i])
            most = fmaxf(most, scores[row * cols + i] * scale);
    for (int i = threadIdx.x; i < cols; i += 32)
        sum += mask[row * cols + i] ? expf(scores[row * cols + i] * scale - most) : 0;
    sum = warp_sum(sum);
    for (int i = threadIdx.x; i < cols; i += 32)
        p[row * cols + i] =
            mask[row * cols + i] ? expf(scores[row * cols + i] * scale - most) / sum : 0;
}
} // namespace attention

template <typename T>
__global__ void embed(const int *ids, const T *table, T *out, int count, int dim)
{
    int token = blockIdx.x;
    if (token >= count)
        return;
    for (int i = threadIdx.x; i < dim; i += blockDim.x)
        out[(size_t)token * dim + i] = table[(size_t)ids[token] * dim + i];
}
template __global__ void embed<__nv_bfloat16>(const int *, const __nv_bfloat16 *, __nv_bfloat16 *,
                                              int, int);

extern "C" __global__ void histogram_kernel(const unsigned char *data, unsigned *bins, int n)
{
    __shared__ unsigned part[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        part[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&part[data[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (part[i])
            atomicAdd(&bins[i], part[i]);
}

extern "C" __global__ void row_max(const float *x, float *best, int *where, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float most = x[(size_t)row * cols];
    int at = 0;
    for (int i = 1; i < cols; i++)
        if (x[(size_t)row * cols + i] > most) {
            most = x[(size_t)row * cols + i];
            at = i;
        }
    best[row] = most;
    where[row] = at;
}

// c = alpha a b + beta c.
template <int TILE>
__global__ void sgemm_tiled(int m, int n, int k, float alpha, const float *a, const float *b,
                            float beta, float *c)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int at = 0; at < k; at += TILE) {
        int x = at + threadIdx.x, y = at + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < m && x < k ? a[row * k + x] : 0;
        right[threadIdx.y][threadIdx.x] = y < k && col < n ? b[y * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = alpha * sum + (beta != 0 ? beta * c[row * n + col] : 0);
}
template __global__ void sgemm_tiled<8>(int, int, int, float, const float *, const float *, float,
                                        float *);
