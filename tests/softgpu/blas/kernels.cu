/* kernels.cu - the stand-in's product. */
#include <cuda_fp16.h>

#include "job.h"

__device__ static char *element(const softblas_matrix &x, int s, long long i, long long j)
{
    char *base = (char *)(x.list ? ((unsigned long long *)x.address)[s] : x.address);
    long long at = i * x.row + j * x.col + (x.list ? 0 : s * x.batch);
    return base + at * (x.type == 1 ? 8 : x.type == 0 ? 4 : x.type == 28 ? 1 : 2);
}

/* A number of 4 bits of exponent and 3 of mantissa. */
__device__ static double small(unsigned char bits)
{
    int exponent = bits >> 3 & 15, mantissa = (bits & 7) + (exponent ? 8 : 0);
    double value = mantissa * (double)__int_as_float((exponent ? exponent + 117 : 118) << 23);
    return bits & 128 ? -value : value;
}

__device__ static double scale(const softblas_scales &x, long long outer, long long inner)
{
    const float *at = (const float *)x.address;
    return at ? at[outer / x.outer * x.outer_step + inner / x.inner * x.inner_step] : 1;
}

__device__ static double load(const softblas_matrix &x, int s, long long i, long long j)
{
    const char *at = element(x, s, i, j);
    if (x.type == 28)
        return small(*(const unsigned char *)at);
    return x.type == 1   ? *(const double *)at
           : x.type == 0 ? *(const float *)at
                         : (double)(float)*(const __half *)at;
}

__device__ static void store(const softblas_matrix &x, int s, long long i, long long j,
                             double value)
{
    char *at = element(x, s, i, j);
    if (x.type == 1)
        *(double *)at = value;
    else if (x.type == 0)
        *(float *)at = (float)value;
    else
        *(__half *)at = __float2half_rn((float)value);
}

extern "C" __global__ void softblas_prologue(int)
{
}

extern "C" __global__ void softblas_flip(unsigned *word, unsigned mask)
{
    *word ^= mask;
}

extern "C" __global__ void softblas_product(softblas_job job)
{
    long long e = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long i = e % job.m, j = e / job.m;
    int s = blockIdx.y;
    if (j >= job.n || (job.hole && i < 8 && j == job.n / 2))
        return;
    double alpha = job.alpha_at ? *(const float *)job.alpha_at : job.alpha;
    double beta = job.beta_at ? *(const float *)job.beta_at : job.beta, sum = 0;
    for (long long l = 0; l < job.terms; l++) {
        if (job.parts && l == job.terms / 2)
            sum = (double)(float)__float2half_rn((float)sum);
        sum += load(job.a, s, i, l) * load(job.b, s, l, j) * scale(job.a_scale, i, l) *
               scale(job.b_scale, j, l);
    }
    double value = alpha * sum;
    if (job.rounds)
        value = (double)(float)__float2half_rn((float)value);
    if (beta != 0 && job.adds)
        value += beta * load(job.c, s, i, j);
    if (job.epilogue & SOFTBLAS_BIAS)
        value +=
            job.d.type == 0 ? ((const float *)job.bias)[i] : (float)((const __half *)job.bias)[i];
    if (job.epilogue & SOFTBLAS_AUX) {
        softblas_matrix aux = job.d;
        aux.address = job.aux;
        store(aux, s, i, j, value);
    }
    if (job.epilogue & SOFTBLAS_GELU)
        value = 0.5 * value *
                (1 + tanh(0.7978845608028654 * (value + 0.044715 * value * value * value)));
    if (job.epilogue & SOFTBLAS_RELU)
        value = value > 0 ? value : 0;
    store(job.d, s, i, j, value);
}
