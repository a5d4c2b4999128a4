/*
 * ref_math.h - the few functions that differ between the GPU and the host, and between the two
 * widths of the error bound: E = float (accumulators up to f32) and E = double (f64).
 *
 * For E = float a value needs about 1e-11: a thousandth of f32's roundoff is enough to judge it.
 * That buys an exp of 15 instructions, an erf and a tanh made like it, and a division without a
 * call. For E = double the library functions are taken, and ref_rules counts the reference's own
 * roundoff beside the subject's.
 */
#ifndef REFS_REF_MATH_H
#define REFS_REF_MATH_H

#include "ref_abi.h"

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

/* x times 2^n, n the low word of t: nothing is asked of its exponent. */
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

/* The smaller one, likewise. */
REF_FN float ref_less(float a, float b)
{
    return fminf(a, b);
}

REF_FN double ref_less(double a, double b)
{
    return fmin(a, b);
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

/* x = n ln 2 + r, |r| <= ln 2 / 2, for |x| up to 708. */
struct ref_reduced {
    double t, r; /* n is the low word of t's bits */
};

REF_FN ref_reduced ref_reduce(double x)
{
    const double shift = 6755399441055744.0; /* 1.5 * 2^52: the sum's low bits are the integer */
    double t = x * 1.4426950408889634 + shift;
    return {t, x - (t - shift) * 0.6931471805599453};
}

/* e^x to 1e-12 for |x| up to 708: a polynomial of degree 8 in r (Chebyshev nodes over
 * |r| <= ln2/2), and n into the exponent. */
REF_FN double ref_exponential_near(double x)
{
    ref_reduced at = ref_reduce(x);
    double r = at.r, p = 2.4876178959085513e-05;
    p = p * r + 0.00019915881871396035;
    p = p * r + 0.001388882165071769;
    p = p * r + 0.008333266071022454;
    p = p * r + 0.0416666668910917;
    p = p * r + 0.16666666891180545;
    p = p * r + 0.49999999999797773;
    p = p * r + 0.999999999979769;
    p = p * r + 1.0;
    return ref_shift(p, at.t);
}

/* Whether |x| is below the number with that upper word and zeros below it. As numbers of f32 upper
 * words are ordered as the magnitudes are; those of Inf, NaN and what is near Inf are NaN there,
 * and below nothing. Arithmetic in doubles is what an exp mostly waits for. */
REF_FN bool ref_below(double x, uint32_t upper)
{
    return ref_abs(ref_from_bits((uint32_t)(ref_bits(x) >> 32))) < ref_from_bits(upper);
}

enum { REF_EXP_END = 0x40862000 }; /* the upper word of 708 */

/* Of any x: beyond +-708 the answer is Inf or 0, for no f32 accumulator comes so far; NaN stays
 * NaN. */
REF_FN double ref_exponential(float, double x)
{
    double near = ref_exponential_near(x), far = x < 0 ? 0.0 : x * ref_infinity();
    return ref_below(x, REF_EXP_END) ? near : far; /* of two numbers: a branch would take longer */
}

/* The same where `rough` is e^x in f32, and so Inf, 0 or NaN where x is that far: as upper words
 * of doubles their bits need but the longer exponent. */
REF_FN double ref_exponential_beside(float rough, double x)
{
    uint32_t bits = ref_bits(rough);
    double near = ref_exponential_near(x), far = ref_from_bits((uint64_t)(bits | bits >> 3) << 32);
    return ref_below(x, REF_EXP_END) ? near : far;
}

/* The same but for x from 708 on, where it gives NaN, and from -708 down, where less than 1e-307:
 * the lower word is nothing then. */
REF_FN double ref_quick_exponential(float, double x)
{
    double near = ref_exponential_near(x);
    uint64_t bits = ref_bits(near);
    int32_t upper = (int32_t)(ref_bits(x) >> 32), minus_infinity = -0x100000;
    uint32_t far = upper <= minus_infinity ? 0u : 0x7ff80000u;
    uint32_t whole = ref_below(x, REF_EXP_END) ? (uint32_t)(bits >> 32) : far;
    return ref_from_bits((uint64_t)whole << 32 | (uint32_t)bits);
}

/* e^x - 1 to 1e-11 of itself, for |x| up to 700: (e^r - 1) / r is a polynomial of degree 7 with the
 * least relative error. */
REF_FN double ref_growth(double x)
{
    ref_reduced at = ref_reduce(x);
    double r = at.r, p = 2.48016929061238173e-05;
    p = p * r + 0.00019907557375680058;
    p = p * r + 0.00138889783320167223;
    p = p * r + 0.00833328358021529068;
    p = p * r + 0.0416666659496230721;
    p = p * r + 0.166666667860315516;
    p = p * r + 0.500000000012114934;
    p = p * r + 0.999999999995533525;
    double power = ref_shift(1.0, at.t);
    return power * (p * r) + (power - 1.0);
}

/* The library's functions are long: where they are taken, they stand in the code once. */
REF_SLOW double ref_library_exp(double x)
{
    return exp(x);
}

REF_SLOW double ref_library_tanh(double x)
{
    return tanh(x);
}

REF_SLOW double ref_library_erf(double x)
{
    return erf(x);
}

REF_SLOW double ref_library_log(double x)
{
    return log(x);
}

REF_FN double ref_exponential(double, double x)
{
    return ref_library_exp(x);
}

REF_FN double ref_quick_exponential(double, double x)
{
    return ref_library_exp(x);
}

REF_FN double ref_exponential_beside(double, double x)
{
    return ref_library_exp(x);
}

/* y with the sign of x; y is not negative. */
REF_FN double ref_with_sign(double y, double x)
{
    return ref_from_bits(ref_bits(y) | (ref_bits(x) & (uint64_t)1 << 63));
}

/* erf |x| = 1 - e^(-|x| R(|x|)), R a polynomial for |x| < 5.93 that keeps erf to 1e-11 of itself,
 * and 1 - erf to some thousandths. From 6 on erf is 1 in a double. */
REF_FN double ref_error_function(float, double x)
{
    double a = ref_abs(x) > 6 ? 6.0 : ref_abs(x), p = 5.89949576938672166e-10;
    p = p * a - 1.85582746256331153e-8;
    p = p * a + 2.5830624195740011e-7;
    p = p * a - 2.09522177018128546e-6;
    p = p * a + 0.0000108803298878544956;
    p = p * a - 0.0000363914752193889919;
    p = p * a + 0.0000663066081020691615;
    p = p * a + 0.0000293015262461252909;
    p = p * a - 0.000595135930489919162;
    p = p * a + 0.00169948664416059485;
    p = p * a - 0.000210401036184531167;
    p = p * a - 0.0191282006088334507;
    p = p * a + 0.10277257831886133;
    p = p * a + 0.636619773328427308;
    p = p * a + 1.12837916708956952;
    return ref_with_sign(-ref_growth(-a * p), x);
}

REF_FN double ref_error_function(double, double x)
{
    return ref_library_erf(x);
}

REF_FN double ref_logarithm(float, double x)
{
    return log(x);
}

REF_FN double ref_logarithm(double, double x)
{
    return ref_library_log(x);
}

/* Magnitudes of exp for error terms: three digits are enough. */
REF_FN float ref_rough_exp(float x)
{
#ifdef __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.4426950f));
    return y;
#else
    return expf(x);
#endif
}

REF_FN double ref_rough_exp(double x)
{
    return ref_exponential(0.0f, x);
}

/* 1 / (1 + e^-x); e^-x over the range of a double gives 0, as it should. */
template <class E> REF_FN double ref_logistic(E width, double x)
{
    return ref_inverse(width, 1.0 + ref_exponential(width, -x));
}

/* The same from -708 up; NaN below. */
template <class E> REF_FN double ref_quick_logistic(E width, double x)
{
    return ref_normal_inverse(1.0 + ref_quick_exponential(width, -x));
}

/* tanh |x| = (e^2|x| - 1) / (e^2|x| + 1), which does not cancel near 0; 1 in a double from 20 on.
 */
REF_FN double ref_tangent(float, double x)
{
    double growth = ref_growth(2.0 * ref_abs(x));
    double near = growth * ref_normal_inverse(growth + 2.0);
    return ref_with_sign(ref_abs(x) > 20 ? 1.0 : near, x);
}

REF_FN double ref_tangent(double, double x)
{
    return ref_library_tanh(x);
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
