/*
 * ref_mix.h - reductions over indices that are numbers, dealt to a group's lanes one by one, and
 * not packs: a formula may count with them, look one up in a table, and leave terms out before
 * anything of them is read. What one lane then computes alone, it may take over packs (DOT).
 */
#ifndef REFS_REF_MIX_H
#define REFS_REF_MIX_H

#include "ref_index.h"
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

/* Keys from the least up, or from the largest down. NaN is the largest number. */
enum { REF_RISING = 0, REF_FALLING = 1 };

/* Whether key a comes before key b. */
REF_FN bool ref_key_before(double a, double b, bool falling)
{
    double least = falling ? b : a, most = falling ? a : b;
    return least < most || (most != most && least == least);
}

/* An element of a row in the order of keys, of equal ones that at the lower place first; or none,
 * which comes before all and behind all. */
struct ref_ranked {
    bool falling;
    double key;
    long long place; /* -1: none */

    REF_FN explicit ref_ranked(bool falling_) : falling(falling_), key(0), place(-1)
    {
    }
    REF_FN ref_ranked(bool falling_, double key_, long long place_)
        : falling(falling_), key(key_), place(place_)
    {
    }
    REF_FN bool before(const ref_ranked &other) const
    {
        return place < 0 || other.place < 0 || ref_key_before(key, other.key, falling) ||
               (place < other.place && !ref_key_before(other.key, key, falling));
    }
    /* Whether its key is before that of a loaded element, or the same. */
    template <class A> REF_FN bool leads(const A &x) const
    {
        return place >= 0 && ref_key_before(key, x.value(0), falling);
    }
    template <class A> REF_FN bool ties(const A &x) const
    {
        return place >= 0 && equals(x, key).yes[0];
    }
};

#ifdef __CUDACC__
REF_FN void ref_warp_first(ref_ranked &own)
{
    for (int step = 16; step; step >>= 1) {
        const ref_ranked other(own.falling, __shfl_xor_sync(0xffffffffu, own.key, step),
                               __shfl_xor_sync(0xffffffffu, own.place, step));
        if (other.place >= 0 && other.before(own))
            own = other;
    }
}

/* The first of those that the group's lanes have, for every lane. */
REF_SLOW void ref_group_first(int lanes, ref_ranked *own)
{
    ref_warp_first(*own);
    if (lanes == 32)
        return;
    __shared__ double key[REF_THREADS / 32];
    __shared__ long long place[REF_THREADS / 32];
    __syncthreads();
    if ((threadIdx.x & 31) == 0) {
        key[threadIdx.x / 32] = own->key;
        place[threadIdx.x / 32] = own->place;
    }
    __syncthreads();
    own->key = key[threadIdx.x & 7];
    own->place = place[threadIdx.x & 7];
    ref_warp_first(*own);
}
#endif

/* The first behind `last`, in its order, of the elements whose condition holds. Keys are read of
 * all. */
template <class E, class IF, class F>
REF_FN ref_ranked ref_next_if(ref_frame<E> &frame, const ref_ranked &last, long long n,
                              const IF &holds, const F &key)
{
    ref_ranked next(last.falling);
    n = frame.space(n);
    for (long long i = frame.lane; i < n && !frame.lost(); i += frame.lanes) {
        const ref_ranked own(last.falling, key(i).value(0), i);
        if (last.before(own) && own.before(next) && holds(i))
            next = own;
    }
#ifdef __CUDACC__
    ref_group_first(frame.lanes, &next);
#endif
    return next;
}

/* Whether got(i) is an index below n that none of those before it is. */
template <class E, class F>
REF_FN bool ref_fresh(ref_frame<E> &frame, const F &got, long long i, long long n)
{
    const long long own = got(i);
    bool again = own < 0 || own >= n;
    for (long long j = frame.lane; j < i && !again; j += frame.lanes)
        again = got(j) == own;
#ifdef __CUDACC__
    again = frame.lanes == 32 ? __any_sync(0xffffffffu, again) : __syncthreads_or(again);
#endif
    return !again;
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

/* ------------------------------------------------------ the macros of README for these */

/* What stands in them is one lane's. */
#define REF_TERM(...)                                                                              \
    {                                                                                              \
        [[maybe_unused]] const ref_lane_scope ref_scope = {};                                      \
        return (__VA_ARGS__);                                                                      \
    }
#define SUM_IF(j, n, condition, ...)                                                               \
    ref_sum_if(ref_together(REF_FRAME, ref_scope),                                                 \
               n, [&]([[maybe_unused]] long long j) -> bool REF_TERM(condition),                   \
               [&]([[maybe_unused]] long long j) REF_TERM(__VA_ARGS__))
#define MAX_IF(j, n, condition, ...)                                                               \
    ref_max_if(ref_together(REF_FRAME, ref_scope),                                                 \
               n, [&]([[maybe_unused]] long long j) -> bool REF_TERM(condition),                   \
               [&]([[maybe_unused]] long long j) REF_TERM(__VA_ARGS__))
/* `old`, which atomics add terms to: it is part of each sum on the way, so it gets the error of a
 * sum of as many terms as there are j < n whose condition holds. */
#define HELD(old, j, n, condition)                                                                 \
    ([&](real ref_old, real ref_hits) -> real {                                                    \
        [[maybe_unused]] const ref_group_scope ref_scope = {};                                     \
        real ref_share = ref_old / exactly(where(ref_hits > 0, ref_hits, 1));                      \
        return where(ref_hits > 0, SUM_IF(j, n, condition, ref_share), ref_old);                   \
    }(old, SUM_IF(j, n, condition, NUMBER(1))))
#define DOT(l, n, ...) ref_dot(REF_FRAME, n, [&](auto l) REF_TERM(__VA_ARGS__))
#define MIX(most, j, n, weight, c, count, ...)                                                     \
    ref_mix<most>(ref_together(REF_FRAME, ref_scope), n,                                           \
                  count, [&]([[maybe_unused]] long long j) REF_TERM(weight),                       \
                  [&]([[maybe_unused]] long long c, [[maybe_unused]] long long j)                  \
                      REF_TERM(__VA_ARGS__))
#define NEXT_IF(last, j, n, condition, ...)                                                        \
    ref_next_if(ref_together(REF_FRAME, ref_scope), last,                                          \
                n, [&]([[maybe_unused]] long long j) -> bool REF_TERM(condition),                  \
                [&]([[maybe_unused]] long long j) REF_TERM(__VA_ARGS__))
#define FRESH(got, i, n) ref_fresh(ref_together(REF_FRAME, ref_scope), got, i, n)

#endif
