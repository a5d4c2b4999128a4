// contract_kernels.cu - compiled kernels for contract.c: what whole programs do beyond one
// instruction.
//
// Each writes its results to `out` and takes nothing; kernels.c has the list, with grids and
// counts.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ static unsigned thread_index()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

// splitmix64.
__device__ static unsigned long long random_bits(unsigned long long at)
{
    unsigned long long z = (at + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

// ---- warps
// -----------------------------------------------------------------------------------------

extern "C" __global__ void shuffles(unsigned *out)
{
    unsigned i = thread_index(), lane = threadIdx.x % 32;
    unsigned value = (unsigned)random_bits(i);
    out += i * 4;
    out[0] = __shfl_sync(~0u, value, (int)(value % 37));
    out[1] = __shfl_up_sync(~0u, value, 5, 16) ^ __shfl_down_sync(~0u, value, 3, 8);
    out[2] = __shfl_xor_sync(~0u, value, 9) + __shfl_sync(~0u, value, 3, 4);
    unsigned odd = 0;
    if (lane % 2)
        odd = __shfl_xor_sync(0xaaaaaaaa, value, 2);
    out[3] = odd;
}

extern "C" __global__ void votes(unsigned *out)
{
    unsigned i = thread_index(), lane = threadIdx.x % 32;
    unsigned value = (unsigned)random_bits(i);
    out += i * 4;
    out[0] = __ballot_sync(~0u, value & 1);
    out[1] = __any_sync(~0u, value % 40 == 0) + 2 * __all_sync(~0u, value % 40 != 0);
    out[2] = __match_any_sync(~0u, value % 5);
    int same = 0;
    unsigned all = __match_all_sync(~0u, i / 32 == 1 ? 7 : lane / 31, &same);
    out[3] = all + 1000 * same + __activemask() % 7;
}

extern "C" __global__ void reductions(unsigned *out)
{
    unsigned i = thread_index();
    unsigned value = (unsigned)random_bits(i), sum = value;
    for (int step = 16; step; step /= 2)
        sum += __shfl_down_sync(~0u, sum, step);
    float real = (float)(value % 1000) / 7, total = real;
    for (int step = 16; step; step /= 2)
        total += __shfl_xor_sync(~0u, total, step);
    out += i * 4;
    out[0] = threadIdx.x % 32 ? value : sum;
    out[1] = __float_as_uint(total);
    out[2] = __syncthreads_count(value & 1);
    out[3] = __syncthreads_or(value == 3) + 2 * __syncthreads_and(value != 3);
}

extern "C" __global__ void divergence(unsigned *out)
{
    unsigned i = thread_index(), value = i * 2654435761u, steps = 0;
    while (value != 1 && steps < 200) {
        if (value % 3 == 0)
            value /= 3;
        else if (value % 2 == 0)
            value = value / 2 + (steps & 1 ? 1 : 0);
        else
            value = value > 1000000 ? value / 7 : 3 * value + 1;
        steps++;
        if (value % 97 == 13)
            break;
        if (value % 89 == 5)
            continue;
        switch (value % 5) {
        case 0:
            value ^= 0x55;
            break;
        case 1:
            value += 17;
        case 2:
            value -= value > 3 ? 3 : 0;
            break;
        default:
            value |= 8;
        }
    }
    __syncwarp();
    out[i] = value * 31 + steps;
}

// ---- memory
// ----------------------------------------------------------------------------------------

// Sums, minima and the like do not depend on the order.
extern "C" __global__ void atomics(unsigned *out)
{
    unsigned i = thread_index(), value = (unsigned)random_bits(i), at = value % 4;
    atomicAdd(&out[at], value);
    atomicSub(&out[4 + at], value);
    atomicMin(&out[8 + at], value);
    atomicMax(&out[12 + at], value);
    atomicAnd(&out[16 + at], value);
    atomicOr(&out[20 + at], 1u << (i % 32));
    atomicXor(&out[24 + at], value);
    atomicInc(&out[28 + at], 50);
    atomicDec(&out[32 + at], 50);
    atomicMax((int *)&out[36 + at], (int)value);
    atomicMin((int *)&out[40 + at], (int)value);
    unsigned old = out[44], seen;
    do {
        seen = old;
        old = atomicCAS(&out[44], seen, seen * 1u + value % 11);
    } while (old != seen);
    __shared__ unsigned counters[8];
    if (threadIdx.x < 8)
        counters[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&counters[value % 8], value & 0xff);
    atomicMax(&counters[(value >> 8) % 8], 3);
    __syncthreads();
    if (threadIdx.x < 8)
        atomicAdd(&out[48 + threadIdx.x], counters[threadIdx.x]);
    while (atomicExch(&out[56], 1) != 0 && threadIdx.x == 0 && blockIdx.x > 1000)
        ;
    atomicExch(&out[56], 1);
}

extern "C" __global__ void atomics_64(unsigned long long *out)
{
    unsigned long long value = random_bits(thread_index());
    atomicAdd(&out[0], value);
    atomicMax(&out[1], value);
    atomicXor(&out[2], value);
    atomicMin((long long *)&out[3], (long long)value);
    atomicOr(&out[4], value & 0x123456789abcdefull);
    atomicAdd((double *)&out[5], (double)(value % 1024));
    unsigned long long old = out[6], seen;
    do {
        seen = old;
        old = atomicCAS(&out[6], seen, seen + value % 11);
    } while (old != seen);
}

// Small integers, so that the order of the sums does not matter.
extern "C" __global__ void atomics_float(float *out)
{
    unsigned i = thread_index();
    atomicAdd(&out[i % 4], (float)(i % 16));
    __shared__ float sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, (float)(i % 5));
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(&out[4], sum);
}

extern "C" __global__ void shared_scan(unsigned *out)
{
    __shared__ unsigned sums[2][256];
    unsigned i = thread_index(), t = threadIdx.x, from = 0;
    sums[0][t] = (unsigned)random_bits(i) % 1000;
    __syncthreads();
    for (unsigned step = 1; step < 256; step *= 2) {
        sums[1 - from][t] = sums[from][t] + (t >= step ? sums[from][t - step] : 0);
        from = 1 - from;
        __syncthreads();
    }
    out[i] = sums[from][t];
}

extern "C" __global__ void shared_transpose(unsigned *out)
{
    __shared__ unsigned tile[16][17];
    unsigned i = thread_index(), x = threadIdx.x % 16, y = threadIdx.x / 16;
    tile[y][x] = (unsigned)random_bits(i);
    __syncthreads();
    out[i] = tile[x][y];
}

// Named barriers: producers in the first warps, one consumer warp.
extern "C" __global__ void barriers(unsigned *out)
{
    __shared__ unsigned box[128];
    unsigned t = threadIdx.x, sum = 0;
    for (unsigned round = 0; round < 4; round++) {
        if (t < 128) {
            box[t] = (unsigned)random_bits(round * 1000 + thread_index());
            asm volatile("bar.arrive 1, 160;" ::: "memory");
            asm volatile("bar.sync 2, 160;" ::: "memory");
            sum += box[(t + 1) % 128];
        } else {
            asm volatile("bar.sync 1, 160;" ::: "memory");
            for (unsigned k = t - 128; k < 128; k += 32)
                sum = sum * 31 + box[k];
            asm volatile("bar.arrive 2, 160;" ::: "memory");
        }
        __syncthreads();
    }
    out[thread_index()] = sum;
}

extern "C" __global__ void local_arrays(unsigned *out)
{
    unsigned i = thread_index(), table[32];
    for (unsigned k = 0; k < 32; k++)
        table[k] = (unsigned)random_bits(i * 32 + k);
    for (unsigned k = 1; k < 32; k++) {
        unsigned value = table[k], at = k;
        for (; at > 0 && table[at - 1] > value; at--)
            table[at] = table[at - 1];
        table[at] = value;
    }
    out[i] = table[i % 32] ^ table[31 - i % 32] * 3;
}

__device__ __noinline__ static unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__device__ __noinline__ static unsigned twice(unsigned x)
{
    return 2 * x;
}
__device__ __noinline__ static unsigned square(unsigned x)
{
    return x * x;
}
extern "C" __global__ void calls(unsigned *out)
{
    unsigned i = thread_index();
    unsigned (*volatile table[2])(unsigned) = {twice, square};
    out[i] = ackermann(2, i % 4) * 1000 + table[i % 2](i);
}

// ---- arithmetic
// ------------------------------------------------------------------------------------

__device__ static unsigned edge(unsigned i, unsigned salt)
{
    const unsigned EDGES[8] = {0, 1, ~0u, 0x80000000, 0x7fffffff, 2, 10, 0x10001};
    unsigned long long value = random_bits(i * 2 + salt);
    return i < 64 ? EDGES[salt ? i / 8 : i % 8] : (unsigned)value >> (value >> 60) * 2;
}

extern "C" __global__ void divisions(unsigned *out)
{
    unsigned i = thread_index(), x = edge(i, 0), y = edge(i, 1);
    out += i * 4;
    out[0] = y ? x / y : 0;
    out[1] = y ? x % y : 0;
    bool fits = y && !(x == 0x80000000 && y == ~0u);
    out[2] = fits ? (unsigned)((int)x / (int)y) : 0;
    out[3] = fits ? (unsigned)((int)x % (int)y) : 0;
}

extern "C" __global__ void divisions_64(unsigned long long *out)
{
    unsigned i = thread_index();
    unsigned long long x = random_bits(i * 2) >> random_bits(i) % 60,
                       y = random_bits(i * 2 + 1) >> random_bits(i + 9999) % 60 | 1;
    out += i * 4;
    out[0] = x / y;
    out[1] = x % y;
    out[2] = (unsigned long long)((long long)x / (long long)y);
    out[3] = (unsigned long long)((long long)(x * 3) % (long long)(y << 3));
}

extern "C" __global__ void float_divisions(float *out)
{
    unsigned i = thread_index();
    float x = __uint_as_float((unsigned)random_bits(i)),
          y = __uint_as_float((unsigned)random_bits(i + 77777));
    out += i * 4;
    out[0] = x / y;
    out[1] = sqrtf(fabsf(x));
    out[2] = 1 / y;
    out[3] = fmodf(x, 1e20f);
}

extern "C" __global__ void double_divisions(double *out)
{
    unsigned i = thread_index();
    double x = __longlong_as_double((long long)random_bits(i)),
           y = __longlong_as_double((long long)random_bits(i + 77777));
    out += i * 3;
    out[0] = x / y;
    out[1] = sqrt(fabs(x));
    out[2] = 1 / y;
}

extern "C" __global__ void half_intrinsics(__half *out)
{
    unsigned i = thread_index(), bits = (unsigned)random_bits(i);
    __half x = __ushort_as_half((unsigned short)(bits & 0xffff)),
           y = __ushort_as_half((unsigned short)(bits >> 16));
    __half2 a = __halves2half2(x, y), b = __halves2half2(y, __float2half(1.5f));
    out += i * 7;
    out[0] = __hadd(x, y);
    out[1] = __hmul(x, y);
    out[2] = __hfma(x, y, __float2half(0.3f));
    out[3] = __low2half(__hfma2(a, b, a));
    out[4] = __high2half(__hadd2_sat(a, b));
    out[5] = __hdiv(x, y);
    out[6] = __hlt(x, y) ? __hmax(x, y) : __int2half_rn((int)bits >> 14);
}

extern "C" __global__ void bfloat_intrinsics(__nv_bfloat16 *out)
{
    unsigned i = thread_index(), bits = (unsigned)random_bits(i);
    __nv_bfloat16 x = __ushort_as_bfloat16((unsigned short)(bits & 0xffff)),
                  y = __ushort_as_bfloat16((unsigned short)(bits >> 16));
    __nv_bfloat162 a = __halves2bfloat162(x, y), b = __halves2bfloat162(y, x);
    out += i * 7;
    out[0] = __hadd(x, y);
    out[1] = __hmul(x, y);
    out[2] = __float2bfloat16(fmaf(__bfloat162float(x), __bfloat162float(y), 0.3f));
    out[3] = __low2bfloat16(__hadd2(a, b));
    out[4] = __float2bfloat16(__bfloat162float(x) * 1.25f);
    out[5] = __hdiv(x, y);
    out[6] = __hlt(x, y) ? __hmax(x, y) : __hneg(x);
}

extern "C" __global__ void bytes(unsigned *out)
{
    unsigned i = thread_index(), x = (unsigned)random_bits(i), y = (unsigned)random_bits(i + 5000);
    out += i * 4;
    out[0] = __byte_perm(x, y, x >> 3) + __brev(y) + __funnelshift_l(x, y, x % 40);
    out[1] = __popc(x) + 100 * __clz((int)y >> x % 32) + 10000 * __ffs((int)y);
    out[2] = __vadd4(x, y) ^ __vabsdiffu4(x, y) ^ __vmaxs2(x, y) ^ __vcmpgtu4(x, y);
    out[3] =
        (unsigned)__dp4a((int)x, (int)y, 5) + __umulhi(x, y) + (unsigned)__mul24((int)x, (int)y);
}

// ---- the mathematical functions
// --------------------------------------------------------------------

// From -range to range, and every fourth of any magnitude.
__device__ static double sample(unsigned i, double range)
{
    unsigned long long bits = random_bits(i);
    double x = ((double)(long long)bits / 9.3e18) * range;
    return i % 4 ? x : ldexp(x / range, (int)(bits % 60) - 40);
}

#define FLOAT_FUNCTION(name, range, expression)                                                    \
    extern "C" __global__ void function_##name(float *out)                                         \
    {                                                                                              \
        float x = (float)sample(thread_index(), range);                                            \
        out[thread_index()] = expression;                                                          \
    }
FLOAT_FUNCTION(expf, 80, expf(x))
FLOAT_FUNCTION(logf, 1e6, logf(fabsf(x)))
FLOAT_FUNCTION(sinf, 100, sinf(x))
FLOAT_FUNCTION(cosf, 100, cosf(x))
FLOAT_FUNCTION(tanhf, 6, tanhf(x))
FLOAT_FUNCTION(rsqrtf, 1e6, rsqrtf(fabsf(x)))
FLOAT_FUNCTION(erff, 4, erff(x))
FLOAT_FUNCTION(powf, 20, powf(fabsf(x), 1.7f))

#define DOUBLE_FUNCTION(name, range, expression)                                                   \
    extern "C" __global__ void function_##name(double *out)                                        \
    {                                                                                              \
        double x = sample(thread_index(), range);                                                  \
        out[thread_index()] = expression;                                                          \
    }
DOUBLE_FUNCTION(exp, 600, exp(x))
DOUBLE_FUNCTION(log, 1e6, log(fabs(x)))
DOUBLE_FUNCTION(sin, 100, sin(x))
DOUBLE_FUNCTION(rsqrt, 1e6, rsqrt(fabs(x)))
DOUBLE_FUNCTION(erf, 4, erf(x))
DOUBLE_FUNCTION(tanh, 6, tanh(x))

// Where the bound of __sinf holds.
extern "C" __global__ void quick_functions(float *out)
{
    unsigned i = thread_index();
    float x = (float)((double)(long long)random_bits(i) / 9.3e18 * 6);
    out += i * 5;
    out[0] = __expf(x);
    out[1] = __logf(fabsf(x) + 0.01f);
    out[2] = __sinf(x);
    out[3] = __fdividef(1, x + 7);
    out[4] = __powf(fabsf(x) + 0.5f, 1.5f);
}
