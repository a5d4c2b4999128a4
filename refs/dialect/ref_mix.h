/*
 * ref_mix.h - reductions over indices that are numbers, dealt to a group's lanes one by one, and
 * not packs: a formula may count with them, look one up in a table, and leave terms out before
 * anything of them is read. What one lane then computes alone, it may take over packs (DOT).
 */
#ifndef REFS_REF_MIX_H
#define REFS_REF_MIX_H

#include "ref_reduce.h"

/* The sum of the terms whose condition holds; the bound is that of a sum of so many. */
template <class E, class IF, class F>
REF_FN ref_total<E, 1> ref_sum_if(ref_frame<E> &frame, long long n, const IF &holds, const F &term)
{
    ref_sums<E> sums = {0, 0, 0};
    ref_cuts<E> cuts = {0, 0, 0};
    double count = 0;
    n = frame.space(n);
    for (long long i = frame.lane; i < n && !frame.lost(); i += frame.lanes) {
        if (!holds(i))
            continue;
        const auto one = term(i);
        ref_real<E, 1> x = one;
        cuts.add(one, 1);
        sums.v += x.v[0];
        sums.size += ref_abs(x.f[0]);
        sums.e += x.e[0];
        count += 1;
    }
#ifdef __CUDACC__
    E none = 0, other = 0;
    ref_group_total(frame.lanes, sums.v, sums.size, sums.e);
    ref_group_total(frame.lanes, count, none, other);
#endif
    if (ref_is_loaded<decltype(term(0ll))>::value && frame.k.rho == (E)REF_TF32)
        sums.e = cuts.error(frame.lanes, sums.v, sums.size, sums.e, frame.k.rho);
    frame.note_terms((long long)count);
    return frame.summed(sums, count, count);
}

/* The largest of the terms whose condition holds, NaN if one is NaN, -Inf of none. */
template <class E, class IF, class F>
REF_FN ref_real<E, 1> ref_max_if(ref_frame<E> &frame, long long n, const IF &holds, const F &term)
{
    double v = -ref_infinity();
    E e = 0;
    bool nan = false;
    n = frame.space(n);
    for (long long i = frame.lane; i < n && !frame.lost(); i += frame.lanes) {
        if (!holds(i))
            continue;
        ref_real<E, 1> x = term(i);
        ref_raise(x, 0, v, e, nan);
    }
    return frame.largest(nan ? ref_nan() : v, e);
}

/* One lane's own sum, over packs. */
template <class E, class F>
REF_FN ref_total<E, 1> ref_dot(ref_frame<E> &frame, long long n, const F &term)
{
    ref_sums<E> sums = {0, 0, 0};
    n = frame.space(n);
    frame.note_terms(n);
    for (ref_packs<E> it(n, 0, 1); it.more() && !frame.lost(); it.next()) {
        ref_real<E, ref_packs<E>::width> x = term(it.at);
        ref_sums<E> part = ref_add_part(x, it.at.count);
        sums.v += part.v;
        sums.size += part.size;
        sums.e += part.e;
    }
    return frame.summed(sums, (double)n, (double)n);
}

/*
 * What rounding the weights of a sum to another format may change of it: the sum of
 * delta(w) w x, where delta is the relative error of rounding w, rho at most.
 *
 * Where weights differ by more than a few rho, their deltas are as good as random, with a mean
 * square of (0.42 rho)^2: what they add up to is of the size of the root of sum d^2, d = rho |w x|,
 * and lambda / 3 times that root is 6.5 standard deviations (Higham and Mary 2019, for sums).
 * Where weights are alike, so are their deltas, and the errors add up. Which delta a weight has
 * depends on what a kernel divided it by, its running maximum for one; how much of a sum shares its
 * delta does not. So delta is taken as a sawtooth over ln |w| with a period of 2 rho, in 4 phases:
 * of deltas that are all alike the mean square over the phases is 0.31 to 0.37 (sum d)^2, of random
 * ones it is about sum d^2 / 3. What exceeds sum d^2 / 2 counts 25-fold, so that the error is
 * allowed in full where it is the same for all, or for each of two or three groups.
 * 0.6 rho |sum| is for weights that follow a pattern of their own, such as few levels.
 *
 * No less certain, and the smaller one for few terms: the sum of d. Weights below the format's
 * normal numbers lose up to half its least number, or themselves, all in one direction.
 */
enum { REF_PHASES = 4 };

template <class E> struct ref_rounding {
    E linear, square, alike[REF_PHASES];
    double lost;
};

/* A weight and its deltas, each over rho; 0: it is below the normal numbers. */
template <class E> struct ref_weight {
    E size, lost, delta[REF_PHASES];

    REF_FN ref_weight(double w, E rho, E least) : size((E)ref_abs(w)), lost(0)
    {
        if (size * rho < least) {
            lost = ref_less(size, least);
            size = 0;
        }
        double phase = size > 0 ? ref_logarithm(E(0), (double)size) / (2 * (double)rho) : 0.0;
        REF_UNROLL
        for (int t = 0; t < REF_PHASES; t++) {
            double x = phase + t * (1.0 / REF_PHASES);
            delta[t] = (E)(2 * (x - floor(x + 0.5)));
        }
        size *= rho;
    }
};

template <class E>
REF_FN void ref_count_rounded(ref_rounding<E> &sum, const ref_weight<E> &w, E sign, E x)
{
    E d = w.size * ref_abs(x), signed_d = sign < 0 ? -w.size * x : w.size * x;
    sum.linear += d;
    sum.square += d * d;
    sum.lost += w.lost * ref_abs(x);
    REF_UNROLL
    for (int t = 0; t < REF_PHASES; t++)
        sum.alike[t] += w.delta[t] * signed_d;
}

/* The group's. */
template <class E> REF_FN void ref_share_rounding(int lanes, ref_rounding<E> &own)
{
#ifdef __CUDACC__
    double none = 0;
    ref_group_total(lanes, own.lost, own.linear, own.square);
    ref_group_total(lanes, none, own.alike[0], own.alike[1]);
    ref_group_total(lanes, none, own.alike[2], own.alike[3]);
#else
    (void)lanes;
    (void)own;
#endif
}

/* `size`: rho |sum|. */
template <class E> REF_FN E ref_rounding_error(const ref_rounding<E> &own, double lambda, E size)
{
    double square = own.square, alike = 0;
    REF_UNROLL
    for (int t = 0; t < REF_PHASES; t++)
        alike += (double)own.alike[t] * own.alike[t] / REF_PHASES;
    double shared = alike > square / 2 ? alike - square / 2 : 0.0;
    double pattern = 0.6 * (double)size;
    double error = sqrt(lambda * lambda / 9 * square + 25 * shared + pattern * pattern);
    return (E)(error < (double)own.linear ? error : (double)own.linear) + (E)own.lost;
}

/* Sums of one weight's products with COUNT values, and behind them that of the weights alone. No
 * ref_real, whose rules they would all repeat: this lies in memory that each thread has its own of.
 */
template <class E, int COUNT> struct ref_mixed {
    const ref_frame<E> &frame;
    ref_sums<E> sums[COUNT + 1];
    ref_rounding<E> rounding[COUNT];

    REF_FN ref_real<E, 1> operator[](long long c) const
    {
        ref_real<E, 1> y;
        y.k = frame.k;
        y.v[0] = sums[c].v;
        y.f[0] = ref_shadow((E)sums[c].v, frame.k);
        y.e[0] = sums[c].e;
        return y;
    }
    REF_FN ref_real<E, 1> total() const
    {
        return (*this)[COUNT];
    }
};

template <class E, class A> REF_FN void ref_add_term(ref_sums<E> &sum, const A &term)
{
    sum.v += term.v[0];
    sum.size += ref_abs(term.f[0]);
    sum.e += term.e[0];
}

/* The sums of all lanes, with their errors. */
template <int COUNT, class E>
REF_FN void ref_finish_mix(ref_frame<E> &frame, ref_mixed<E, COUNT> &y, double n)
{
    const E rho = (E)frame.call.inner_roundoff;
    REF_ROLLED
    for (int c = 0; c <= COUNT; c++) {
        ref_sums<E> &own = y.sums[c];
#ifdef __CUDACC__
        ref_group_total(frame.lanes, own.v, own.size, own.e);
#endif
        own.e = frame.summed(own, n, n).e[0];
        if (rho > 0 && c < COUNT) {
            ref_share_rounding(frame.lanes, y.rounding[c]);
            own.e += ref_rounding_error(y.rounding[c], frame.call.lambda, rho * ref_abs((E)own.v));
        }
    }
}

/*
 * of[c] = the sum over j of weight(j) value(c, j) for the c < count. A kernel may have rounded the
 * weights before it multiplied them, for tensor cores: where that is declared (the call's
 * inner_roundoff rho, and inner_least) the sums' errors grow by ref_rounding. The sum of the
 * weights alone is of those that were not rounded.
 */
template <int COUNT, class E, class F, class V>
REF_FN ref_mixed<E, COUNT> ref_mix(ref_frame<E> &frame, long long n, long long count,
                                   const F &weight, const V &value)
{
    ref_mixed<E, COUNT> y = {frame, {}, {}};
    const E rho = (E)frame.call.inner_roundoff, least = (E)frame.call.inner_least;
    n = frame.space(n);
    frame.note_terms(n);
    for (long long j = frame.lane; j < n && !frame.lost(); j += frame.lanes) {
        ref_real<E, 1> w = weight(j);
        ref_add_term(y.sums[COUNT], w);
        ref_weight<E> rounded(rho > 0 ? w.v[0] : 0.0, rho, least);
        REF_ROLLED
        for (int c = 0; c < COUNT && c < count; c++) {
            auto x = value(c, j);
            ref_add_term(y.sums[c], ref_real<E, 1>(w * x));
            if (rho > 0)
                ref_count_rounded(y.rounding[c], rounded, w.f[0], x.shadow(0));
        }
    }
    ref_finish_mix(frame, y, (double)n);
    return y;
}

#endif
