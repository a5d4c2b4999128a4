/*
 * ref_exponential.h - exp, and what is made of it: sigmoid, tanh, erf; log.
 *
 * Each comes in up to four kinds. In f64 (the first argument, a width, is a double) it is the
 * library's. For bounds in f32 it is a polynomial that is good to 1e-11 of the result; for the
 * terms of a sum, to a thousandth of f32's roundoff. A quick one is good to 2^-28: where a number
 * of f16 or bf16 is only compared with the rounding of a value, the value is taken as a number of
 * f32 first (ref_judge.h), and every function's error is 4 u at least. A quick one may be NaN where
 * another would take longer.
 */
#ifndef REFS_REF_EXPONENTIAL_H
#define REFS_REF_EXPONENTIAL_H

#include "ref_math.h"

enum ref_grade { REF_FINE, REF_FAIR, REF_QUICK };

/* The coefficient of the highest power comes first. */
template <int N> REF_FN double ref_polynomial(const double (&c)[N], double x)
{
    double p = c[0];
    REF_UNROLL
    for (int i = 1; i < N; i++)
        p = p * x + c[i];
    return p;
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

/* e^x to 1e-12, 4.1e-11, or 2^-29, for |x| up to 708: a polynomial of degree 8, 7, or 6 in r, of
 * the least relative error over |r| <= ln2/2, and n into the exponent. */
template <ref_grade G = REF_FINE> REF_FN double ref_exponential_near(double x)
{
    ref_reduced at = ref_reduce(x);
    if constexpr (G == REF_QUICK) {
        const double c[] = {0.0013836846126504068, 0.0083748157864077331, 0.041668225566715053,
                            0.16666420170171839,   0.49999992079835665,   1.0000000363231158,
                            1.0000000005541652};
        return ref_shift(ref_polynomial(c, at.r), at.t);
    }
    if constexpr (G == REF_FAIR) {
        const double c[] = {0.000197751737192934948, 0.0013948183348343012, 0.00833356108575033553,
                            0.0416662254251667558,   0.166666651261634682,  0.50000001045363651,
                            1.00000000024309325,     0.999999999961681729};
        return ref_shift(ref_polynomial(c, at.r), at.t);
    }
    const double c[] = {2.4876178959085513e-05, 0.00019915881871396035, 0.001388882165071769,
                        0.008333266071022454,   0.0416666668910917,     0.16666666891180545,
                        0.49999999999797773,    0.999999999979769,      1.0};
    return ref_shift(ref_polynomial(c, at.r), at.t);
}

/* The fair one for any x up to 708: from -708 down, where -Inf is, it is less than 4e-308. */
REF_FN double ref_exponential_term(double x)
{
    const uint32_t end = 0xc0862000; /* the upper word of -708: of numbers below it is larger */
    uint32_t upper = ref_less((uint32_t)(ref_bits(x) >> 32), end);
    return ref_exponential_near<REF_FAIR>(
        ref_from_bits((uint64_t)upper << 32 | (uint32_t)ref_bits(x)));
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
    double near = ref_exponential_near<REF_QUICK>(x);
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
    const double c[] = {2.48016929061238173e-05, 0.00019907557375680058, 0.00138889783320167223,
                        0.00833328358021529068,  0.0416666659496230721,  0.166666667860315516,
                        0.500000000012114934,    0.999999999995533525};
    ref_reduced at = ref_reduce(x);
    double power = ref_shift(1.0, at.t);
    return power * (ref_polynomial(c, at.r) * at.r) + (power - 1.0);
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

REF_SLOW double ref_library_erfc(double x)
{
    return erfc(x);
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

/* erf |x| = 1 - e^(-|x| R(|x|)), R a polynomial for |x| < 5.93 that keeps erf to 1e-11 of itself.
 * From 6 on erf is 1 in a double. */
REF_FN double ref_error_function(float, double x)
{
    const double c[] = {
        5.89949576938672166e-10,  -1.85582746256331153e-8,  2.5830624195740011e-7,
        -2.09522177018128546e-6,  0.0000108803298878544956, -0.0000363914752193889919,
        0.0000663066081020691615, 0.0000293015262461252909, -0.000595135930489919162,
        0.00169948664416059485,   -0.000210401036184531167, -0.0191282006088334507,
        0.10277257831886133,      0.636619773328427308,     1.12837916708956952};
    double a = ref_abs(x) > 6 ? 6.0 : ref_abs(x);
    return ref_with_sign(-ref_growth(-a * ref_polynomial(c, a)), x);
}

REF_FN double ref_error_function(double, double x)
{
    return ref_library_erf(x);
}

/*
 * 1 + erf x = erfc(-x), which does not cancel. erfc a = e^(-a R(a)), R a polynomial for a < 6: good
 * to 1e-11, and to 1e-6 of itself, where that is less (fine); to 1.5e-9 and 1e-5 (quick). From 6 on
 * erfc is less than 3e-17 and taken for 0: in gelu that is below -8.4.
 */
template <ref_grade G> REF_FN double ref_one_plus_erf_near(double x)
{
    const double fine[] = {
        -2.88561682236097792e-11, 1.22063078520763643e-09,  -2.31671101618809733e-08,
        2.60078127387694834e-07,  -1.91004206915969362e-06, 9.49532209289362108e-06,
        -3.10377871989737117e-05, 5.33044749458615937e-05,  5.03059179244110015e-05,
        -0.00061806311231036833,  0.00171628136323157573,   -0.000218444884356372188,
        -0.0191258028624172773,   0.10277217009757969,      0.636619807194012344,
        1.12837916614094369};
    const double quick[] = {
        6.52067221848998463e-09, -2.33862290123167405e-07, 3.71500615833664404e-06,
        -3.4443727410435626e-05, 0.000205635110955717994,  -0.000806934736513253308,
        0.00186852585743167363,  -0.000295044871370712513, -0.0191043405094986976,
        0.10276970079540873,     0.636619741279186635,     1.12837918675184001};
    double a = ref_abs(x), r = G == REF_QUICK ? ref_polynomial(quick, a) : ref_polynomial(fine, a);
    double tail = ref_exponential_near<G>(-a * r);
    tail = a >= 6 ? 0.0 : tail;
    return x < 0 ? tail : 2 - tail;
}

REF_FN double ref_one_plus_erf(float, double x)
{
    return ref_one_plus_erf_near<REF_FINE>(x);
}

REF_FN double ref_one_plus_erf(double, double x)
{
    return ref_library_erfc(-x);
}

REF_FN double ref_quick_one_plus_erf(float, double x)
{
    return ref_one_plus_erf_near<REF_QUICK>(x);
}

REF_FN double ref_quick_one_plus_erf(double width, double x)
{
    return ref_one_plus_erf(width, x);
}

REF_FN double ref_logarithm(float, double x)
{
    return log(x);
}

REF_FN double ref_logarithm(double, double x)
{
    return ref_library_log(x);
}

/* 2^x as kernels in f32 have it, to 2^-22 of itself; less than 2^-126 is 0. */
REF_FN float ref_rough_exp2(float x)
{
#ifdef __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
#endif
}

/* Magnitudes of exp for error terms: three digits are enough. */
REF_FN float ref_rough_exp(float x)
{
    return ref_rough_exp2(x * 1.4426950f);
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

#endif
