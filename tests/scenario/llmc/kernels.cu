/* kernels.cu - kernels by the names of llm.c's, in its tables. In blocks of 64 threads each
 * has one element wrong. */
#include <cuda_bf16.h>

__device__ static bool spoils(long long i)
{
    return blockDim.x == 64 && i == 7;
}

/* One thread an element of dinp, whose heads are those of dq, dk and dv one behind the other. */
template <class T>
__device__ static void merge(T *dinp, const T *dq, const T *dk, const T *dv, int B, int N, int NH,
                             int d)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= B * N * 3 * NH * d)
        return;
    int c = i % d, head = i / d % (3 * NH), n = i / d / (3 * NH) % N, b = i / d / (3 * NH) / N;
    const T *from = head < NH ? dq : head < 2 * NH ? dk : dv;
    dinp[i] = from[((b * NH + head % NH) * N + n) * d + (spoils(i) ? d - 1 - c : c)];
}

__global__ void permute_kernel_backward(float *dinp, const float *dq, const float *dk,
                                        const float *dv, int B, int N, int NH, int d)
{
    merge(dinp, dq, dk, dv, B, N, NH, d);
}

__global__ void permute_kernel_backward(__nv_bfloat16 *dinp, const __nv_bfloat16 *dq,
                                        const __nv_bfloat16 *dk, const __nv_bfloat16 *dv, int B,
                                        int N, int NH, int d)
{
    merge(dinp, dq, dk, dv, B, N, NH, d);
}

__global__ void unpermute_kernel_backward(float *dinp, const float *dout, int B, int N, int NH,
                                          int d)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= B * NH * N * d)
        return;
    int c = i % d, n = i / d % N, head = i / d / N % NH, b = i / d / N / NH;
    dinp[i] = dout[((b * N + n) * NH + head) * d + (spoils(i) ? d - 1 - c : c)];
}

/* The first thread of a block adds up what the block's threads would share. */
template <class T>
__global__ void global_norm_squared_kernel(float *out, const T *data, size_t count,
                                           ptrdiff_t stride)
{
    float sum = 0;
    if (threadIdx.x > 0)
        return;
    for (size_t i = (size_t)blockIdx.x * blockDim.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        for (size_t k = i; k < i + blockDim.x && k < count; k++) {
            float x = data[blockIdx.y * stride + k];
            sum += spoils((long long)k) ? 2 * x * x : x * x;
        }
    }
    out[blockIdx.y * gridDim.x + blockIdx.x] += sum;
}

template <class T>
__global__ void global_sum_single_block_kernel(float *result, const T *values, size_t count)
{
    float sum = 0;
    for (size_t i = 0; i < count && threadIdx.x == 0; i++)
        sum += spoils((long long)i) ? 2 * values[i] : values[i];
    if (threadIdx.x == 0)
        *result = sum;
}

template __global__ void global_norm_squared_kernel(float *, const __nv_bfloat16 *, size_t,
                                                    ptrdiff_t);
template __global__ void global_sum_single_block_kernel(float *, const float *, size_t);
