/*
 * ref_operator.h - arithmetic on numbers that carry error bounds, at once or on use.
 *
 * Errors, u the unit roundoff of the declared accumulator:
 *   + - *      u |result|, and what the operands bring, to second order for products
 *   /          4 u: rcp.approx and div.full are good to 2 ulp; where functions are approximate the
 *              whole quotient by a number beyond 2^126, which div.approx makes 0
 *   functions  ref_function.h, beside each
 * Each result may also be flushed to zero by the subject: ref_rules.tiny.
 */
#ifndef REFS_REF_OPERATOR_H
#define REFS_REF_OPERATOR_H

#include "ref_value.h"

/* ------------------------------------------------------- products of inputs as tf32 */

/* The roundoff of inputs that tensor cores take as tf32: 10 bits of fraction, what follows is cut
 * off. */
#define REF_TF32 0x1p-10
enum { REF_TF32_MASK = ~0x1fff, REF_TF32_HALF = 0x1000 };

/* The product of two numbers as they were loaded. Where inputs may be tf32: by how much it is more
 * than that of both cut off, and of both rounded to nearest. */
template <class E, int W> struct ref_loaded_product : ref_real<E, W> {
    E cut[W], rounded[W];
};

template <class A> struct ref_is_loaded {
    static constexpr bool value = false;
};
template <class E, int W> struct ref_is_loaded<ref_loaded_product<E, W>> {
    static constexpr bool value = true;
};

/* x y less the product of what is left of them where `half` is added before they are cut off. */
template <class E> REF_FN E ref_cut_off(double x, double y, uint32_t half)
{
    E left = (E)ref_from_bits((ref_bits((float)x) + half) & (uint32_t)REF_TF32_MASK);
    E right = (E)ref_from_bits((ref_bits((float)y) + half) & (uint32_t)REF_TF32_MASK);
    return ((E)x - left) * (E)y + left * ((E)y - right);
}

/* ------------------------------------------------------------------ lazy expressions */

/*
 * What special kernels compute is kept as the formula until its parts are used: of a pack whose
 * numbers all lie within half an ulp of the values, errors and shadows are never used
 * (ref_judge.h), and they are a third of the instructions.
 */
template <class Formula, class E> struct ref_lazy {
    typedef E element;
    static constexpr int kind = REF_REAL;
    static constexpr bool lazy = true;

    REF_FN ref_lane<E> wanted(int j) const
    {
        return static_cast<const Formula *>(this)->lane(j);
    }
    REF_FN double value(int j) const
    {
        return wanted(j).v;
    }
    REF_FN E shadow(int j) const
    {
        return wanted(j).f;
    }
    REF_FN E error(int j) const
    {
        return wanted(j).e;
    }
};

template <class OP, class A, class B>
struct ref_pair : ref_lazy<ref_pair<OP, A, B>, typename A::element> {
    typedef typename A::element element;
    static constexpr int width = ref_wider(A::width, B::width);
    static constexpr int degree = OP::linear && ref_degree<A>() + ref_degree<B>() == 1 ? 1 : 2;
    static constexpr bool sum_of_line = OP::adds && degree == 1;
    static constexpr bool flushes = !sum_of_line;
    A a;
    B b;

    REF_FN ref_pair(const A &a_, const B &b_) : a(a_), b(b_)
    {
    }
    REF_FN ref_rules<element> rules() const
    {
        return ref_join(a.rules(), b.rules());
    }
    REF_FN double quick(int j) const
    {
        return OP::value(element(0), a.quick(j), b.quick(j));
    }
    /* ref_value.h. */
    REF_FN element near(int j) const
    {
        if constexpr (sum_of_line)
            return ref_at(line(), point(j));
        else
            return OP::near(*this, a, b, j);
    }
    /* Where its degree is 1: the line, and the number that lane j has loaded. */
    REF_FN auto line() const
    {
        if constexpr (ref_degree<A>() == 1)
            return OP::line(a.line(), b.twin());
        else
            return OP::line(a.twin(), b.line());
    }
    /* The same times log2 e: that is in one of a product's factors, and in both of a sum's terms.
     */
    REF_FN auto binary_line() const
    {
        if constexpr (!OP::adds && ref_degree<A>() == 1)
            return ref_moderate(OP::line(a.line(), b.binary()));
        else if constexpr (!OP::adds)
            return ref_moderate(OP::line(a.binary(), b.line()));
        else if constexpr (ref_degree<A>() == 1)
            return OP::line(a.binary_line(), b.binary());
        else
            return OP::line(a.binary(), b.binary_line());
    }
    REF_FN element point(int j) const
    {
        if constexpr (ref_degree<A>() == 1)
            return a.point(j);
        else
            return b.point(j);
    }
    REF_FN ref_lane<element> lane(int j) const
    {
        return OP::lane(a, b, a.lane(j), b.lane(j), rules());
    }
};

template <bool LOADED, class A, class B> struct ref_plain_result {
    typedef ref_both<A, B> type;
};
template <class A, class B> struct ref_plain_result<true, A, B> {
    typedef ref_loaded_product<typename A::element, ref_wider(A::width, B::width)> type;
};

template <bool LAZY, class OP, class A, class B> struct ref_pair_result {
    static constexpr bool loaded = OP::multiplies && A::kind == REF_EXACT && B::kind == REF_EXACT;
    typedef typename ref_plain_result<loaded, A, B>::type type;
};
template <class OP, class A, class B> struct ref_pair_result<true, OP, A, B> {
    typedef ref_pair<OP, A, B> type;
};

/* A sum times a number, or with one added, is judged beside its size still. */
template <class OP, class E, int W, class B> struct ref_pair_result<false, OP, ref_total<E, W>, B> {
    typedef ref_total<E, ref_wider(W, B::width)> type;
};

/* The type of OP's result; substitution fails where one is no value. */
template <class OP, class A, class B>
using ref_result = typename ref_pair_result<A::lazy || B::lazy, OP, A, B>::type;

template <class E, int W, class A, class B>
REF_FN void ref_set_cuts(ref_loaded_product<E, W> &r, const A &a, const B &b)
{
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        r.cut[j] = ref_cut_off<E>(a.value(j), b.value(j), 0);
        r.rounded[j] = ref_cut_off<E>(a.value(j), b.value(j), REF_TF32_HALF);
    }
}

template <class OP, class A, class B, class R = ref_result<OP, A, B>>
REF_FN R ref_apply(const A &a, const B &b)
{
    if constexpr (R::lazy) {
        return R(a, b);
    } else {
        R r;
        r.k = ref_join(a.rules(), b.rules());
        REF_UNROLL
        for (int j = 0; j < R::width; j++)
            r.set(j, OP::lane(a, b, a.lane(j), b.lane(j), r.k));
        if constexpr (ref_is_loaded<R>::value) {
            if (r.k.rho == (typename R::element)REF_TF32)
                ref_set_cuts(r, a, b);
        }
        if constexpr (R::total) {
            REF_UNROLL
            for (int j = 0; j < R::width; j++)
                r.size[j] = OP::size(ref_beside(a, j), b.shadow(j));
        }
        return r;
    }
}

/* ------------------------------------------------------------------------- + and - */

/* The error of an operand that is one number for all lanes comes first: it is added up outside of
 * loops. */
template <class A, class B, class E>
REF_FN E ref_sum_error(const A &, const B &, const ref_lane<E> &x, const ref_lane<E> &y, E f,
                       const ref_rules<E> &k)
{
    if constexpr (A::kind == REF_EXACT && B::kind == REF_EXACT)
        return k.rho * (ref_abs(x.f) + ref_abs(y.f)) + (k.u * ref_abs(f) + k.tiny);
    if constexpr (A::width > B::width)
        return k.u * ref_abs(f) + (k.tiny + y.e) + x.e;
    if constexpr (A::width < B::width)
        return k.u * ref_abs(f) + (k.tiny + x.e) + y.e;
    return k.u * ref_abs(f) + k.tiny + x.e + y.e;
}

/* In f32 the sum of two loaded numbers is off by its own rounding. Other terms may cancel, and
 * their errors stay: what is left may be error alone, and a kernel with the same errors must not
 * pass by it. So the sum of other terms is quick(), to 2^-28. */
template <class X, class A, class B>
REF_FN typename X::element ref_near_sum(const X &x, typename X::element sum, int j)
{
    if constexpr (A::kind == REF_EXACT && B::kind == REF_EXACT)
        return sum;
    else
        return (typename X::element)x.quick(j);
}

struct ref_plus {
    static constexpr bool linear = true, adds = true, multiplies = false;
    template <class E> REF_FN static E size(E size, E)
    {
        return size;
    }
    template <class E> REF_FN static double value(E, double a, double b)
    {
        return a + b;
    }
    template <class X, class A, class B>
    REF_FN static auto near(const X &x, const A &a, const B &b, int j)
    {
        return ref_near_sum<X, A, B>(x, a.near(j) + b.near(j), j);
    }
    template <class A, class B> REF_FN static auto line(const A &a, const B &b)
    {
        return a + b;
    }
    template <class A, class B, class E>
    REF_FN static ref_lane<E> lane(const A &a, const B &b, const ref_lane<E> &x,
                                   const ref_lane<E> &y, const ref_rules<E> &k)
    {
        E f = ref_shadow(x.f + y.f, k);
        return {x.v + y.v, f, ref_sum_error(a, b, x, y, f, k)};
    }
};

struct ref_minus {
    static constexpr bool linear = true, adds = true, multiplies = false;
    template <class E> REF_FN static E size(E size, E)
    {
        return size;
    }
    template <class E> REF_FN static double value(E, double a, double b)
    {
        return a - b;
    }
    template <class X, class A, class B>
    REF_FN static auto near(const X &x, const A &a, const B &b, int j)
    {
        return ref_near_sum<X, A, B>(x, a.near(j) - b.near(j), j);
    }
    template <class A, class B> REF_FN static auto line(const A &a, const B &b)
    {
        return a - b;
    }
    template <class A, class B, class E>
    REF_FN static ref_lane<E> lane(const A &a, const B &b, const ref_lane<E> &x,
                                   const ref_lane<E> &y, const ref_rules<E> &k)
    {
        E f = ref_shadow(x.f - y.f, k);
        return {x.v - y.v, f, ref_sum_error(a, b, x, y, f, k)};
    }
};

/* ------------------------------------------------------------------------- * and / */

template <class A, class B, class E>
REF_FN E ref_product_unit(const A &a, const B &b, const ref_rules<E> &k)
{
    if constexpr (A::kind == REF_SCALE)
        return B::kind == REF_EXACT ? a.whole + k.rho : a.whole;
    else if constexpr (B::kind == REF_SCALE)
        return A::kind == REF_EXACT ? b.whole + k.rho : b.whole;
    else if constexpr (A::kind == REF_EXACT && B::kind == REF_EXACT)
        return k.u2;
    else
        return A::kind == REF_EXACT || B::kind == REF_EXACT ? k.u1 : k.u;
}

/* |a| eb + |b| ea + ea eb + unit |ab|; the inputs' own rounding, and that of a scale, is in the
 * unit. */
template <class A, class B, class E>
REF_FN E ref_product_error(const A &a, const B &b, const ref_lane<E> &x, const ref_lane<E> &y, E f,
                           const ref_rules<E> &k)
{
    E e = ref_product_unit(a, b, k) * ref_abs(f) + k.tiny;
    if constexpr (B::kind == REF_REAL)
        e = ref_abs(x.f) * y.e + e;
    if constexpr (A::kind == REF_REAL && B::kind != REF_REAL)
        e = ref_abs(y.f) * x.e + e;
    if constexpr (A::kind == REF_REAL && B::kind == REF_REAL)
        e = (ref_abs(y.f) + y.e) * x.e + e;
    return e;
}

/* A factor beside a near() that may be 0 where the value is not: NaN where it would make more of
 * what is missing than flushing may (REF_CALM). */
template <class E> REF_FN E ref_held(E factor)
{
    return ref_abs(factor) <= REF_CALM ? factor : (E)ref_nan();
}

struct ref_times {
    static constexpr bool linear = true, adds = false, multiplies = true;
    template <class E> REF_FN static E size(E size, E y)
    {
        return size * ref_abs(y);
    }
    template <class E> REF_FN static double value(E, double a, double b)
    {
        return a * b;
    }
    template <class X, class A, class B>
    REF_FN static typename X::element near(const X &x, const A &a, const B &b, int j)
    {
        constexpr bool first = ref_flushes<A>(), second = ref_flushes<B>();
        if constexpr (first && second)
            return (typename X::element)x.quick(j);
        else if constexpr (first)
            return a.near(j) * ref_held(b.near(j));
        else if constexpr (second)
            return ref_held(a.near(j)) * b.near(j);
        else
            return a.near(j) * b.near(j);
    }
    template <class A, class B> REF_FN static auto line(const A &a, const B &b)
    {
        return a * b;
    }
    template <class A, class B, class E>
    REF_FN static ref_lane<E> lane(const A &a, const B &b, const ref_lane<E> &x,
                                   const ref_lane<E> &y, const ref_rules<E> &k)
    {
        E f = ref_shadow(x.f * y.f, k);
        return {x.v * y.v, f, ref_product_error(a, b, x, y, f, k)};
    }
};

/* (ea + |q| eb) / (|b| - eb) + 4 u |q|: Inf, hence inconclusive, where b may have been 0. */
struct ref_over {
    static constexpr bool linear = false, adds = false, multiplies = false;
    template <class E> REF_FN static E size(E size, E y)
    {
        return size * ref_rough_inverse(ref_abs(y));
    }
    template <class X, class A, class B>
    REF_FN static auto near(const X &x, const A &, const B &, int j)
    {
        return (typename X::element)x.quick(j);
    }
    template <class E> REF_FN static double value(E width, double a, double b)
    {
        return ref_divide(width, a, b);
    }
    template <class A, class B, class E>
    REF_FN static ref_lane<E> lane(const A &, const B &b, const ref_lane<E> &x,
                                   const ref_lane<E> &y, const ref_rules<E> &k)
    {
        E unit = 4 * k.u;
        if constexpr (B::kind == REF_SCALE)
            unit = 4 * b.unit;
        E room = ref_abs(y.f) - y.e;
        E inverse = room > 0 ? ref_rough_inverse(room) : (E)ref_infinity();
        E f = ref_shadow(x.f * ref_rough_inverse(y.f), k), q = ref_abs(f);
        E carried = x.e + q * y.e;
        if constexpr (B::kind != REF_SCALE)
            if (k.approximate() && ref_abs(y.f) + y.e >= (E)REF_APPROX_DIVISOR)
                unit = 1;
        return {ref_divide(E(0), x.v, y.v), f,
                (carried > 0 ? carried * inverse : (E)0) + (unit * q + k.tiny)};
    }
};

#define REF_OPERATOR(OP, name)                                                                     \
    template <class A, class B, class R = ref_result<name, A, B>>                                  \
    REF_FN R operator OP(const A &a, const B &b)                                                   \
    {                                                                                              \
        return ref_apply<name>(a, b);                                                              \
    }
REF_OPERATOR(+, ref_plus)
REF_OPERATOR(-, ref_minus)
REF_OPERATOR(*, ref_times)
REF_OPERATOR(/, ref_over)
#undef REF_OPERATOR

/* A plain number beside a value is a ref_scale under that value's rules. */
#define REF_WITH_NUMBERS(OP, name)                                                                 \
    template <class A, class S = ref_scale<typename A::element>, class R = ref_result<name, A, S>> \
    REF_FN R operator OP(const A &a, double b)                                                     \
    {                                                                                              \
        return a OP S(b, a.rules());                                                               \
    }                                                                                              \
    template <class B, class S = ref_scale<typename B::element>, class R = ref_result<name, S, B>> \
    REF_FN R operator OP(double a, const B &b)                                                     \
    {                                                                                              \
        return S(a, b.rules()) OP b;                                                               \
    }
REF_WITH_NUMBERS(+, ref_plus)
REF_WITH_NUMBERS(-, ref_minus)
REF_WITH_NUMBERS(*, ref_times)
REF_WITH_NUMBERS(/, ref_over)
#undef REF_WITH_NUMBERS

template <class A, class R = ref_result<ref_times, A, A>> REF_FN R square(const A &a)
{
    return a * a;
}

#endif
