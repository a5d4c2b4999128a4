/*
 * ref_mix.h - reductions over indices that are numbers, dealt to a group's lanes one by one, and
 * not packs: a formula may count with them, look one up in a table, and leave terms out before
 * anything of them is read. What one lane then computes alone, it may take over packs (DOT).
 */
#ifndef REFS_REF_MIX_H
#define REFS_REF_MIX_H

#include "ref_frame.h"

/* The sum of the terms whose condition holds; the bound is that of a sum of so many. */
template <class E, class IF, class F>
REF_FN ref_total<E, 1> ref_sum_if(ref_frame<E> &frame, long long n, const IF &holds, const F &term)
{
    ref_sums<E> sums = {0, 0, 0};
    double count = 0;
    n = frame.space(n);
    for (long long i = frame.lane; i < n && !frame.lost(); i += frame.lanes) {
        if (!holds(i))
            continue;
        ref_real<E, 1> x = term(i);
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

/* Sums of one weight's products with COUNT values, and behind them that of the weights alone. No
 * ref_real, whose rules they would all repeat: this lies in memory that each thread has its own of.
 */
template <class E, int COUNT> struct ref_mixed {
    const ref_frame<E> &frame;
    ref_sums<E> sums[COUNT + 1];
    E linear[COUNT], square[COUNT]; /* what rounding the weights brings: see ref_mix */

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

/*
 * of[c] = the sum over j of weight(j) value(c, j) for the c < count. A kernel may have rounded the
 * weights before it multiplied them, as tensor cores want it: where that is declared (the call's
 * inner_roundoff rho, and inner_least), each product brings d = (rho |weight| + least) |value|, and
 * the sum rho |sum|, for weights that are all rounded alike, and the smaller of the sum of d and
 * lambda / 3 times the root of the sum of d^2. (Rounding to nearest is off by 0.41 rho in the mean
 * square, and is as good as random from one weight to the next: with lambda = 8 that is 6.5
 * standard deviations, as Higham and Mary 2019 take them for sums.) The sum of the weights alone is
 * of those that were not rounded.
 */
template <int COUNT, class E, class F, class V>
REF_FN ref_mixed<E, COUNT> ref_mix(ref_frame<E> &frame, long long n, long long count,
                                   const F &weight, const V &value)
{
    ref_mixed<E, COUNT> y = {frame, {}, {}, {}};
    const E rho = (E)frame.call.inner_roundoff, least = (E)frame.call.inner_least;
    n = frame.space(n);
    frame.note_terms(n);
    for (long long j = frame.lane; j < n && !frame.lost(); j += frame.lanes) {
        ref_real<E, 1> w = weight(j);
        y.sums[COUNT].v += w.v[0];
        y.sums[COUNT].size += ref_abs(w.f[0]);
        y.sums[COUNT].e += w.e[0];
        REF_ROLLED
        for (int c = 0; c < COUNT && c < count; c++) {
            auto x = value(c, j);
            ref_real<E, 1> term = w * x;
            y.sums[c].v += term.v[0];
            y.sums[c].size += ref_abs(term.f[0]);
            y.sums[c].e += term.e[0];
            if (rho > 0) {
                E d = (rho * ref_abs(w.f[0]) + least) * ref_abs(x.shadow(0));
                y.linear[c] += d;
                y.square[c] += d * d;
            }
        }
    }
    REF_ROLLED
    for (int c = 0; c <= COUNT; c++) {
        ref_sums<E> &own = y.sums[c];
        E linear = c < COUNT ? y.linear[c] : (E)0, square = c < COUNT ? y.square[c] : (E)0;
#ifdef __CUDACC__
        double none = 0;
        ref_group_total(frame.lanes, own.v, own.size, own.e);
        ref_group_total(frame.lanes, none, linear, square);
#endif
        E root = (E)(frame.call.lambda / 3 * sqrt((double)square));
        own.e = frame.summed(own, (double)n, (double)n).e[0];
        if (rho > 0 && c < COUNT)
            own.e += rho * ref_abs((E)own.v) + (root < linear ? root : linear);
    }
    return y;
}

#endif
