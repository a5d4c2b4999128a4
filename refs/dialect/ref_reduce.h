/* ref_reduce.h - sums, maxima and products over a group of lanes or in one lane. */
#ifndef REFS_REF_REDUCE_H
#define REFS_REF_REDUCE_H

#include "ref_frame.h"

enum {
    REF_MOST_NEAR = 16384, /* terms of a near sum: it is off by less than 2^-18 of itself */
};

/* Loops over packs go on while there are more *and* not too much was refused, as one condition:
 * with a second exit the compiler would not take out of the loop what stays the same in it. */

#ifdef __CUDACC__
/* The group's total of a and of b, for every lane. */
template <class E> REF_FN void ref_group_add(int lanes, double &v, E &a, E &b)
{
    ref_warp_add(v, a, b);
    if (lanes == 32)
        return;
    __shared__ double part[3][REF_THREADS / 32];
    __syncthreads();
    if ((threadIdx.x & 31) == 0) {
        part[0][threadIdx.x / 32] = v;
        part[1][threadIdx.x / 32] = (double)a;
        part[2][threadIdx.x / 32] = (double)b;
    }
    __syncthreads();
    double x = part[0][threadIdx.x & 7], y = part[1][threadIdx.x & 7], z = part[2][threadIdx.x & 7];
    for (int step = 4; step; step >>= 1) {
        x += __shfl_xor_sync(0xffffffffu, x, step);
        y += __shfl_xor_sync(0xffffffffu, y, step);
        z += __shfl_xor_sync(0xffffffffu, z, step);
    }
    v = x;
    a = (E)y;
    b = (E)z;
}

/* With bounds in f64 once in the code, as all that is long there. */
REF_SLOW void ref_group_add_slowly(int lanes, double *v, double *a, double *b)
{
    ref_group_add(lanes, *v, *a, *b);
}

template <class E> REF_FN void ref_group_total(int lanes, double &v, E &a, E &b)
{
    if constexpr (sizeof(E) == 8) {
        double x = v, y = a, z = b;
        ref_group_add_slowly(lanes, &x, &y, &z);
        v = x;
        a = y;
        b = z;
    } else {
        ref_group_add(lanes, v, a, b);
    }
}

/* The group's maxima; v may be NaN in one lane and is then NaN for all. */
template <class E> REF_FN void ref_group_max(int lanes, double &v, E &e)
{
    bool nan = v != v;
    double x = v, y = (double)e;
    ref_warp_max(x, y);
    nan = __any_sync(0xffffffffu, nan);
    if (lanes != 32) {
        __shared__ double part[2][REF_THREADS / 32];
        nan = __syncthreads_or(nan);
        if ((threadIdx.x & 31) == 0) {
            part[0][threadIdx.x / 32] = x;
            part[1][threadIdx.x / 32] = y;
        }
        __syncthreads();
        x = part[0][threadIdx.x & 7];
        y = part[1][threadIdx.x & 7];
        ref_warp_max(x, y);
    }
    v = nan ? ref_nan() : x;
    e = (E)y;
}

/* The group's product, for every lane. */
REF_SLOW double ref_group_multiply(int lanes, double v)
{
    REF_ROLLED
    for (int step = 16; step; step >>= 1)
        v *= __shfl_xor_sync(0xffffffffu, v, step);
    if (lanes == 32)
        return v;
    __shared__ double part[REF_THREADS / 32];
    __syncthreads();
    if ((threadIdx.x & 31) == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[threadIdx.x & 7];
    for (int step = 4; step; step >>= 1)
        v *= __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}
#endif

/* What a shared sum takes a term of type A as: a pack. Loaded values stay such, for their errors
 * are a share of their sizes, and need not be added up. */
template <class A, class E, int W> struct ref_term {
    typedef ref_real<E, W> type;
};
template <class E, int W> struct ref_term<ref_exact<E, W>, E, W> {
    typedef ref_exact<E, W> type;
};
template <class E, int W> struct ref_term<ref_narrow<E, W>, E, W> {
    typedef ref_narrow<E, W> type;
};
template <class E, int W> struct ref_term<ref_loaded_product<E, W>, E, W> {
    typedef ref_loaded_product<E, W> type;
};

/*
 * What a sum of products x y loses where tensor cores take x and y as tf32, rho being 2^-10. Two
 * kinds of kernels are known exactly: those that cut all inputs off, as the hardware does, and
 * those that round them before. One that treats x otherwise than y, or not at all, is off by rho
 * |sum| for what all terms lose alike, and by what is random, 0.6 rho times the root of the sum of
 * (x y)^2 at a usual element: 4 rho are allowed. Altogether no more than 2 rho S.
 */
template <class E> struct ref_cuts {
    E cut, rounded, square;

    template <class A> REF_FN void add(const A &x, int count)
    {
        if constexpr (ref_is_loaded<A>::value) {
            if (x.k.rho != (E)REF_TF32)
                return;
            REF_UNROLL
            for (int j = 0; j < A::width; j++) {
                if (j < count) {
                    cut += x.cut[j];
                    rounded += x.rounded[j];
                    square += x.f[j] * x.f[j];
                }
            }
        }
    }
    /* The error of a sum of all lanes, of which `e` has 2 rho S for this. */
    REF_FN E error(int lanes, double v, E size, E e, E rho)
    {
#ifdef __CUDACC__
        double sum = (double)cut;
        ref_group_total(lanes, sum, rounded, square);
        cut = (E)sum;
#endif
        (void)lanes;
        const E most = 2 * rho * size;
        E own = ref_abs(cut) + ref_abs(rounded) + rho * ((E)ref_abs(v) + 4 * (E)sqrt(square));
        return own < most ? ref_more(e - most, (E)0) + own : e;
    }
};

/* A pack of a sum's terms; of powers of e those that are quicker, and useless where they are not
 * finite. */
template <class P, class A> REF_FN P ref_terms(const A &a)
{
    if constexpr (ref_powers<A>::are) {
        P x;
        x.k = a.rules();
        REF_UNROLL
        for (int j = 0; j < P::width; j++)
            x.set(j, ref_exp_function::term(a.a.lane(j), x.k));
        return x;
    } else {
        return P(a);
    }
}

/* A whole pack by halves, so that no long chain of additions forms. */
template <class A, class E = typename A::element> REF_FN ref_sums<E> ref_add_pack(const A &x)
{
    constexpr int W = A::width;
    double v[W];
    E size[W], e[W];
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        v[j] = x.value(j);
        size[j] = ref_abs(x.shadow(j));
        e[j] = A::kind == REF_EXACT ? (E)0 : x.error(j);
    }
    REF_UNROLL
    for (int half = W / 2; half > 0; half /= 2) {
        REF_UNROLL
        for (int j = 0; j < half; j++) {
            v[j] += v[j + half];
            size[j] += size[j + half];
            if (A::kind != REF_EXACT)
                e[j] += e[j + half];
        }
    }
    return {v[0], size[0], e[0]};
}

/* Additions in f32 on the longest way to a near sum, of which the lanes take `turn` terms in turn:
 * in a pack, of two packs, from turn to turn, and of what is left. A group's lanes are added in
 * f64. */
REF_FN int ref_longest_sum(long long n, int turn)
{
    return 3 + 1 + (int)(n / turn) / 2 + 1;
}

/* The near() numbers of a whole pack, by halves. */
template <class A, class E = typename A::element> REF_FN E ref_add_near(const A &x)
{
    constexpr int W = A::width;
    E v[W];
    REF_UNROLL
    for (int j = 0; j < W; j++)
        v[j] = x.near(j);
    REF_UNROLL
    for (int half = W / 2; half > 0; half /= 2) {
        REF_UNROLL
        for (int j = 0; j < half; j++)
            v[j] += v[j + half];
    }
    return v[0];
}

template <class A, class E = typename A::element>
REF_FN ref_sums<E> ref_add_part(const A &x, int count)
{
    ref_sums<E> part = {0, 0, 0};
    REF_UNROLL
    for (int j = 0; j < A::width; j++) {
        if (j < count) {
            part.v += x.value(j);
            part.size += ref_abs(x.shadow(j));
            part.e += A::kind == REF_EXACT ? (E)0 : x.error(j);
        }
    }
    return part;
}

/*
 * What adding up n terms may be off by, as a share of S = sum |f|: lambda sqrt(depth) u (Higham and
 * Mary 2019: a failure of probability 2 exp(-lambda^2 / 2) an element at worst), the depth being n
 * in any order and less where lanes share the sum (ref_depth.h); and what truncating chains lose,
 * which REF_WIDE alone computes.
 */
template <class E> REF_FN E ref_frame<E>::sum_share(double n, double depth) const
{
    E share = sum_unit * (E)sqrt(depth);
    if constexpr (sizeof(E) == 8)
        share += ref_chain(call, n);
    return share;
}

/*
 * The sum of powers of e as a kernel in f32 may have it. False, and nothing done, where that would
 * be too coarse: of too many terms, or with too little error allowed. Also for rows that are no
 * whole packs: their rest goes to the second round anyway. Other sums are as quick in f64.
 *
 * What its terms are off by, being near(), is part of the sum's error e = share S + sum of theirs.
 * What it is off by itself, 2^-24 S for each addition on the longest way to it, is taken from e,
 * and the terms' part left out. So the number and its error lie within those of the sum in f64, and
 * what is right by the one is right by the other.
 */
template <class E>
template <class F>
REF_FN bool ref_frame<E>::near_sum(long long n, const F &term, ref_real<E, 1> &y)
{
    constexpr int W = ref_packs<E>::width;
    const E share = sum_share((double)n, (double)ref_depth(n, steps));
    const E left = share - (E)ref_longest_sum(n, lanes * W) * (E)REF_F32_ROUNDOFF;
    if ((n % W != 0) | (n > REF_MOST_NEAR) | !(left > share / 2))
        return false;
    E v = 0;
    ref_packs<E> it = packs(n);
    note_terms(n);
    for (; (it.at.i + it.step < n) & !lost(); it.next()) {
        const auto first = it.at;
        it.next();
        v += ref_add_near(term(first, ref_lane_scope())) +
             ref_add_near(term(it.at, ref_lane_scope()));
    }
    if (it.more() & !lost())
        v += ref_add_near(term(it.at, ref_lane_scope()));
    cached = rounds.near = true;
    double total = v;
#ifdef __CUDACC__
    E none = 0;
    ref_group_add(lanes, total, none, none);
#endif
    y.k = k;
    y.v[0] = total;
    y.f[0] = (E)total;
    y.e[0] = left * (E)total;
    return true;
}

/* A sum in any order: the terms' own errors, and those of adding them. */
template <class E>
template <class F>
REF_FN ref_total<E, 1> ref_frame<E>::sum(ref_group_scope, long long n, const F &term)
{
    typedef decltype(term(packs(n).at, ref_lane_scope())) term_type;
    typedef typename ref_term<term_type, E, ref_packs<E>::width>::type pack;
    constexpr bool powers = ref_powers<term_type>::are;
    if constexpr (powers) {
        ref_total<E, 1> y(ref_real<E, 1>(0.0));
        if (rounds.wanted && near_sum(n, term, y))
            return y;
    }
    double v = 0;
    E size = 0, e = 0;
    ref_cuts<E> cuts = {0, 0, 0};
    ref_packs<E> it = packs(n);
    note_terms(n);
    /* Two packs at a time: both loads are under way before either is waited for. With bounds in f64
     * loads are calls, and the loop would only be longer. */
    for (; sizeof(E) == 4 && (it.at.i + it.step <= n - it.width) & !lost(); it.next()) {
        const auto first = it.at;
        it.next();
        const pack x = ref_terms<pack>(term(first, ref_lane_scope()));
        const pack y = ref_terms<pack>(term(it.at, ref_lane_scope()));
        ref_sums<E> one = ref_add_pack(x), two = ref_add_pack(y);
        cuts.add(x, it.width);
        cuts.add(y, it.width);
        v += one.v + two.v;
        if (!powers)
            size += one.size + two.size;
        e += one.e + two.e;
    }
    if (powers) {
        size = (E)v;
        if (!ref_finite(e)) { /* all packs again, by the loop below */
            it = packs(n);
            v = size = e = 0;
        }
    }
    for (; it.more() & !lost(); it.next()) {
        const pack x(term(it.at, ref_lane_scope()));
        ref_sums<E> part = ref_add_part(x, it.at.count);
        cuts.add(x, it.at.count);
        v += part.v;
        size += part.size;
        e += part.e;
    }
    cached = true;
    if (pack::kind == REF_EXACT)
        e = k.rho * size;
#ifdef __CUDACC__
    ref_group_total(lanes, v, size, e);
#endif
    if constexpr (ref_is_loaded<pack>::value)
        if (k.rho == (E)REF_TF32)
            e = cuts.error(lanes, v, size, e, k.rho);
    return summed({v, size, e}, (double)n, (double)ref_depth(n, steps));
}

/* ref_total.size of n terms whose magnitudes add up to `sum`. */
template <class E> REF_FN E ref_random_size(E sum, double n)
{
    return sum * ref_rough_inverse((E)sqrt(n > 1 ? n : 1.0));
}

/* The sum of n terms. */
template <class E>
REF_FN ref_total<E, 1> ref_frame<E>::summed(const ref_sums<E> &s, double n, double depth) const
{
    ref_total<E, 1> y;
    y.k = k;
    y.v[0] = s.v;
    y.f[0] = ref_shadow((E)s.v, k);
    y.e[0] = s.e + sum_share(n, depth) * ref_shadow(s.size, k);
    y.size[0] = ref_random_size(ref_shadow(s.size, k), n);
    return y;
}

/* The largest term, NaN if one is NaN, -Inf of none. */
template <class E>
template <class F>
REF_FN ref_real<E, 1> ref_frame<E>::most(ref_group_scope, long long n, const F &term)
{
    typedef decltype(term(packs(n).at, ref_lane_scope())) term_type;
    typedef typename ref_term<term_type, E, ref_packs<E>::width>::type pack;
    double v = -ref_infinity();
    E e = 0;
    bool nan = false;
    ref_packs<E> it = packs(n);
    /* Two packs at a time, as in a sum. */
    for (; sizeof(E) == 4 && (it.at.i + it.step <= n - it.width) & !lost(); it.next()) {
        const auto first = it.at;
        it.next();
        const pack x(term(first, ref_lane_scope())), y(term(it.at, ref_lane_scope()));
        if (!ref_raise_packs(x, y, v, e)) {
            ref_raise_all(x, it.width, v, e, nan);
            ref_raise_all(y, it.width, v, e, nan);
        }
    }
    for (; it.more() & !lost(); it.next())
        ref_raise_all(pack(term(it.at, ref_lane_scope())), it.at.count, v, e, nan);
    cached = true;
    return largest(nan ? ref_nan() : v, e);
}

/* Of what each lane found. */
template <class E> REF_FN ref_real<E, 1> ref_frame<E>::largest(double v, E e) const
{
#ifdef __CUDACC__
    ref_group_max(lanes, v, e);
#endif
    ref_real<E, 1> y;
    y.k = k;
    y.v[0] = v;
    y.f[0] = (E)v;
    y.e[0] = e;
    return y;
}

/*
 * A product in any order: the factors' relative errors, and lambda sqrt(n) u for multiplying. The
 * largest and the smallest partial product that some order meets are those of the factors over and
 * under 1. If the first overflows, the bound is infinite; if the second is flushed, the whole
 * product may be 0.
 */
template <class E>
template <class F>
REF_FN ref_real<E, 1> ref_frame<E>::product(ref_group_scope, long long n, const F &term)
{
    double v = 1, most = 1, least = 1, relative = 0;
    for (ref_packs<E> it = packs(n); it.more() & !lost(); it.next()) {
        ref_real<E, ref_packs<E>::width> x = term(it.at, ref_lane_scope());
        for (int j = 0; j < it.at.count; j++) {
            double size = ref_abs(x.v[j]);
            v *= x.v[j];
            most *= size > 1 ? size : 1.0;
            least *= size < 1 ? size : 1.0;
            relative += x.e[j] > 0 ? (double)x.e[j] / size : 0.0;
        }
    }
#ifdef __CUDACC__
    double none = 0;
    v = ref_group_multiply(lanes, v);
    most = ref_group_multiply(lanes, most);
    least = ref_group_multiply(lanes, least);
    ref_group_add_slowly(lanes, &relative, &none, &none);
#endif
    relative += (double)sum_unit * sqrt((double)n);
    if (least < (double)k.tiny)
        relative += 1;
    ref_real<E, 1> y;
    y.k = k;
    y.v[0] = v;
    y.f[0] = ref_shadow((E)v, k);
    y.e[0] = (E)(ref_abs(v) * relative) + k.tiny;
    if (!ref_finite(ref_shadow((E)most, k)))
        y.e[0] = (E)ref_infinity();
    return y;
}

/* Each lane for itself, over scalar indices; as wide as the term. */
template <class E>
template <class F>
REF_FN auto ref_frame<E>::sum(ref_lane_scope, long long n, const F &term)
{
    typedef ref_same<decltype(term(0ll, ref_lane_scope()))> R;
    ref_total<E, R::width> y(R(0.0));
    E size[R::width] = {};
    y.k = k;
    n = space(n);
    note_terms(n);
    for (long long i = 0; i < n && !lost(); i++) {
        R x(term(i, ref_lane_scope()));
        REF_UNROLL
        for (int j = 0; j < R::width; j++) {
            y.v[j] += x.v[j];
            y.e[j] += x.e[j];
            size[j] += ref_abs(x.f[j]);
        }
    }
    const E share = sum_share((double)n, (double)n);
    REF_UNROLL
    for (int j = 0; j < R::width; j++) {
        y.f[j] = ref_shadow((E)y.v[j], k);
        y.e[j] += share * ref_shadow(size[j], k);
        y.size[j] = ref_random_size(ref_shadow(size[j], k), (double)n);
    }
    return y;
}

template <class E>
template <class F>
REF_FN auto ref_frame<E>::most(ref_lane_scope, long long n, const F &term)
{
    typedef ref_same<decltype(term(0ll, ref_lane_scope()))> R;
    R y(-ref_infinity());
    y.k = k;
    REF_UNROLL
    for (int j = 0; j < R::width; j++)
        y.e[j] = 0;
    n = space(n);
    for (long long i = 0; i < n && !lost(); i++)
        y = max(y, R(term(i, ref_lane_scope())));
    return y;
}

#endif
