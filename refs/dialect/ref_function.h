/* ref_function.h - exp, log, sqrt and their like on numbers that carry error bounds. */
#ifndef REFS_REF_FUNCTION_H
#define REFS_REF_FUNCTION_H

#include "ref_exponential.h"
#include "ref_operator.h"

/* A function of one number, and the error that it brings. */
template <class Function, class E>
REF_FN ref_lane<E> ref_function_lane(const ref_lane<E> &x, const ref_rules<E> &k)
{
    ref_lane<E> y = Function::at(x, k);
    E f = ref_shadow(y.f, k);
    return {y.v, f, ref_finite(f) || !ref_finite(y.f) ? y.e : (E)ref_infinity()};
}

/* near() of a function that has its own, as a kernel in f32 computes it; of others, quick(). */
template <class Function, class A>
REF_FN auto ref_near(const A &a, int j, int) -> decltype(Function::near(a, j))
{
    return Function::near(a, j);
}

template <class Function, class A> REF_FN auto ref_near(const A &a, int j, long)
{
    typedef typename A::element E;
    return (E)Function::quick(E(0), a.quick(j));
}

/* The same of a lazy expression. */
template <class Function, class A>
struct ref_mapped : ref_lazy<ref_mapped<Function, A>, typename A::element> {
    typedef typename A::element element;
    static constexpr int width = A::width, degree = 2;
    static constexpr bool flushes = true;
    A a;

    REF_FN explicit ref_mapped(const A &a_) : a(a_)
    {
    }
    REF_FN ref_rules<element> rules() const
    {
        return a.rules();
    }
    REF_FN double quick(int j) const
    {
        return Function::quick(element(0), a.quick(j));
    }
    REF_FN element near(int j) const
    {
        return ref_near<Function>(a, j, 0);
    }
    REF_FN ref_lane<element> lane(int j) const
    {
        return ref_function_lane<Function>(a.lane(j), rules());
    }
};

template <bool LAZY, class Function, class A> struct ref_map_result {
    typedef ref_same<A> type;
};
template <class Function, class A> struct ref_map_result<true, Function, A> {
    typedef ref_mapped<Function, A> type;
};
template <class Function, class A>
using ref_image = typename ref_map_result<A::lazy, Function, A>::type;

template <class Function, class A, class R = ref_image<Function, A>> REF_FN R ref_map(const A &a)
{
    if constexpr (R::lazy) {
        return R(a);
    } else {
        R r;
        r.k = a.rules();
        REF_UNROLL
        for (int j = 0; j < R::width; j++)
            r.set(j, ref_function_lane<Function>(a.lane(j), r.k));
        return r;
    }
}

/* x log2 e for near(): rounded once, or twice where x is a sum, which rounds too. */
template <class A> REF_FN float ref_near_binary(const A &x, int j)
{
    if constexpr (ref_degree<A>() == 1) {
        return ref_at(x.binary_line(), x.point(j));
    } else {
        return (float)(x.quick(j) * 1.4426950408889634);
    }
}

/*
 * e^x: the argument's error counts in full, |x| u of it for the reduction (ex2 of a rounded
 * x log2 e; more where functions are approximate), and 4 u for ex2.approx (2 ulp).
 * e^d - 1 <= d + d^2 for d up to 1.7. The clamp keeps 0 * Inf out of masked rows, where x is -Inf
 * and the answer exactly 0.
 */
struct ref_exp_function {
    template <class A> REF_FN static float near(const A &a, int j)
    {
        return ref_rough_exp2(ref_near_binary(a, j));
    }
    template <class E> REF_FN static double quick(E width, double x)
    {
        return ref_quick_exponential(width, x);
    }
    template <class E> REF_FN static ref_lane<E> at(const ref_lane<E> &x, const ref_rules<E> &k)
    {
        E f = ref_rough_exp(x.f);
        return {ref_exponential_beside(f, x.v), f, error(f, x, k)};
    }
    /* For a sum; where x is over 708 or NaN the error is not finite, and the rest means nothing. */
    REF_FN static ref_lane<float> term(const ref_lane<float> &x, const ref_rules<float> &k)
    {
        float f = ref_rough_exp(x.f);
        return {ref_exponential_term(x.v), f, error(f, x, k)};
    }
    template <class E> REF_FN static E error(E f, const ref_lane<E> &x, const ref_rules<E> &k)
    {
        E rel = ref_less(x.e + (k.reach * ref_abs(x.f) + 4 * k.u), (E)1e18);
        return f * (rel + rel * rel) + k.tiny;
    }
};

/* Whether a sum's terms are e^x. Then they are positive, and what they add up to is their size. */
template <class A> struct ref_powers {
    static constexpr bool are = false;
};
template <class A> struct ref_powers<ref_mapped<ref_exp_function, A>> {
    static constexpr bool are = true;
};

/* ln x: 4 u relative (__logf: 3 ulp), and 8 u absolute, since lg2.approx is good to 2^-22 absolute
 * around 1. */
struct ref_log_function {
    template <class E> REF_FN static double quick(E width, double x)
    {
        return ref_logarithm(width, x);
    }
    template <class E> REF_FN static ref_lane<E> at(const ref_lane<E> &x, const ref_rules<E> &k)
    {
        double v = quick(E(0), x.v);
        E f = (E)v;
        E carried = x.e > 0 ? x.e / (x.f - x.e) : (E)0;
        carried = carried >= 0 ? carried : (E)ref_infinity();
        E share = k.approximate() ? (E)6 : (E)4;
        return {v, f, carried + k.u * (share * ref_abs(f) + 8)};
    }
};

/* sqrt: 4 u for sqrt.approx; near 0 the error of x counts by its own root. */
struct ref_sqrt_function {
    template <class E> REF_FN static double quick(E, double x)
    {
        return sqrt(x);
    }
    template <class E> REF_FN static ref_lane<E> at(const ref_lane<E> &x, const ref_rules<E> &k)
    {
        double v = quick(E(0), x.v);
        E f = (E)v, floor = (E)sqrt((double)x.e);
        E carried = x.e > 0 ? x.e / ref_more(f, floor) : (E)0;
        carried = ref_finite(x.e) ? carried : x.e;
        return {v, f, carried + (4 * k.u * f + k.tiny)};
    }
};

/* 1 / sqrt: 6 u, so that a division of sqrt.approx passes as well as rsqrt.approx. */
struct ref_rsqrt_function {
    template <class E> REF_FN static double quick(E, double x)
    {
        return 1 / sqrt(x);
    }
    template <class E> REF_FN static ref_lane<E> at(const ref_lane<E> &x, const ref_rules<E> &k)
    {
        double v = quick(E(0), x.v);
        E f = (E)v;
        E share = x.e > 0 ? x.e / x.f : (E)0;
        E rel = share < 1 ? share / (2 - 2 * share) : (E)ref_infinity();
        return {v, f, f * (rel + 6 * k.u) + k.tiny};
    }
};

/* 1 / (1 + e^-x): slope s (1 - s) for the argument's error and the exp's, 8 u for the rest. */
struct ref_sigmoid_function {
    template <class A> REF_FN static float near(const A &a, int j)
    {
        return ref_rough_inverse(1 + ref_rough_exp2(-ref_near_binary(a, j)));
    }
    template <class E> REF_FN static double quick(E width, double x)
    {
        return ref_quick_logistic(width, x);
    }
    template <class E> REF_FN static ref_lane<E> at(const ref_lane<E> &x, const ref_rules<E> &k)
    {
        double v = ref_logistic(E(0), x.v);
        E f = ref_rough_inverse(1 + ref_rough_exp(-x.f));
        E size = ref_less(ref_abs(x.f), (E)1e4);
        E carried = f * (1 - f) * (x.e + (k.reach * size + 4 * k.u));
        return {v, f, carried + (8 * k.u * f + k.tiny)};
    }
};

/*
 * tanh: 4 u absolute, not relative, for it is commonly made of a sigmoid or an exp; and the 2^-11
 * of tanh.approx where functions are approximate. The slope is 1 - t^2.
 */
struct ref_tanh_function {
    template <class E> REF_FN static double quick(E width, double x)
    {
        return ref_tangent(width, x);
    }
    template <class E> REF_FN static ref_lane<E> at(const ref_lane<E> &x, const ref_rules<E> &k)
    {
        double v = quick(E(0), x.v);
        E f = 1 - 2 * ref_rough_inverse(1 + ref_rough_exp(2 * x.f));
        return {v, f, error(f, x, k)};
    }
    template <class E> REF_FN static E error(E f, const ref_lane<E> &x, const ref_rules<E> &k)
    {
        E slope = ref_abs((1 - f) * (1 + f)) + 4 * k.u;
        return slope * ref_less(x.e, (E)1e18) + (k.tangent * ref_abs(f) + 4 * k.u);
    }
};

/* erf: 4 u (libdevice: 2 ulp); the slope is 2 / sqrt(pi) e^-x^2. */
struct ref_erf_function {
    template <class E> REF_FN static double quick(E width, double x)
    {
        return ref_error_function(width, x);
    }
    template <class E> REF_FN static ref_lane<E> at(const ref_lane<E> &x, const ref_rules<E> &k)
    {
        double v = quick(E(0), x.v);
        E f = (E)v;
        return {v, f, error(f, x, k)};
    }
    template <class E> REF_FN static E error(E f, const ref_lane<E> &x, const ref_rules<E> &k)
    {
        E slope = (E)1.1284 * ref_rough_exp(-x.f * x.f) + 4 * k.u;
        return slope * ref_less(x.e, (E)1e18) + (4 * k.u * ref_abs(f) + k.tiny);
    }
};

/*
 * 1 + erf and 1 + tanh, which cancel in half of gelu's range. The error is that of a kernel which
 * adds them up; the value has lost nothing.
 */
template <class Function, class Sum> struct ref_one_plus_function {
    template <class E> REF_FN static double quick(E width, double x)
    {
        return Sum::quick(width, x);
    }
    template <class E> REF_FN static ref_lane<E> at(const ref_lane<E> &x, const ref_rules<E> &k)
    {
        double v = Sum::fine(E(0), x.v);
        E f = (E)v;
        return {v, f, k.u * ref_abs(f) + k.tiny + Function::error(f - 1, x, k)};
    }
};

struct ref_erf_sum {
    template <class E> REF_FN static double quick(E width, double x)
    {
        return ref_quick_one_plus_erf(width, x);
    }
    template <class E> REF_FN static double fine(E width, double x)
    {
        return ref_one_plus_erf(width, x);
    }
};

struct ref_tanh_sum {
    template <class E> REF_FN static double quick(E width, double x)
    {
        return 2 * ref_quick_logistic(width, 2 * x);
    }
    template <class E> REF_FN static double fine(E width, double x)
    {
        return 2 * ref_logistic(width, 2 * x);
    }
};

typedef ref_one_plus_function<ref_erf_function, ref_erf_sum> ref_one_plus_erf_function;
typedef ref_one_plus_function<ref_tanh_function, ref_tanh_sum> ref_one_plus_tanh_function;

REF_SLOW double ref_turn(bool cosine, double x)
{
    return cosine ? cos(x) : sin(x);
}

/*
 * Sine and cosine: 8 u (libdevice: 2 ulp). sin.approx and cos.approx are good to 2^-20.5 absolute
 * up to 2 pi and to 2^-14.7 up to 100 pi (PTX ISA). Beyond 2 pi the error grows in proportion to
 * |x|: 2 u |x| covers it, and is taken past 100 pi, too. The slope is at most 1.
 */
template <bool COSINE> struct ref_turn_function {
    template <class E> REF_FN static double quick(E, double x)
    {
        return ref_turn(COSINE, x);
    }
    template <class E> REF_FN static ref_lane<E> at(const ref_lane<E> &x, const ref_rules<E> &k)
    {
        double v = ref_turn(COSINE, x.v);
        E f = (E)v;
        E approximate = k.approximate() ? (E)6.8e-7 + 2 * k.u * ref_abs(x.f) : (E)0;
        return {v, f, ref_less(x.e, (E)2) + approximate + (8 * k.u * ref_abs(f) + k.tiny)};
    }
};

typedef ref_turn_function<false> ref_sine_function;
typedef ref_turn_function<true> ref_cosine_function;

struct ref_abs_function {
    template <class E> REF_FN static double quick(E, double x)
    {
        return ref_abs(x);
    }
    template <class E> REF_FN static ref_lane<E> at(const ref_lane<E> &x, const ref_rules<E> &)
    {
        return {quick(E(0), x.v), ref_abs(x.f), x.e};
    }
};

struct ref_negative_function {
    template <class E> REF_FN static double quick(E, double x)
    {
        return -x;
    }
    template <class E> REF_FN static ref_lane<E> at(const ref_lane<E> &x, const ref_rules<E> &)
    {
        return {-x.v, -x.f, x.e};
    }
};

template <class A, class R = ref_image<ref_negative_function, A>> REF_FN R operator-(const A &a)
{
    return ref_map<ref_negative_function>(a);
}

#define REF_FUNCTION(name)                                                                         \
    template <class A, class R = ref_image<ref_##name##_function, A>> REF_FN R name(const A &a)    \
    {                                                                                              \
        return ref_map<ref_##name##_function>(a);                                                  \
    }
REF_FUNCTION(exp)
REF_FUNCTION(log)
REF_FUNCTION(sqrt)
REF_FUNCTION(rsqrt)
REF_FUNCTION(sigmoid)
REF_FUNCTION(tanh)
REF_FUNCTION(erf)
REF_FUNCTION(one_plus_tanh)
REF_FUNCTION(one_plus_erf)
REF_FUNCTION(abs)
REF_FUNCTION(sine)
REF_FUNCTION(cosine)
#undef REF_FUNCTION

#endif
