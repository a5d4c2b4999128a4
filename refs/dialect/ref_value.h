/*
 * ref_value.h - numbers that carry the error which a correct kernel may have made in them.
 *
 * A value is an fp64 number v, its shadow f (the same formula computed in E) and a first-order
 * bound e on |what a correct kernel has - v|. The shadow is there so that |v| in the error terms
 * costs no conversion: those between f64 and f32 run at an eighth of the rate on a GPU.
 * Four kinds take part in arithmetic:
 *   ref_exact  a loaded value: no error of its own but the declared rounding of inputs
 *   ref_real   a computed value
 *   ref_scale  a constant or a scalar argument: one rounding if it is no number of the
 *              accumulator; multiplying by a power of two is exact
 *   double     becomes a ref_scale beside one of the others
 * Each of W lanes (a pack of columns) stands for itself; a value of one lane goes with any.
 *
 * All of them, and the expressions of ref_operator.h, have k's rules(), and of lane j value(),
 * shadow() and error(), the three at once as lane(), and two that are NaN where they would take
 * longer:
 *   quick()  the value to 2^-28 of itself
 *   near()   a number of E at most error() away from the value, as a kernel may have it: each of
 *            its steps rounds no more than the bound allows, and none loses the number itself, as
 *            sums may do that cancel. So a result that is its rounding lies within the bound
 */
#ifndef REFS_REF_VALUE_H
#define REFS_REF_VALUE_H

#include "ref_line.h"

/* Times ref_call.underflow: a bound below it comes from flushing to zero and is not called wide,
 * or each exact 0 of a masked row would be inconclusive. */
#define REF_CALM 1024

enum ref_kind { REF_EXACT, REF_REAL, REF_SCALE };

/* The arithmetic that the subject declares. */
template <class E> struct ref_rules {
    E u;       /* unit roundoff of its accumulator, and the reference's own */
    E u1;      /* of a product with one input: u + rho */
    E u2;      /* of a product of two inputs: u + 2 rho */
    E rho;     /* rounding of inputs as they are loaded */
    E tiny;    /* what may be flushed to zero */
    E edge;    /* 1 / its largest number, where E has larger ones; else 0 */
    E reach;   /* of e^x: the share of |x| by which it is off, relative */
    E tangent; /* relative error of tanh.approx where declared; else 0 */

    /* Whether functions are the GPU's approximate instructions. */
    REF_FN bool approximate() const
    {
        return tangent > 0;
    }
};

/* A number without rules. */
template <class E> REF_FN void ref_clear(ref_rules<E> &k)
{
    k.u = k.u1 = k.u2 = k.rho = k.tiny = k.edge = k.reach = k.tangent = 0;
}

/* The larger of two operands' rules. A number without rules (a bare constant) has zeros. */
template <class E> REF_FN ref_rules<E> ref_join(const ref_rules<E> &a, const ref_rules<E> &b)
{
    ref_rules<E> k;
    k.u = a.u > b.u ? a.u : b.u;
    k.u1 = a.u1 > b.u1 ? a.u1 : b.u1;
    k.u2 = a.u2 > b.u2 ? a.u2 : b.u2;
    k.rho = a.rho > b.rho ? a.rho : b.rho;
    k.tiny = a.tiny > b.tiny ? a.tiny : b.tiny;
    k.edge = a.edge > b.edge ? a.edge : b.edge;
    k.reach = a.reach > b.reach ? a.reach : b.reach;
    k.tangent = a.tangent > b.tangent ? a.tangent : b.tangent;
    return k;
}

/* A shadow overflows where the accumulator does; its error is infinite from there on. A shadow in
 * f32 does so by itself. */
REF_FN float ref_shadow(float f, const ref_rules<float> &)
{
    return f;
}

REF_FN double ref_shadow(double f, const ref_rules<double> &k)
{
    return ref_abs(f) * k.edge > 1 ? (f > 0 ? ref_infinity() : -ref_infinity()) : f;
}

/* One lane's number. */
template <class E> struct ref_lane {
    double v;
    E f, e;
};

/* The parts of a number that has them at hand: its value, shadow and error. */
template <class Number, class E> struct ref_known {
    REF_FN const Number &number() const
    {
        return *static_cast<const Number *>(this);
    }
    REF_FN double quick(int j) const
    {
        return number().value(j);
    }
    REF_FN E near(int j) const
    {
        return Number::width == 1 ? (E)twin().high : (E)number().value(j);
    }
    /* Of a number which is one for all lanes: it in two parts, and so in an exponent of 2
     * instead of e. */
    REF_FN ref_twin twin() const
    {
        return ref_split(number().value(0));
    }
    REF_FN ref_twin binary() const
    {
        return ref_binary(twin());
    }
    REF_FN ref_lane<E> lane(int j) const
    {
        return {number().value(j), number().shadow(j), number().error(j)};
    }
};

/* What is read of an array: numbers of E, and the declared rounding of inputs. */
template <class Number, class E, int W> struct ref_loaded : ref_known<Number, E> {
    typedef E element;
    static constexpr int width = W;
    static constexpr int kind = REF_EXACT;
    ref_rules<E> k;

    REF_FN ref_rules<E> rules() const
    {
        return k;
    }
    REF_FN E shadow(int j) const
    {
        return this->number().f[W == 1 ? 0 : j];
    }
    REF_FN E error(int j) const
    {
        return k.rho * ref_abs(shadow(j));
    }
};

template <class E, int W> struct ref_exact : ref_loaded<ref_exact<E, W>, E, W> {
    static constexpr bool lazy = false;
    double v[W];
    E f[W];

    REF_FN double value(int j) const
    {
        return v[W == 1 ? 0 : j];
    }
};

/* One whose value is its shadow: what special kernels load. What is made of it is lazy. */
template <class E, int W> struct ref_narrow : ref_loaded<ref_narrow<E, W>, E, W> {
    static constexpr bool lazy = true, flushes = false;
    static constexpr int degree = 1;
    E f[W];

    REF_FN E near(int j) const
    {
        return this->shadow(j);
    }
    REF_FN ref_line<ref_one, ref_zero> line() const
    {
        return {};
    }
    REF_FN ref_line<ref_twin, ref_zero> binary_line() const
    {
        return {ref_log2_e(), {}};
    }
    REF_FN E point(int j) const
    {
        return f[j];
    }

    REF_FN double value(int j) const
    {
        return this->shadow(j);
    }
};

/* Whether a subject has the number as it is: one of f32, or any where it computes in f64. */
template <class E> REF_FN bool ref_is_number(double v, E u)
{
    return (double)(float)v == v || u < (E)0x1p-50;
}

template <class E> struct ref_scale : ref_known<ref_scale<E>, E> {
    typedef E element;
    static constexpr int width = 1;
    static constexpr int kind = REF_SCALE;
    static constexpr bool lazy = false;
    ref_rules<E> k;
    double v;
    E f, e;
    E unit;  /* relative error of multiplying by it: 0 for powers of two */
    E whole; /* and its own */

    REF_FN ref_scale(double value_, const ref_rules<E> &rules) : k(rules), v(value_), f((E)value_)
    {
        bool power = (ref_bits(v) & (((uint64_t)1 << 52) - 1)) == 0;
        e = ref_is_number(v, k.u) || v != v ? (E)0 : k.u * ref_abs(f);
        unit = power ? (E)0 : k.u;
        whole = e > 0 ? unit + k.u : unit;
    }
    REF_FN ref_rules<E> rules() const
    {
        return k;
    }
    REF_FN double value(int) const
    {
        return v;
    }
    REF_FN E shadow(int) const
    {
        return f;
    }
    REF_FN E error(int) const
    {
        return e;
    }
};

template <class E, int W> struct ref_real : ref_known<ref_real<E, W>, E> {
    typedef E element;
    static constexpr int width = W;
    static constexpr int kind = REF_REAL;
    static constexpr bool lazy = false, total = false;
    ref_rules<E> k;
    double v[W];
    E f[W], e[W];

    REF_FN ref_real()
    {
    }
    REF_FN ref_rules<E> rules() const
    {
        return k;
    }
    REF_FN ref_real(double constant)
    {
        ref_clear(k);
        REF_UNROLL
        for (int j = 0; j < W; j++) {
            v[j] = constant;
            f[j] = (E)constant;
            e[j] = (double)f[j] == constant ? (E)0 : (E)6e-8 * ref_abs(f[j]);
        }
    }
    template <class A, int WIDTH = A::width> REF_FN ref_real(const A &a)
    {
        k = a.rules();
        REF_UNROLL
        for (int j = 0; j < W; j++)
            set(j, a.lane(j));
    }
    REF_FN void set(int j, const ref_lane<E> &x)
    {
        v[j] = x.v;
        f[j] = x.f;
        e[j] = x.e;
    }
    REF_FN double value(int j) const
    {
        return v[W == 1 ? 0 : j];
    }
    REF_FN E shadow(int j) const
    {
        return f[W == 1 ? 0 : j];
    }
    REF_FN E error(int j) const
    {
        return e[W == 1 ? 0 : j];
    }
};

/* The size beside which lane j is judged as well; 0 for what is no sum. */
template <class A> REF_FN typename A::element ref_beside(const A &, int)
{
    return 0;
}

/*
 * A sum of n terms, with the size that it would have if their signs were independent: sqrt(sum
 * f^2), and S / sqrt(n) is no more than that. A sum that is much smaller has cancelled. Its bound
 * is mostly still below a few of its terms, so it is `wide` only where the bound is a tenth of that
 * size, too.
 */
template <class E, int W> struct ref_total : ref_real<E, W> {
    static constexpr bool total = true;
    E size[W];

    REF_FN ref_total()
    {
    }
    template <class A, int WIDTH = A::width>
    REF_FN explicit ref_total(const A &a) : ref_real<E, W>(a)
    {
        REF_UNROLL
        for (int j = 0; j < W; j++)
            size[j] = ref_beside(a, j);
    }
};

template <class E, int W> REF_FN E ref_beside(const ref_total<E, W> &sum, int j)
{
    return sum.size[W == 1 ? 0 : j];
}

/* What is the same for a whole row is taken apart once (ref_line.h): a base beside the number,
 * whose near(), twin() and binary() stand for the number's own. */
template <class E> struct ref_apart {
    ref_twin parts, powers;

    REF_FN ref_apart()
    {
    }
    REF_FN explicit ref_apart(double value)
        : parts(ref_split_once(value)), powers(ref_binary_once(parts))
    {
    }
    REF_FN E near(int) const
    {
        return parts.high;
    }
    REF_FN ref_twin twin() const
    {
        return parts;
    }
    REF_FN ref_twin binary() const
    {
        return powers;
    }
};

#define REF_TAKEN_APART(E)                                                                         \
    using ref_apart<E>::near;                                                                      \
    using ref_apart<E>::twin;                                                                      \
    using ref_apart<E>::binary;

/* A reference's variable of type real, in a special kernel. In others it is a ref_real as any. */
template <class E> struct ref_number : ref_real<E, 1>, ref_apart<E> {
    REF_TAKEN_APART(E)

    REF_FN ref_number()
    {
    }
    REF_FN ref_number(double constant) : ref_real<E, 1>(constant), ref_apart<E>(constant)
    {
    }
    template <class A, int WIDTH = A::width>
    REF_FN ref_number(const A &a) : ref_real<E, 1>(a), ref_apart<E>(this->v[0])
    {
    }
};

/* The same of a reference's formal of type real. */
template <class E> struct ref_argument : ref_scale<E>, ref_apart<E> {
    REF_TAKEN_APART(E)

    REF_FN ref_argument(double value, const ref_rules<E> &rules)
        : ref_scale<E>(value, rules), ref_apart<E>(value)
    {
    }
};

template <class E, int D> struct ref_variable {
    typedef ref_number<E> type;
    typedef ref_argument<E> formal;
};
template <class E> struct ref_variable<E, DTYPE_NONE> {
    typedef ref_real<E, 1> type;
    typedef ref_scale<E> formal;
};

/* Of a pack: 0 is one number for all its lanes, 1 a line in the numbers that it loads, 2 neither.
 */
template <class A> REF_FN constexpr int ref_degree()
{
    if constexpr (A::lazy)
        return A::degree;
    else
        return A::width == 1 ? 0 : 2;
}

/* Whether its near() may be 0 where the value is not. */
template <class A> REF_FN constexpr bool ref_flushes()
{
    if constexpr (A::lazy)
        return A::flushes;
    else
        return false;
}

REF_FN constexpr int ref_wider(int a, int b)
{
    return a > b ? a : b;
}

/* The type of a result of A and B; substitution fails where one is no value. */
template <class A, class B>
using ref_both = ref_real<typename A::element, ref_wider(A::width, B::width)>;
template <class A> using ref_same = ref_real<typename A::element, A::width>;

/* ------------------------------------------------------------- comparison and choice */

/* Lane by lane: whether it holds, and whether a correct kernel may have found otherwise. */
template <int W> struct ref_mask {
    static constexpr int lanes = W;
    bool yes[W], unsure[W];
};

template <class A, class B, class R = ref_both<A, B>>
REF_FN ref_mask<R::width> operator>(const A &a, const B &b)
{
    ref_mask<R::width> m;
    REF_UNROLL
    for (int j = 0; j < R::width; j++) {
        m.yes[j] = a.value(j) > b.value(j);
        m.unsure[j] = ref_abs(a.value(j) - b.value(j)) < (double)(a.error(j) + b.error(j));
    }
    return m;
}

template <class A, class B, class R = ref_both<A, B>>
REF_FN ref_mask<R::width> operator<(const A &a, const B &b)
{
    return b > a;
}

template <class A, class R = ref_same<A>> REF_FN ref_mask<R::width> operator>(const A &a, double b)
{
    return a > ref_scale<typename A::element>(b, a.rules());
}

template <class A, class R = ref_same<A>> REF_FN ref_mask<R::width> operator<(const A &a, double b)
{
    return ref_scale<typename A::element>(b, a.rules()) > a;
}

/* yes ? a : b, as wide as the widest of the three. Where the subject may have decided otherwise,
 * its distance is allowed. */
template <class M, class A, class B, class Both = ref_both<A, B>,
          class R = ref_real<typename A::element, ref_wider(M::lanes, Both::width)>>
REF_FN R where(const M &m, const A &a, const B &b)
{
    typedef typename R::element E;
    R r;
    r.k = ref_join(a.rules(), b.rules());
    REF_UNROLL
    for (int j = 0; j < R::width; j++) {
        const int lane = M::lanes == 1 ? 0 : j;
        r.v[j] = m.yes[lane] ? a.value(j) : b.value(j);
        r.f[j] = m.yes[lane] ? a.shadow(j) : b.shadow(j);
        r.e[j] = m.yes[lane] ? a.error(j) : b.error(j);
        if (m.unsure[lane])
            r.e[j] = a.error(j) + b.error(j) + ref_abs((E)(a.value(j) - b.value(j)));
    }
    return r;
}

template <class M, class A, class R = ref_same<A>>
REF_FN auto where(const M &m, const A &a, double b)
{
    return where(m, a, ref_scale<typename A::element>(b, a.rules()));
}

template <class M, class B, class R = ref_same<B>>
REF_FN auto where(const M &m, double a, const B &b)
{
    return where(m, ref_scale<typename B::element>(a, b.rules()), b);
}

/* The larger; NaN if one is NaN. Choosing does not round; the error is that of the larger, or,
 * where a correct kernel may have chosen the other one, the larger error. */
template <class A, class B, class R = ref_both<A, B>> REF_FN R max(const A &a, const B &b)
{
    typedef typename R::element E;
    R r;
    r.k = ref_join(a.rules(), b.rules());
    REF_UNROLL
    for (int j = 0; j < R::width; j++) {
        bool first = a.value(j) > b.value(j) || a.value(j) != a.value(j);
        E one = a.error(j), other = b.error(j);
        bool sure = ref_abs(a.value(j) - b.value(j)) > (double)(one + other);
        r.v[j] = first ? a.value(j) : b.value(j);
        r.f[j] = first ? a.shadow(j) : b.shadow(j);
        r.e[j] = !sure ? ref_more(one, other) : first ? one : other;
    }
    return r;
}

template <class A, class R = ref_same<A>> REF_FN R max(const A &a, double b)
{
    return max(a, ref_scale<typename A::element>(b, a.rules()));
}

template <class A, class B, class R = ref_both<A, B>> REF_FN R min(const A &a, const B &b)
{
    return -max(-a, -b);
}

template <class A, class R = ref_same<A>> REF_FN R min(const A &a, double b)
{
    return -max(-a, -b);
}

/* One term of a maximum. Terms at -Inf bring no error: a mask is exact. */
template <class A, class E> REF_FN void ref_raise(const A &x, int j, double &v, E &e, bool &nan)
{
    nan = nan || x.value(j) != x.value(j);
    v = x.value(j) > v ? x.value(j) : v;
    e = ref_more(e, x.shadow(j) > -(E)ref_infinity() ? x.error(j) : (E)0);
}

/* The first `count` terms of a pack. */
template <class A, class E>
REF_FN void ref_raise_all(const A &x, int count, double &v, E &e, bool &nan)
{
    REF_UNROLL
    for (int j = 0; j < A::width; j++)
        if (j < count)
            ref_raise(x, j, v, e, nan);
}

/* A whole pack, by halves; its shadows' sum, which is not finite where one of them is not. */
template <class A, class E> REF_FN E ref_peak(const A &x, double &v, E &e)
{
    constexpr int W = A::width;
    double most[W];
    E all = 0;
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        most[j] = x.value(j);
        all += x.shadow(j);
    }
    REF_UNROLL
    for (int half = W / 2; half > 0; half /= 2) {
        REF_UNROLL
        for (int j = 0; j < half; j++)
            most[j] = most[j + half] > most[j] ? most[j + half] : most[j];
    }
    v = most[0];
    e = x.error(0);
    REF_UNROLL
    for (int j = 1; j < W; j++)
        e = ref_more(e, x.error(j));
    return all;
}

/* The same where values are their shadows: no double is compared. */
template <class E, int W> REF_FN E ref_peak(const ref_narrow<E, W> &x, double &v, E &e)
{
    E most = x.f[0], all = x.f[0];
    REF_UNROLL
    for (int j = 1; j < W; j++) {
        most = ref_more(most, x.f[j]);
        all += x.f[j];
    }
    v = most;
    e = 0;
    if (x.k.rho > 0) {
        REF_UNROLL
        for (int j = 0; j < W; j++)
            e = ref_more(e, x.error(j));
    }
    return all;
}

/* Two whole packs; false, and nothing done, where one term is not finite. */
template <class A, class E> REF_FN bool ref_raise_packs(const A &x, const A &y, double &v, E &e)
{
    double one, two;
    E its, other, all = ref_peak(x, one, its) + ref_peak(y, two, other);
    if (!ref_finite(all))
        return false;
    one = two > one ? two : one;
    v = one > v ? one : v;
    e = ref_more(e, ref_more(its, other));
    return true;
}

/* The same number, to be taken as exact: for one that cancels from a formula, such as what softmax
 * subtracts before exp, where a kernel may have used another as well. */
template <class A, class R = ref_same<A>> REF_FN R exactly(const A &a)
{
    R r(a);
    REF_UNROLL
    for (int j = 0; j < R::width; j++)
        r.e[j] = 0;
    return r;
}

#endif
