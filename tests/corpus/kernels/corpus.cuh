/*
 * corpus.cuh - what the kernels of the corpus are made of.
 *
 * An operation is one device function OP with the number of a mutant: 0 is the right kernel, n
 * differs from it in the places that name MUTANT. Its parameters are a macro, OP_PARAMETERS, the
 * names of them another, OP_ARGUMENTS, so that corpus.cu can make kernels of it, which entries.def
 * lists.
 *
 * Blocks have BLOCK threads. Every kernel takes any grid.
 */
#ifndef CORPUS_CUH
#define CORPUS_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

using f32 = float;
using f16 = __half;
using bf16 = __nv_bfloat16;

enum { BLOCK = 128, WARPS = BLOCK / 32 };

#define OPERATION(op) template <class T, int MUTANT> __device__ void op(op##_PARAMETERS(T))
#define EACH_CELL(i, n)                                                                            \
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < (n); i += gridDim.x * BLOCK)
#define EACH_ROW(r, n)    for (int r = blockIdx.x; r < (n); r += gridDim.x)
#define EACH_COLUMN(c, n) for (int c = threadIdx.x; c < (n); c += BLOCK)

/* What a variable of type T holds of it. */
template <class T> __device__ static float rounded(float value)
{
    return (float)(T)value;
}

/* An accumulator that is kept in type T in a mutant, in f32 else. */
template <class T, bool LOW> __device__ static float kept(float value)
{
    return LOW ? rounded<T>(value) : value;
}

/* The larger; NaN where one is, which fmaxf would drop. */
__device__ static float larger(float a, float b)
{
    return a > b || a != a ? a : b;
}

__device__ static float smaller(float a, float b)
{
    return a < b || a != a ? a : b;
}

struct plus {
    __device__ float operator()(float a, float b) const
    {
        return a + b;
    }
};

/* Over all threads of the block; every thread gets the result. T, LOW: the partial sums' type. */
template <class F, class T = float, bool LOW = false>
__device__ static float block_fold(float value, F f)
{
    __shared__ float part[WARPS];
    for (int step = 16; step; step /= 2)
        value = kept<T, LOW>(f(value, __shfl_xor_sync(~0u, value, step)));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = value;
    __syncthreads();
    float all = part[0];
    for (int warp = 1; warp < WARPS; warp++)
        all = kept<T, LOW>(f(all, part[warp]));
    return all;
}

template <class T = float, bool LOW = false> __device__ static float block_sum(float value)
{
    return block_fold<plus, T, LOW>(value, plus());
}

__device__ static float block_max(float value)
{
    return block_fold(value, larger);
}

__device__ static float logistic(float x)
{
    return 1 / (1 + expf(-x));
}

__device__ static float normal_cdf(float x)
{
    return 0.5f * (1 + erff(x * 0.70710678f));
}

/* gelu's approximation by tanh. */
__device__ static float gelu_by_tanh(float x)
{
    return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

#endif
