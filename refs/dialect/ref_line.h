/*
 * ref_line.h - slope x + offset in f32, off by one rounding of the result, or two.
 *
 * Many a formula takes a number that it loads only so: softmax's x scale - m, log_softmax's
 * x - m - lse. Slope and offset are the same for a whole row, and here each is two numbers of f32:
 * nothing is lost where a large x and a large offset cancel, and a pack is spared the conversions
 * to f64 and back, which are the dearest of its instructions.
 *
 * A slope of 1 and an offset of 0 are types of their own, which cost nothing.
 */
#ifndef REFS_REF_LINE_H
#define REFS_REF_LINE_H

#include "ref_math.h"

/* high + low, the second at most half an ulp of the first: a number to 2^-48 of itself. */
struct ref_twin {
    float high, low;
};

struct ref_one {
};

struct ref_zero {
};

template <class SLOPE, class OFFSET> struct ref_line {
    SLOPE slope;
    OFFSET offset;
};

/* 2^-100: numbers of f32 below may have no digits left when they are multiplied. */
#define REF_TWIN_LEAST 7.888609052210118e-31

REF_FN bool ref_too_small(double x)
{
    return (x != 0) & (ref_abs(x) < REF_TWIN_LEAST); /* no branch */
}

/* NaN for what f32 has no number for: too large, or so small that its own rounding counts. */
REF_FN ref_twin ref_split(double x)
{
    float high = (float)x;
    return {high * (ref_too_small(x) ? (float)ref_nan() : 1.0f), (float)(x - (double)high)};
}

/* The same in one piece, which the compiler does not work out again in each round of a loop. */
REF_FN ref_twin ref_split_once(double x)
{
#ifdef __CUDA_ARCH__
    ref_twin t;
    asm("{ .reg .f64 back;\n"
        "  .reg .pred small;\n"
        "  setp.ne.u32 small, %3, 0;\n"
        "  cvt.rn.f32.f64 %0, %2;\n"
        "  cvt.f64.f32 back, %0;\n"
        "  sub.f64 back, %2, back;\n"
        "  cvt.rn.f32.f64 %1, back;\n"
        "  @small mov.f32 %0, 0f7FC00000; }"
        : "=&f"(t.high), "=&f"(t.low)
        : "d"(x), "r"((uint32_t)ref_too_small(x)));
    return t;
#else
    return ref_split(x);
#endif
}

REF_FN ref_twin operator-(const ref_twin &a)
{
    return {-a.high, -a.low};
}

/* Good to 2^-46 of the larger one (Knuth's sum of two numbers, with what it is off by). */
REF_FN ref_twin operator+(const ref_twin &a, const ref_twin &b)
{
    float sum = a.high + b.high, part = sum - a.high;
    return {sum, ((a.high - (sum - part)) + (b.high - part)) + (a.low + b.low)};
}

/* Good to 2^-46. */
REF_FN ref_twin operator*(const ref_twin &a, const ref_twin &b)
{
    float product = a.high * b.high;
    return {product, fmaf(a.high, b.high, -product) + fmaf(a.high, b.low, a.low * b.high)};
}

REF_FN ref_twin ref_log2_e()
{
    return {1.44269502f, 1.92596303e-08f};
}

/* NaN for an offset that is so large that what two numbers of f32 lose of it may count beside the
 * result. */
REF_FN ref_zero ref_moderate(const ref_zero &)
{
    return {};
}

REF_FN ref_twin ref_moderate(const ref_twin &offset)
{
    return {offset.high * (ref_abs(offset.high) < 0x1p16f ? 1.0f : (float)ref_nan()), offset.low};
}

/* A part of an exponent of e, as one of 2. */
REF_FN ref_twin ref_binary(const ref_twin &x)
{
    return ref_moderate(x * ref_log2_e());
}

/* Not again in each round of a loop, either. */
REF_FN ref_twin ref_binary_once(const ref_twin &x)
{
    ref_twin t = ref_binary(x);
#ifdef __CUDA_ARCH__
    asm("" : "+f"(t.high), "+f"(t.low));
#endif
    return t;
}

REF_FN ref_twin operator-(const ref_one &)
{
    return {-1, 0};
}

REF_FN ref_zero operator-(const ref_zero &)
{
    return {};
}

REF_FN ref_twin operator+(const ref_zero &, const ref_twin &b)
{
    return b;
}

REF_FN ref_twin operator*(const ref_one &, const ref_twin &b)
{
    return b;
}

REF_FN ref_zero operator*(const ref_zero &, const ref_twin &)
{
    return {};
}

/* A line and a number make a line. */
template <class S, class O> REF_FN auto operator-(const ref_line<S, O> &a)
{
    return ref_line<decltype(-a.slope), decltype(-a.offset)>{-a.slope, -a.offset};
}

template <class S, class O> REF_FN auto operator+(const ref_line<S, O> &a, const ref_twin &b)
{
    return ref_line<S, ref_twin>{a.slope, a.offset + b};
}

template <class S, class O> REF_FN auto operator*(const ref_line<S, O> &a, const ref_twin &b)
{
    return ref_line<ref_twin, decltype(a.offset * b)>{a.slope * b, a.offset * b};
}

template <class S, class O> REF_FN auto operator-(const ref_line<S, O> &a, const ref_twin &b)
{
    return a + -b;
}

template <class S, class O> REF_FN auto operator+(const ref_twin &a, const ref_line<S, O> &b)
{
    return b + a;
}

template <class S, class O> REF_FN auto operator-(const ref_twin &a, const ref_line<S, O> &b)
{
    return -b + a;
}

template <class S, class O> REF_FN auto operator*(const ref_twin &a, const ref_line<S, O> &b)
{
    return b * a;
}

template <class S, class O> REF_FN ref_line<S, O> ref_moderate(const ref_line<S, O> &a)
{
    return {a.slope, ref_moderate(a.offset)};
}

/* Where x stands: one rounding without an offset, two with one. */
REF_FN float ref_at(const ref_line<ref_one, ref_twin> &a, float x)
{
    return (x + a.offset.high) + a.offset.low;
}

REF_FN float ref_at(const ref_line<ref_twin, ref_zero> &a, float x)
{
    return fmaf(x, a.slope.high, x * a.slope.low);
}

REF_FN float ref_at(const ref_line<ref_twin, ref_twin> &a, float x)
{
    return fmaf(x, a.slope.high, a.offset.high) + fmaf(x, a.slope.low, a.offset.low);
}

#endif
