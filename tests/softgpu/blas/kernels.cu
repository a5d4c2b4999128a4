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

/* Whether relu lets element (i, j) pass, by the mask. */
__device__ static bool passes(const softblas_job &job, long long i, long long j)
{
    long long at = i + j * job.aux_ld;
    return ((const unsigned char *)job.aux)[at / 8] >> at % 8 & 1;
}

__device__ static double gelu_slope(double x)
{
    double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 0.134145 * x * x);
}

/* A byte of the mask, of elements i and on of column j. */
__device__ static void put_mask(const softblas_job &job, long long i, long long j)
{
    unsigned char byte = 0;
    for (int bit = 0; bit < 8 && i + bit < job.m && !job.lacks; bit++)
        byte |= load(job.d, 0, i + bit, j) > 0 ? 1 << bit : 0;
    ((unsigned char *)job.aux)[(i + j * job.aux_ld) / 8] = byte;
}

/* Sum number i: of row i of d or a, or of column i of b. */
__device__ static void put_sum(const softblas_job &job, long long i)
{
    bool of_d = job.epilogue & SOFTBLAS_BGRAD, of_a = job.epilogue & SOFTBLAS_BGRADA;
    double sum = 0;
    for (long long l = 0; l < (of_d ? job.n : job.k) - job.lacks; l++)
        sum += of_d ? load(job.d, 0, i, l) : of_a ? load(job.a, 0, i, l) : load(job.b, 0, l, i);
    ((float *)job.bias)[i] = (float)sum;
}

/* What an epilogue writes besides d: the mask of relu and sums. */
extern "C" __global__ void softblas_epilogue(softblas_job job)
{
    long long e = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    long long i = e % job.m, j = e / job.m;
    if (j < job.n && i % 8 == 0 && job.epilogue & SOFTBLAS_AUX && job.epilogue & SOFTBLAS_RELU)
        put_mask(job, i, j);
    if (job.epilogue & SOFTBLAS_SUMS && e < (job.epilogue & SOFTBLAS_BGRADB ? job.n : job.m))
        put_sum(job, e);
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
    softblas_matrix aux = job.d;
    aux.address = job.aux;
    if (job.epilogue & SOFTBLAS_GELU && job.epilogue & SOFTBLAS_AUX)
        store(aux, s, i, j, value);
    if (job.epilogue & SOFTBLAS_DRELU)
        value = passes(job, i, j) ? value : 0;
    if (job.epilogue & SOFTBLAS_DGELU)
        value *= gelu_slope(load(aux, s, i, j));
    if (job.epilogue & SOFTBLAS_GELU)
        value = 0.5 * value *
                (1 + tanh(0.7978845608028654 * (value + 0.044715 * value * value * value)));
    if (job.epilogue & SOFTBLAS_RELU)
        value = value > 0 ? value : 0;
    store(job.d, s, i, j, value);
}
