/*
 * ref_math.h - the few functions that differ between the GPU and the host, and between the two
 * widths of the error bound: E = float (accumulators up to f32) and E = double (f64).
 *
 * For E = float a value needs about 1e-11: a thousandth of f32's roundoff is enough to judge it.
 * That buys a division without a call, and the functions of ref_exponential.h. For E = double the
 * library functions are taken, and ref_rules counts the reference's own roundoff beside the
 * subject's.
 */
#ifndef REFS_REF_MATH_H
#define REFS_REF_MATH_H

#include "ref_abi.h"

/*
 * The GPU's approximate instructions, as the CUDA Programming Guide (intrinsic functions) and the
 * PTX ISA document them: e^x is off by 2 + 1.173 |x| ulp, tanh.approx.f32 by 2^-11 of the result,
 * a division by a number beyond 2^126 gives 0. The others keep within what is allowed of the math
 * library's: sqrt, rsqrt and division 2 ulp, the logarithm 3 ulp, between 1/2 and 2 2^-21.41.
 */
#define REF_APPROX_REACH   (1.173 * 1.1920928955078125e-07)
#define REF_APPROX_TANGENT 0.00048828125
#define REF_APPROX_DIVISOR 8.507059173023462e+37

#ifdef __CUDACC__
#define REF_FN     __device__ __forceinline__
#define REF_SLOW   static __device__ __noinline__
#define REF_SHARED __device__ __noinline__
#else
#include <math.h>
#include <string.h>
#define REF_FN     inline __attribute__((always_inline))
#define REF_SLOW   static __attribute__((noinline))
#define REF_SHARED __attribute__((noinline))
#endif

#ifdef __CUDA_ARCH__
#define REF_UNROLL _Pragma("unroll")
#define REF_ROLLED _Pragma("unroll 1")
#else
#define REF_UNROLL
#define REF_ROLLED
#endif

REF_FN uint64_t ref_bits(double x)
{
#ifdef __CUDA_ARCH__
    return (uint64_t)__double_as_longlong(x);
#else
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
#endif
}

/* x times 2^n, n the low word of t, without a check of the exponent. */
REF_FN double ref_shift(double x, double t)
{
#ifdef __CUDA_ARCH__
    return __hiloint2double(__double2hiint(x) + (__double2loint(t) << 20), __double2loint(x));
#else
    uint64_t bits = ref_bits(x) + (ref_bits(t) << 52);
    memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

REF_FN double ref_from_bits(uint64_t bits)
{
#ifdef __CUDA_ARCH__
    return __longlong_as_double((long long)bits);
#else
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

REF_FN uint32_t ref_bits(float x)
{
#ifdef __CUDA_ARCH__
    return __float_as_uint(x);
#else
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
#endif
}

REF_FN float ref_from_bits(uint32_t bits)
{
#ifdef __CUDA_ARCH__
    return __uint_as_float(bits);
#else
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

/* The sign bit of a word's upper or lower half, in all bits. */
REF_FN uint32_t ref_signs(uint32_t word, bool upper)
{
#ifdef __CUDA_ARCH__
    uint32_t mask; /* four times the sign of byte 1 or 3, which __byte_perm cannot select */
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(mask) : "r"(word), "r"(upper ? 0xbbbb : 0x9999));
    return mask;
#else
    return (uint32_t) - (int32_t)(word >> (upper ? 31 : 15) & 1);
#endif
}

REF_FN float ref_abs(float x)
{
    return fabsf(x);
}

REF_FN double ref_abs(double x)
{
    return fabs(x);
}

/* The larger one, and the one that is a number where the other is not. */
REF_FN float ref_more(float a, float b)
{
    return fmaxf(a, b);
}

REF_FN double ref_more(double a, double b)
{
    return fmax(a, b);
}

/* The smaller of two numbers, by the same rule. */
REF_FN float ref_less(float a, float b)
{
    return fminf(a, b);
}

REF_FN double ref_less(double a, double b)
{
    return fmin(a, b);
}

REF_FN uint32_t ref_less(uint32_t a, uint32_t b)
{
#ifdef __CUDA_ARCH__
    uint32_t less; /* the compiler would make two instructions of it */
    asm("min.u32 %0, %1, %2;" : "=r"(less) : "r"(a), "r"(b));
    return less;
#else
    return a < b ? a : b;
#endif
}

REF_FN bool ref_finite(double x)
{
    return ref_abs(x) <= 1.7976931348623157e308;
}

REF_FN bool ref_finite(float x)
{
    return ref_abs(x) <= 3.402823466e38f;
}

/* 2^n for -1022 <= n <= 1023. */
REF_FN double ref_power2(int n)
{
    return ref_from_bits((uint64_t)(1023 + n) << 52);
}

REF_FN double ref_infinity()
{
    return ref_from_bits((uint64_t)0x7ff << 52);
}

REF_FN double ref_nan()
{
    return ref_from_bits((uint64_t)0x7ff8 << 48);
}

/* The power of two at or below |x|, at least `least`: of 0 and subnormals it is `least`. */
REF_FN float ref_binade(float x, float least)
{
    return ref_more(ref_from_bits(ref_bits(x) & 0x7f800000u), least);
}

REF_FN double ref_binade(double x, double least)
{
    return ref_more(ref_from_bits(ref_bits(x) & (uint64_t)0x7ff << 52), least);
}

/* 1 / b for b a power of two in the normal range. */
REF_FN float ref_flip(float b)
{
    return ref_from_bits(0x7f000000u - ref_bits(b));
}

REF_FN double ref_flip(double b)
{
    return ref_from_bits(((uint64_t)0x7fe << 52) - ref_bits(b));
}

/* A quick reciprocal of a magnitude, good to three digits: for ratios that are only reported. */
REF_FN float ref_rough_inverse(float x)
{
#ifdef __CUDA_ARCH__
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return 1 / x;
#endif
}

#ifdef __CUDA_ARCH__
/* 1 / b to a thousandth of a thousandth, exact at 0, Inf and NaN. */
REF_FN double ref_first_inverse(double b)
{
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(b));
    return y;
}

REF_FN double ref_better_inverse(double b, double y)
{
    double miss = fma(-b, y, 1.0);
    return fma(y, fma(miss, miss, miss), y);
}
#endif

/* 1 / b to 1e-16 for finite b from 2^-1000 on. */
REF_FN double ref_normal_inverse(double b)
{
#ifdef __CUDA_ARCH__
    return ref_better_inverse(b, ref_first_inverse(b));
#else
    return 1 / b;
#endif
}

/* The same without the library's slow path; exact at 0, Inf and NaN. */
REF_FN double ref_inverse(float, double b)
{
#ifdef __CUDA_ARCH__
    double y = ref_first_inverse(b);
    uint32_t exponent = (uint32_t)__double2hiint(b) & 0x7ff00000u;
    return exponent - 1 < 0x7fefffffu ? ref_better_inverse(b, y) : y;
#else
    return 1 / b;
#endif
}

REF_FN double ref_inverse(double, double b)
{
    return 1 / b;
}

REF_FN double ref_rough_inverse(double x)
{
    return ref_inverse(0.0f, x);
}

/* a / b in the width of the bound; the first argument only selects it. */
REF_FN double ref_divide(float width, double a, double b)
{
    return a * ref_inverse(width, b);
}

REF_FN double ref_divide(double, double a, double b)
{
    return a / b;
}

REF_FN uint64_t ref_high_product(uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
    return __umul64hi(a, b);
#else
    return (uint64_t)((unsigned __int128)a * b >> 64);
#endif
}

/* Philox4x32-10 (Salmon et al. 2011) at counter `at` under key `seed`: 64 of its 128 bits. */
REF_FN uint64_t ref_random(uint64_t seed, uint64_t at)
{
    uint32_t c0 = (uint32_t)at, c1 = (uint32_t)(at >> 32), c2 = 0, c3 = 0;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    REF_ROLLED
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xd2511f53u * c0, p1 = (uint64_t)0xcd9e8d57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return (uint64_t)c0 << 32 | c1;
}

#endif
