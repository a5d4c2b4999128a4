/*
 * ref_judge.h - holding an output element against its reference value.
 *
 * The hot path (ref_judge_pack) handles whole packs, and single elements, of the usual float
 * outputs in which every element is finite and within its bound: it only updates ref_hot, in
 * registers, and counts there which bounds were wide. Any other pack, and every other kind of
 * output or mode, is judged again element by element by ref_judge_slowly, which writes to a
 * ref_verdict in local memory. So the worst element is known by its place only where it was judged
 * slowly; its ratio is always known.
 *
 * Bound of an element (RULE_BOUND; RULE_STOCHASTIC: a whole ulp), y unrounded:
 *   1/2 ulp_out(max(|y|, |got|)) + e (1 + 2^-10) + flush(out)
 * The 2^-10 covers e's own rounding; flush is what a kernel may flush to zero on its way to f32
 * or bf16; half the smallest subnormal is in the ulp, which stops at the smallest normal.
 */
#ifndef REFS_REF_JUDGE_H
#define REFS_REF_JUDGE_H

#include "ref_merge.h"
#include "ref_tensor.h"
#include "ref_value.h"

#define REF_SLACK 1.0009765625

/* Times ref_call.underflow: a bound below it comes from flushing to zero and is not called wide,
 * or each exact 0 of a masked row would be inconclusive. */
#define REF_CALM 1024

/* Times an ulp: what the hot path allows under RULE_STOCHASTIC. A number of the grid is its own
 * only rounding, so a whole ulp would let its neighbours pass. The ulp is that of the larger
 * number: just above a power of two the first number below it passes too, which only the slow path
 * refuses. */
#define REF_ALMOST 0.99999904632568359375

/*
 * Where the hot path takes y as a number of f32, before it subtracts: outputs of f16 and bf16. That
 * is off by 2^-24 |y| at most, which the bound gives way for; what is right by less than that is
 * for the slow path. Ties still pass, sums and products of two numbers of these formats being
 * numbers of f32: their e is 2^-24 |y|, and has its slack. Under RULE_BITWISE there is nothing to
 * give: a number of f16 or bf16 that is y in f32 is y rounded.
 */
#define REF_F32_ROUNDOFF 5.9604644775390625e-08

REF_FN constexpr bool ref_coarse(int dtype)
{
    return dtype == DTYPE_F16 || dtype == DTYPE_BF16;
}

/* What the hot path adds up, per thread. Sums are over ulps: E has room for any thread's share. */
template <class E> struct ref_hot {
    E max_abs, sum_square, sum_signed;
    E max_rel, max_ratio; /* good to a thousandth */
    uint32_t checked, refused, wide, unmeasured;
    uint32_t slow; /* packs that were judged slowly; none: the ref_verdict is still to be cleared */
};

/*
 * Uniform facts about one output, worked out once. All rules are one formula on the hot path:
 * bound = own e + half binade + relative |y| + least_bound.
 */
template <class E> struct ref_judge {
    bool plain; /* the hot path may handle it */
    E own, half, relative, least_bound;
    E coarse;  /* relative, where y is taken as a number of f32 */
    E ulp, up; /* an ulp of [1, 2), and one over it */
    E least;   /* the smallest normal value */
    E calm;    /* errors of this size are flushing, not a wide bound */
};

/* Rules that propagate a bound. */
REF_FN bool ref_rule_bounds(int rule)
{
    return rule == RULE_BOUND || rule == RULE_STOCHASTIC;
}

/* D: the one dtype in which a special kernel judges packs, so that it knows the format's numbers as
 * it is compiled; `ready` says whether the output has it. Else DTYPE_NONE. */
template <class E, int D>
REF_FN ref_judge<E> ref_judge_make(const ref_call &call, const ref_tensor &t, bool ready)
{
    ref_judge<E> judge;
    const int dtype = D == DTYPE_NONE ? t.dtype : D;
    int fraction = ref_dtype_fraction(dtype);
    bool close = t.rule == RULE_CLOSE, bound = ref_rule_bounds(t.rule);
    judge.plain = ready && !call.store && !t.accumulates;
    judge.ulp = (E)ref_power2(-fraction);
    judge.up = (E)ref_power2(fraction);
    judge.least = (E)ref_power2(ref_dtype_exponent(dtype));
    judge.own = bound ? (E)REF_SLACK : (E)0;
    judge.half = !bound                      ? (E)0
                 : t.rule == RULE_STOCHASTIC ? judge.ulp * (E)REF_ALMOST
                                             : judge.ulp / 2;
    judge.relative = close ? (E)t.rtol : (E)0;
    judge.coarse = bound || close ? judge.relative - (E)REF_F32_ROUNDOFF : (E)0;
    judge.least_bound = bound ? (E)ref_dtype_flush(dtype) : close ? (E)t.atol : (E)0;
    /* No other rule asks how wide the error is. */
    judge.calm = bound ? (E)(REF_CALM * call.underflow) : (E)ref_infinity();
    return judge;
}

/* With bounds in f64 once in the code. */
REF_SLOW ref_judge<double> ref_judge_make_wide(const ref_call *call, const ref_tensor *t,
                                               bool ready)
{
    return ref_judge_make<double, DTYPE_NONE>(*call, *t, ready);
}

/* For single elements in special kernels, whose format may be another: seldom, and too long to
 * stand beside the rest. */
[[maybe_unused]] REF_SLOW ref_judge<float> ref_judge_make_scalar(const ref_call *call,
                                                                 const ref_tensor *t, bool ready)
{
    return ref_judge_make<float, DTYPE_NONE>(*call, *t, ready);
}

template <class E> REF_FN void ref_hot_clear(ref_hot<E> &hot)
{
    hot.max_abs = hot.max_rel = hot.max_ratio = hot.sum_square = hot.sum_signed = 0;
    hot.checked = hot.refused = hot.wide = hot.unmeasured = hot.slow = 0;
}

/*
 * A thread's call and its figures: a part of its frame, in registers. Figures with bounds in f64
 * stand in local memory, which functions that are calls there add to.
 */
template <class E> struct ref_figures {
    const ref_call &call;
    ref_hot<E> hot;

    REF_FN ref_figures(const ref_call &call_, ref_hot<E> *) : call(call_)
    {
        ref_hot_clear(hot);
    }
};

template <> struct ref_figures<double> {
    const ref_call &call;
    ref_hot<double> &hot;

    REF_FN ref_figures(const ref_call &call_, ref_hot<double> *own) : call(call_), hot(*own)
    {
    }
};

/* ---------------------------------------------------------------- element by element */

/* One element on its way through the slow path. */
struct ref_element {
    const ref_tensor *t;
    uint64_t index;
    double y, e, got;
    double calm;
    bool or_zero; /* y is NaN, and 0 is right as well */
};

REF_FN void ref_note_first(ref_verdict *cold, const ref_element &x, double bound)
{
    if (cold->first_index != REF_NO_INDEX &&
        (cold->first_tensor < x.t->id ||
         (cold->first_tensor == x.t->id && cold->first_index <= x.index)))
        return;
    cold->first_index = x.index;
    cold->first_tensor = x.t->id;
    cold->first_got = x.got;
    cold->first_ref = x.y;
    cold->first_bound = bound;
}

REF_FN void ref_note_worst(ref_verdict *cold, const ref_element &x, double bound, double ratio)
{
    if (cold->worst_index != REF_NO_INDEX && !(ratio > cold->max_ratio))
        return;
    cold->max_ratio = ratio;
    cold->worst_index = x.index;
    cold->worst_tensor = x.t->id;
    cold->worst_got = x.got;
    cold->worst_ref = x.y;
    cold->worst_bound = bound;
}

/* 0 finite, 1 +Inf, 2 -Inf, 3 NaN. */
REF_FN int ref_class(double x)
{
    return x != x ? 3 : ref_finite(x) ? 0 : x > 0 ? 1 : 2;
}

/* RULE_STOCHASTIC: how far the neighbour is, on got's side, of the farthest number that a correct
 * kernel may have had before it rounded. */
REF_FN double ref_neighbour(const ref_element &x)
{
    double reach = x.e * REF_SLACK + ref_dtype_flush(x.t->dtype);
    double far = x.got > x.y ? x.y + reach : x.y - reach;
    if (!ref_dtype_floats(x.t->dtype) || !ref_finite(far))
        return reach;
    double ulp = ref_dtype_ulp(x.t->dtype, far), steps = far * ref_flip(ulp);
    return ref_abs((x.got > x.y ? ceil(steps) : floor(steps)) * ulp - x.y);
}

REF_FN double ref_bound(const ref_element &x)
{
    const ref_tensor &t = *x.t;
    if (t.rule == RULE_BITWISE)
        return 0;
    if (t.rule == RULE_CLOSE)
        return t.atol + t.rtol * ref_abs(x.y);
    if (t.rule == RULE_STOCHASTIC)
        return ref_neighbour(x);
    double most = ref_more(ref_abs(x.y), ref_finite(x.got) ? ref_abs(x.got) : 0.0);
    return 0.5 * ref_dtype_ulp(t.dtype, most) + x.e * REF_SLACK + ref_dtype_flush(t.dtype);
}

/*
 * Classes differ, y finite in fp64: still right where y lies within its error of the value from
 * which `dtype` overflows, half way to the number that it lacks: its rounding crosses no more. The
 * f8 formats also saturate or give NaN there: both are in use.
 */
REF_FN bool ref_may_overflow(const ref_element &x, double bound)
{
    int dtype = x.t->dtype, got = ref_class(x.got);
    if (!ref_dtype_floats(dtype) || x.t->rule == RULE_BITWISE || !ref_finite(x.y))
        return false;
    double edge = ref_dtype_max(dtype) + 0.5 * ref_dtype_ulp(dtype, ref_dtype_max(dtype));
    double y = ref_abs(x.y);
    double error = x.t->rule == RULE_BOUND ? x.e * REF_SLACK + ref_dtype_flush(dtype) : bound;
    if (dtype == DTYPE_F8E4M3 || dtype == DTYPE_F8E5M2) {
        bool saturated = got == 0 && ref_abs(x.got) == ref_dtype_max(dtype) && x.got * x.y > 0;
        if (y + error >= edge && (got == 3 || saturated))
            return true;
    }
    if (got == 0)
        return ref_abs(x.got - x.y) <= bound;
    return got != 3 && (got == 1) == (x.y > 0) && y + error >= edge;
}

REF_FN bool ref_is_wide(const ref_element &x)
{
    return ref_rule_bounds(x.t->rule) && x.e > 0.1 * ref_abs(x.y) &&
           x.e > ref_dtype_ulp(x.t->dtype, x.y) + x.calm;
}

/* Adds the distance of two finite numbers to the statistics, which take part in no decision. */
REF_FN void ref_measure(ref_verdict *cold, const ref_element &x, double rounded)
{
    double miss = x.got - (x.t->rule == RULE_BITWISE ? rounded : x.y);
    double y = ref_abs(x.y), most = ref_more(y, ref_abs(x.got));
    double ulps = miss * ref_flip(ref_dtype_ulp(x.t->dtype, most));
    if (!ref_rule_bounds(x.t->rule) || x.e <= ref_dtype_ulp(x.t->dtype, most) + x.calm) {
        cold->measured++;
        cold->sum_signed += ulps;
        cold->sum_square += ulps * ulps;
    }
    cold->max_abs = ref_more(cold->max_abs, ref_abs(miss));
    if (y > 0)
        cold->max_rel = ref_more(cold->max_rel, ref_abs(miss) / y);
}

REF_SLOW void ref_judge_element(ref_verdict *cold, const ref_element &x)
{
    double rounded = ref_round(x.t->dtype, x.y);
    double bound = ref_bound(x), miss = ref_abs(x.got - x.y), ratio = 0;
    int want = ref_class(rounded), got = ref_class(x.got);
    bool other = want != got, wrong;
    cold->checked++;
    /* NaN has no right integer: conversions give one, but none is the answer. */
    bool lost = x.y != x.y && !ref_dtype_floats(x.t->dtype);
    if (ref_rule_bounds(x.t->rule) && (lost || (ref_finite(x.y) && !ref_finite(x.e)))) {
        cold->wide++;
        return;
    }
    if (other) {
        wrong = !(x.or_zero && x.got == 0) && !ref_may_overflow(x, bound);
        ratio = wrong ? ref_infinity() : 0.0;
    } else if (want != 0) {
        wrong = false;
    } else if (x.t->rule == RULE_BITWISE) {
        wrong = x.got != rounded;
        ratio = wrong ? ref_infinity() : 0.0;
    } else {
        wrong = !(miss <= bound);
        ratio = miss > 0 ? miss / bound : 0.0;
    }
    if (want == 0 && got == 0)
        ref_measure(cold, x, rounded);
    if (want == 0 || wrong)
        ref_note_worst(cold, x, bound, ratio);
    if (wrong) {
        cold->violations++;
        cold->class_mismatch += other;
        ref_note_first(cold, x, bound);
    } else if (want == 0 && ref_is_wide(x)) {
        cold->wide++;
    }
}

/* Row-major index over the tensor's dims. */
REF_SLOW uint64_t ref_linear(const ref_tensor *t, const ref_place *place, int rank)
{
    uint64_t index = 0;
    REF_ROLLED
    for (int k = 0; k < rank; k++)
        index = index * (uint64_t)t->dim[k] + (uint64_t)place->at[k];
    return index;
}

/* Linear indices of neighbours along `axis` differ by this. */
REF_SLOW uint64_t ref_linear_step(const ref_tensor *t, int rank, int axis)
{
    uint64_t step = 1;
    REF_ROLLED
    for (int k = axis < 0 ? rank : axis + 1; k < rank; k++)
        step *= (uint64_t)t->dim[k];
    return step;
}

REF_FN void ref_store_element(const ref_call &call, const ref_tensor &t, uint64_t index, double y)
{
    if (t.id == call.store_tensor && index >= (uint64_t)call.store_first &&
        index - (uint64_t)call.store_first < (uint64_t)call.store_count)
        call.store[index - (uint64_t)call.store_first] = y;
}

/* A pack with its values, for the slow path. */
struct ref_case {
    const ref_call *call;
    const ref_tensor *t;
    ref_verdict *cold;
    ref_place place;
    int rank, axis, count;
    bool masked;
    double terms; /* of the longest sum behind it */
    double y[8], e[8];
};

/* An element of a row that is masked as a whole: the contract in place of the formula's NaN. */
REF_FN void ref_apply_mask(const ref_call &call, ref_element *x)
{
    if (!(x->y != x->y))
        return;
    if (call.masked_rows == MASKED_ZERO)
        x->y = x->e = 0;
    x->or_zero = call.masked_rows == MASKED_ANY;
}

/*
 * What a sum of n terms loses, as a share of S = sum |terms|, where it is added up in steps and all
 * that a step leaves is cut off towards zero: what is lost has one sign on data of one sign, and
 * counts linearly, up to where the chain ends. (The sums of several chains are added up in the
 * accumulator; each chain loses so much of its own terms' sizes.)
 */
REF_FN double ref_chain(const ref_call &call, double n)
{
    double most = (double)call.chain;
    return call.chain_roundoff * (most > 0 && n > most ? most : n);
}

/*
 * The accumulated outputs' own old value, added to the reference's: one more rounding of the whole.
 * Where the reference has a sum, its n terms may have been added to the old value by atomics, one
 * after the other: then the old value is part of each partial sum, as the terms are, and counts in
 * their bound lambda sqrt(n) u S, and in that of a truncating chain, which may have begun with it.
 */
REF_FN void ref_add_before(const ref_case *x, ref_place *place, int j, double *y, double *e)
{
    double before = 0, u = x->call->unit_roundoff;
    if (x->t->in)
        x->cold->refused += (uint64_t)ref_gather(x->t, x->t->in, place, x->rank, -1, 1, 1, &before);
    *y = before + x->y[j];
    *e = x->e[j] + u * ref_abs(*y) + x->call->underflow;
    if (x->terms > 1)
        *e += (x->call->lambda * sqrt(x->terms) * u + ref_chain(*x->call, x->terms)) *
              ref_abs(before);
}

REF_SLOW void ref_judge_slowly(const ref_case *x)
{
    const ref_tensor *t = x->t;
    ref_place place = x->place;
    uint64_t index = ref_linear(t, &place, x->rank), step = ref_linear_step(t, x->rank, x->axis);
    REF_ROLLED
    for (int j = 0; j < x->count; j++) {
        ref_element one = {t, index + (uint64_t)j * step,    x->y[j], x->e[j],
                           0, REF_CALM * x->call->underflow, false};
        if (x->masked)
            ref_apply_mask(*x->call, &one);
        if (t->accumulates)
            ref_add_before(x, &place, j, &one.y, &one.e);
        if (x->call->store) {
            ref_store_element(*x->call, *t, one.index, one.y);
        } else if (t->got) {
            int refused = ref_gather(t, t->got, &place, x->rank, -1, 1, 1, &one.got);
            x->cold->refused += (uint64_t)refused;
            if (!refused)
                ref_judge_element(x->cold, one);
        }
        if (x->axis >= 0)
            place.at[x->axis]++;
    }
}

/* ----------------------------------------------------------------------- the hot path */

/* Elements whose error is both more than an ulp and a good part of the value. */
template <class E, int W>
REF_FN uint32_t ref_count_wide(const ref_judge<E> &judge, const E (&binade)[W],
                               const ref_real<E, W> &y)
{
    uint32_t wide = 0;
    REF_UNROLL
    for (int j = 0; j < W; j++)
        wide += y.e[j] - binade[j] * judge.ulp > judge.calm && y.e[j] > (E)0.1 * ref_abs(y.f[j]);
    return wide;
}

/* The sign bit, on top. */
REF_FN uint32_t ref_sign(float x)
{
    return ref_bits(x);
}

REF_FN uint32_t ref_sign(double x)
{
    return (uint32_t)(ref_bits(x) >> 32);
}

/*
 * The largest ratios, as far as they are known where a pack is judged: on the GPU by the whole
 * block. A pack divides only if one of its elements is over them, and so seldom: reciprocals are
 * dear.
 */
template <class E> struct ref_peaks {
    E rel, ratio;
};

template <class E> REF_FN ref_peaks<E> ref_known_peaks(const ref_hot<E> &hot)
{
    return {hot.max_rel * (E)REF_SLACK, hot.max_ratio * (E)REF_SLACK};
}

template <class E> REF_FN void ref_tell_peaks(const ref_hot<E> &)
{
}

#ifdef __CUDACC__
/* max_rel and max_ratio as bits, which are ordered as the numbers are. */
REF_FN uint32_t *ref_block_peaks()
{
    __shared__ uint32_t peak[2];
    return peak;
}

REF_FN ref_peaks<float> ref_known_peaks(const ref_hot<float> &)
{
    const volatile uint32_t *peak = ref_block_peaks();
    return {ref_from_bits((uint32_t)peak[0]), ref_from_bits((uint32_t)peak[1])};
}

REF_FN void ref_tell_peaks(const ref_hot<float> &hot)
{
    atomicMax(&ref_block_peaks()[0], ref_bits(hot.max_rel * (float)REF_SLACK));
    atomicMax(&ref_block_peaks()[1], ref_bits(hot.max_ratio * (float)REF_SLACK));
}
#endif

/* Before the first pack; all threads of a block. */
template <class E> REF_FN void ref_start_peaks()
{
#ifdef __CUDACC__
    if (sizeof(E) == 4 && threadIdx.x < 2)
        ref_block_peaks()[threadIdx.x] = 0;
    if (sizeof(E) == 4)
        __syncthreads();
#endif
}

template <class E, int W>
REF_FN void ref_raise_peaks(ref_hot<E> &hot, const E (&miss)[W], const E (&bound)[W],
                            const ref_real<E, W> &y)
{
    E rel = hot.max_rel, ratio = hot.max_ratio;
    REF_UNROLL
    for (int j = 0; j < W; j++) { /* 0 / 0 does not count */
        rel = ref_more(rel, miss[j] * ref_rough_inverse(ref_abs(y.f[j])));
        ratio = ref_more(ratio, miss[j] * ref_rough_inverse(bound[j]));
    }
    hot.max_rel = rel;
    hot.max_ratio = ratio;
    ref_tell_peaks(hot);
}

/*
 * What the kernel wrote. A special kernel reads it where the output is named, with no branch
 * between that and the loads of the formula: else it would wait for memory twice, once for those
 * and once more to judge. Others read it when they judge.
 */
struct ref_unread {
    static constexpr bool read = false;
    static constexpr int dtype = DTYPE_NONE;
};

template <class E, int D, int RANK, int AXIS>
constexpr bool ref_reads_early = sizeof(E) == 4 && D != DTYPE_NONE &&AXIS == RANK - 1;

template <class E, int D, int RANK, int AXIS, int W>
REF_FN auto ref_read_early(const ref_tensor &t, const ref_judge<E> &judge, const ref_place &place,
                           int count, long long ahead)
{
    if constexpr (ref_reads_early<E, D, RANK, AXIS>)
        return ref_read_pack<D, RANK, W>(t, t.got, judge.plain & (count == W), place, ahead);
    else
        return ref_unread();
}

/* Its values and shadows; false: it could not be read. */
template <int RANK, int AXIS, class E, int W>
REF_FN bool ref_read_got(const ref_unread &, const ref_tensor &t, const ref_judge<E> &judge,
                         const ref_place &place, double (&v)[W], E (&f)[W])
{
    if (!judge.plain || !ref_within<RANK, AXIS, W>(t, place))
        return false;
    return ref_load<DTYPE_NONE, RANK, AXIS, false>(t, t.got, judge.plain, (E)0, place, W, 0, v,
                                                   f) == 0;
}

template <int RANK, int AXIS, class E, int D, int W>
REF_FN bool ref_read_got(const ref_words<D, W> &read, const ref_tensor &, const ref_judge<E> &,
                         const ref_place &, double (&v)[W], E (&f)[W])
{
    ref_widen(read, f);
    REF_UNROLL
    for (int j = 0; j < W; j++)
        v[j] = f[j];
    return read.ok;
}

/*
 * Judges a pack whose elements are all finite and right; false: nothing was done.
 * Inf or NaN on either side makes ref_flip's answer infinite and so the pack's sum of squares.
 * Under RULE_BITWISE the bound is 0: a number equal to y is y rounded.
 */
template <int RANK, int AXIS, class READ, class E, int W>
REF_FN bool ref_judge_pack(ref_hot<E> &hot, const ref_tensor &t, const ref_judge<E> &judge,
                           const ref_place &place, const READ &read, const ref_real<E, W> &y)
{
    double got[W];
    E shadow[W], binade[W], bound[W], miss[W], square = 0, bias = 0, size = 0;
    E excess = -(E)ref_infinity();
    uint32_t above = 0; /* its sign: a ratio is over the known ones */
    const ref_peaks<E> known = ref_known_peaks(hot);
    const E relative = ref_coarse(READ::dtype) ? judge.coarse : judge.relative;
    bool right = ref_read_got<RANK, AXIS>(read, t, judge, place, got, shadow);
    if (!READ::read && !right)
        return false;
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        E signed_miss = ref_coarse(READ::dtype) ? shadow[j] - (E)y.v[j] : (E)(got[j] - y.v[j]);
        E magnitude = ref_abs(y.f[j]);
        miss[j] = ref_abs(signed_miss);
        binade[j] = ref_binade(ref_more(magnitude, ref_abs(shadow[j])), judge.least);
        /* In this order, so that the half ulp of a tie is not rounded off. */
        bound[j] = binade[j] * judge.half +
                   (y.e[j] * judge.own + (magnitude * relative + judge.least_bound));
        E ulps = signed_miss * ref_flip(binade[j]);
        excess = ref_more(excess, y.e[j] - binade[j] * judge.ulp);
        right = right && miss[j] <= bound[j];
        square += ulps * ulps;
        bias += ulps;
        size = ref_more(size, miss[j]);
        above |= ref_sign(known.rel * magnitude - miss[j]);
        above |= ref_sign(known.ratio * bound[j] - miss[j]);
    }
    square *= judge.up * judge.up;
    if (!right || !ref_finite(square))
        return false;
    hot.checked += W;
    if (excess <= judge.calm) {
        hot.sum_square += square;
        hot.sum_signed += bias * judge.up;
    } else {
        hot.wide += ref_count_wide(judge, binade, y);
        hot.unmeasured += W;
    }
    hot.max_abs = ref_more(hot.max_abs, size);
    if ((int32_t)above < 0)
        ref_raise_peaks(hot, miss, bound, y);
    return true;
}

#endif
