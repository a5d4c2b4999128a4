/*
 * ref_judge.h - holding an output element against its reference value.
 *
 * In three steps, each for what the one before left:
 *   ref_judge_surely  special kernels, packs of f16 or bf16: by their values alone, without errors,
 *                     where every element lies within its own rounding. In a kernel that computes
 *                     in f32, all but one pack in some hundreds do
 *   ref_judge_pack    whole packs, and single elements, of the usual float outputs in which every
 *                     element is finite and within its bound: it only updates ref_hot, in
 *                     registers, and counts there which bounds were wide
 *   ref_judge_slowly  every other kind of output or mode, element by element (ref_element.h), into
 *                     a ref_verdict in local memory
 * So the worst element is known by its place only where it was judged slowly; its ratio is always
 * known.
 */
#ifndef REFS_REF_JUDGE_H
#define REFS_REF_JUDGE_H

#include "ref_element.h"

/*
 * For outputs of f16 and bf16 the hot path rounds y to f32 before it subtracts: an error of at most
 * 2^-24 |y|. The bound is made smaller by that; elements that are right by less are decided by the
 * slow path.
 *
 * Ties still pass: a sum or product of two numbers of these formats is a number of f32, and its e
 * is 2^-24 |y|, with slack. RULE_BITWISE loses nothing: a number of f16 or bf16 that equals y in
 * f32 is y rounded. Nor does a y that is a near(): half an ulp of f16 is 2^-12 |y| at least, and a
 * near() is off by less than 2^-16 |y| (of a line: down to 2^-30 of the terms that cancel in it).
 */
#define REF_F32_ROUNDOFF 5.9604644775390625e-08

enum { REF_BF16_HALF = 0x8000 }; /* half an ulp of bf16, in ulps of f32 */

REF_FN constexpr bool ref_coarse(int dtype)
{
    return dtype == DTYPE_F16 || dtype == DTYPE_BF16;
}

/* What the hot path adds up, per thread. Sums are over ulps: E has room for any thread's share. */
template <class E> struct ref_hot {
    E sum_square, sum_signed;
    E max_abs, max_rel, max_ratio; /* good to a thousandth */
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
    E coarse;      /* relative, where y is taken as a number of f32 */
    E ulp, up;     /* an ulp of [1, 2), and one over it */
    E least;       /* the smallest normal value */
    E calm;        /* errors of this size are flushing, not a wide bound */
    E sure;        /* half, where what is so near is right whatever its error; else negative */
    int32_t ticks; /* the same of bf16, in the units in which f32 counts; sure is not negative */
};

/* D: the one dtype in which a special kernel judges packs, so that the format's numbers are
 * constants; `ready`: the output has that dtype. Else D is DTYPE_NONE. */
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
    judge.sure = close || dtype == DTYPE_F64 ? (E)-1 : judge.half;
    judge.ticks = t.rule == RULE_BOUND ? REF_BF16_HALF : bound ? 2 * REF_BF16_HALF - 2 : 0;
    judge.relative = close || t.rule == RULE_BOUND ? (E)t.rtol : (E)0;
    judge.coarse = bound || close ? judge.relative - (E)REF_F32_ROUNDOFF : (E)0;
    judge.least_bound = bound ? (E)ref_dtype_flush(dtype) : close ? (E)t.atol : (E)0;
    /* Wide errors are counted only under rules with an error bound. */
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

/* Elements whose error is both more than an ulp and a good part of the value, but for those within
 * their own rounding. */
template <class E, int W>
REF_FN uint32_t ref_count_wide(const ref_judge<E> &judge, const E (&binade)[W], const E (&own)[W],
                               const E (&miss)[W], const ref_total<E, W> &y)
{
    uint32_t wide = 0;
    REF_UNROLL
    for (int j = 0; j < W; j++)
        wide += y.e[j] - binade[j] * judge.ulp > judge.calm &&
                y.e[j] > (E)0.1 * ref_more(ref_abs(y.f[j]), y.size[j]) && miss[j] > own[j];
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
 * The largest errors and ratios, as far as they are known where a pack is judged: on the GPU by the
 * whole block. A pack divides only if one of its elements is over them, and so seldom: reciprocals
 * are slow.
 */
enum { REF_PEAKS = 3 };

template <class E> struct ref_peaks {
    E rel, ratio, abs;
};

template <class E> REF_FN ref_peaks<E> ref_known_peaks(const ref_hot<E> &hot)
{
    return {hot.max_rel * (E)REF_SLACK, hot.max_ratio * (E)REF_SLACK, hot.max_abs};
}

template <class E> REF_FN void ref_tell_peaks(const ref_hot<E> &)
{
}

#ifdef __CUDACC__
/* max_rel, max_ratio and max_abs as bits, which are ordered as the numbers are. */
REF_FN uint32_t *ref_block_peaks()
{
    __shared__ uint32_t peak[REF_PEAKS];
    return peak;
}

REF_FN ref_peaks<float> ref_known_peaks(const ref_hot<float> &)
{
    const volatile uint32_t *peak = ref_block_peaks();
    return {ref_from_bits((uint32_t)peak[0]), ref_from_bits((uint32_t)peak[1]),
            ref_from_bits((uint32_t)peak[2])};
}

REF_FN void ref_tell_peaks(const ref_hot<float> &hot)
{
    atomicMax(&ref_block_peaks()[0], ref_bits(hot.max_rel * (float)REF_SLACK));
    atomicMax(&ref_block_peaks()[1], ref_bits(hot.max_ratio * (float)REF_SLACK));
    atomicMax(&ref_block_peaks()[2], ref_bits(hot.max_abs * (float)REF_SLACK));
}
#endif

/* Before the first pack; all threads of a block. */
template <class E> REF_FN void ref_start_peaks()
{
#ifdef __CUDACC__
    if (sizeof(E) == 4 && threadIdx.x < REF_PEAKS)
        ref_block_peaks()[threadIdx.x] = 0;
    if (sizeof(E) == 4)
        __syncthreads();
#endif
}

template <class E, int W>
REF_FN void ref_raise_peaks(ref_hot<E> &hot, const E (&miss)[W], const E (&own)[W],
                            const E (&bound)[W], const ref_real<E, W> &y)
{
    E rel = hot.max_rel, ratio = hot.max_ratio;
    REF_UNROLL
    for (int j = 0; j < W; j++) { /* 0 / 0 does not count */
        rel = ref_more(rel, miss[j] * ref_rough_inverse(ref_abs(y.f[j])));
        E share = miss[j] * ref_rough_inverse(bound[j]);
        ratio = ref_more(ratio, miss[j] > own[j] ? share : (E)0);
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

/* Of a pack with an error over the largest ones so far (ref_known_peaks). */
template <class E, int W>
REF_FN void ref_raise_errors(ref_hot<E> &hot, const E (&got)[W], const E (&y)[W])
{
    E rel = hot.max_rel, size = hot.max_abs;
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        E value = y[j], miss = ref_abs(got[j] - value);
        rel = ref_more(rel, miss * ref_rough_inverse(ref_abs(value)));
        size = ref_more(size, miss);
    }
    hot.max_rel = rel;
    hot.max_abs = size;
    ref_tell_peaks(hot);
}

/*
 * A pack that is surely right. Its largest errors are at most half an ulp, as those of any other
 * such pack, so only its first element is compared with the largest errors so far.
 */
template <class E, int D, int W>
REF_FN void ref_count_sure(ref_hot<E> &hot, const ref_words<D, W> &read, const E (&y)[W])
{
    E got[W];
    ref_widen(read, got);
    const ref_peaks<E> known = ref_known_peaks(hot);
    E value = y[0], miss = ref_abs(got[0] - value);
    hot.checked += W;
    if ((miss > known.abs) | (miss > known.rel * ref_abs(value))) /* one branch */
        ref_raise_errors(hot, got, y);
}

/*
 * Whether each number of a pack lies within its own rounding of y, a near() (ref_value.h): then it
 * is within the bound, and the figures that are added up here are all that is needed of it. False:
 * nothing was done.
 *
 * An ulp is got's: where y is the larger number, across a power of two, that is the smaller one,
 * and the result may be false for a pack that is right.
 */
template <class E, int D, int W>
REF_FN bool ref_judge_surely(ref_hot<E> &hot, const ref_judge<E> &judge,
                             const ref_words<D, W> &read, const E (&y)[W])
{
    E got[W], square = 0, bias = 0, most = 0;
    ref_widen(read, got);
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        E miss = got[j] - y[j];
        E ulps = miss * ref_flip(ref_binade(got[j], judge.least));
        square += ulps * ulps;
        bias += ulps;
        most = ref_more(most, ref_abs(ulps));
    }
    /* Inf and NaN make the sum of squares so, as in ref_judge_pack. */
    if (!(read.ok & (most <= judge.sure) & ref_finite(square)))
        return false;
    hot.sum_square += square * (judge.up * judge.up);
    hot.sum_signed += bias * judge.up;
    ref_count_sure(hot, read, y);
    return true;
}

/* As a number of f32. */
template <int W> REF_FN uint32_t ref_bf16_bits(const ref_words<DTYPE_BF16, W> &read, int j)
{
    return j % 2 ? read.word[j / 2] & 0xffff0000u : read.word[j / 2] << 16;
}

/* The distances of a pack's numbers from their values, in ticks. */
struct ref_distances {
    int32_t high, low, sum;
    uint64_t square;
};

template <int W>
REF_FN ref_distances ref_measure_ticks(const ref_words<DTYPE_BF16, W> &read, const float (&y)[W])
{
    int32_t apart[W];
    uint32_t sum = 0;
    uint64_t square[2] = {0, 0}; /* two chains of additions wait half as long as one */
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        apart[j] = (int32_t)(ref_bits(y[j]) - ref_bf16_bits(read, j));
        sum += (uint32_t)apart[j];
        square[j % 2] += (uint64_t)((int64_t)apart[j] * apart[j]);
    }
    ref_distances d = {apart[0], apart[0], (int32_t)sum, square[0] + square[1]};
    REF_UNROLL
    for (int j = 1; j < W; j++) {
        d.high = apart[j] > d.high ? apart[j] : d.high;
        d.low = apart[j] < d.low ? apart[j] : d.low;
    }
    return d;
}

/*
 * Corrects the distances of bit patterns for signs, in a pack in which all distances are short.
 * Those of negative numbers are distances of magnitudes: their signs are turned. False: there may
 * be a y that is not finite, such as a NaN, next to a -0 that was read, or -NaN, next to a 0. This
 * is found by the largest pattern of a y where nothing negative was read, else by the sum of all y.
 */
template <int W>
REF_FN bool ref_heed_signs(ref_distances *d, const ref_words<DTYPE_BF16, W> &read,
                           const float (&y)[W])
{
    uint32_t got = 0, most = 0;
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        got |= read.word[j / 2] & 0x80008000u;
        most = ref_bits(y[j]) > most ? ref_bits(y[j]) : most;
    }
    if (got == 0)
        return most < 0x7f800000u;
    int32_t negative = 0;
    float all[2] = {0, 0};
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        uint32_t apart = ref_bits(y[j]) - ref_bf16_bits(read, j);
        negative += (int32_t)(apart & ref_signs(read.word[j / 2], j % 2));
        all[j % 2] += y[j];
    }
    d->sum -= 2 * negative;
    return ref_finite(all[0] + all[1]);
}

/*
 * The same of bf16, whose numbers are the upper halves of numbers of f32. Bit patterns of one sign
 * are ordered as the numbers are, and so the distance of two is counted in ticks of f32: 2^16 to an
 * ulp of bf16, y's; across a power of two, where ticks have two sizes, it is counted as more than
 * it is. Numbers of two signs are too far apart, zeros too. A y that is not finite decides nothing,
 * since in f32 a step on its way may have overflowed.
 */
template <class E, int W>
REF_FN bool ref_judge_surely(ref_hot<E> &hot, const ref_judge<E> &judge,
                             const ref_words<DTYPE_BF16, W> &read, const E (&y)[W])
{
    ref_distances d = ref_measure_ticks(read, y);
    if (!(read.ok & (judge.sure >= 0) & (d.high <= judge.ticks) & (d.low >= -judge.ticks)))
        return false;
    if (!ref_heed_signs(&d, read, y))
        return false;
    hot.sum_square += (E)(uint32_t)(d.square >> 10) * (E)0x1p-22;
    hot.sum_signed -= (E)d.sum * (E)0x1p-16;
    ref_count_sure(hot, read, y);
    return true;
}

/*
 * Judges a pack whose elements are all finite and right; false: nothing was done.
 * Inf or NaN on either side makes ref_flip's answer infinite and so the pack's sum of squares.
 * Under RULE_BITWISE the bound is 0: a number equal to y is y rounded.
 */
template <int RANK, int AXIS, class READ, class E, int W>
REF_FN bool ref_judge_pack(ref_hot<E> &hot, const ref_tensor &t, const ref_judge<E> &judge,
                           const ref_place &place, const READ &read, const ref_total<E, W> &y)
{
    double got[W];
    E shadow[W], binade[W], own[W], bound[W], miss[W], square = 0, bias = 0, size = 0;
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
        E rounding = binade[j] * judge.half;
        own[j] = sizeof(E) == 8 ? binade[j] * judge.sure : rounding; /* of f32 they are the same */
        bound[j] = rounding + (y.e[j] * judge.own + (magnitude * relative + judge.least_bound));
        E ulps = signed_miss * ref_flip(binade[j]);
        excess = ref_more(excess, y.e[j] - binade[j] * judge.ulp);
        right = right && miss[j] <= bound[j];
        square += ulps * ulps;
        bias += ulps;
        size = ref_more(size, miss[j]);
        above |= ref_sign(known.rel * magnitude - miss[j]);
        above |= ref_sign(ref_more(known.ratio * bound[j], own[j]) - miss[j]);
    }
    square *= judge.up * judge.up;
    if (!right || !ref_finite(square))
        return false;
    hot.checked += W;
    if (excess <= judge.calm) {
        hot.sum_square += square;
        hot.sum_signed += bias * judge.up;
    } else {
        hot.wide += ref_count_wide(judge, binade, own, miss, y);
        hot.unmeasured += W;
    }
    hot.max_abs = ref_more(hot.max_abs, size);
    if ((int32_t)above < 0)
        ref_raise_peaks(hot, miss, own, bound, y);
    return true;
}

#endif
