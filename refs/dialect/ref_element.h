/*
 * ref_element.h - judging one element at a time: any dtype, rule and mode, into a ref_verdict in
 * local memory.
 *
 * Bound of an element (RULE_BOUND; RULE_STOCHASTIC: a whole ulp), y unrounded:
 *   1/2 ulp_out(max(|y|, |got|)) + e (1 + 2^-10) + rtol |y| + flush(out)
 * The 2^-10 covers e's own rounding; flush is what a kernel may flush to zero on its way to f32
 * or bf16; half the smallest subnormal is in the ulp, which stops at the smallest normal.
 *
 * An integer output beyond its type's range is right modulo 2^bits or at the end of the range, and
 * else wide.
 *
 * What lies within the first of these terms, its own rounding, is right whatever e is: it is not
 * counted as wide, and has no part in the largest ratio of error and bound.
 */
#ifndef REFS_REF_ELEMENT_H
#define REFS_REF_ELEMENT_H

#include "ref_merge.h"
#include "ref_tensor.h"
#include "ref_value.h"

#define REF_SLACK 1.0009765625

/* Times an ulp: what the hot path allows under RULE_STOCHASTIC. A number of the grid is its own
 * only rounding, so a whole ulp would let its neighbours pass. The ulp is that of the larger
 * number: just above a power of two the first number below it passes too, which only the slow path
 * refuses. */
#define REF_ALMOST 0.99999904632568359375

/* Rules that propagate a bound. */
REF_FN bool ref_rule_bounds(int rule)
{
    return rule == RULE_BOUND || rule == RULE_STOCHASTIC;
}

/* One element on its way through the slow path. */
struct ref_element {
    const ref_tensor *t;
    uint64_t index;
    double y, e, got;
    double size; /* of a sum: ref_total.size; else 0 */
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

/* RULE_STOCHASTIC: before it rounded, a correct kernel had a number within e of y. The distance
 * from y to the next number of the output's format beyond that interval, on got's side. */
REF_FN double ref_neighbour(const ref_element &x)
{
    double reach = x.e * REF_SLACK + ref_dtype_flush(x.t->dtype);
    double far = x.got > x.y ? x.y + reach : x.y - reach;
    if (!ref_dtype_floats(x.t->dtype) || !ref_finite(far))
        return reach;
    double ulp = ref_dtype_ulp(x.t->dtype, far), steps = far * ref_flip(ulp);
    return ref_abs((x.got > x.y ? ceil(steps) : floor(steps)) * ulp - x.y);
}

/* What got's own rounding may be off by: half an ulp under RULE_BOUND, else just below one. */
REF_FN double ref_own_rounding(const ref_element &x)
{
    double most = ref_more(ref_abs(x.y), ref_finite(x.got) ? ref_abs(x.got) : 0.0);
    return (x.t->rule == RULE_BOUND ? 0.5 : REF_ALMOST) * ref_dtype_ulp(x.t->dtype, most);
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
    return ref_own_rounding(x) + x.e * REF_SLACK + t.rtol * ref_abs(x.y) + ref_dtype_flush(t.dtype);
}

/*
 * got is Inf or NaN and y is finite. Still right where |y| plus its error reaches the value from
 * which `dtype` overflows: its largest number plus half an ulp. The f8 formats also saturate or
 * give NaN there: both are in use.
 */
REF_FN bool ref_may_overflow(const ref_element &x, double bound)
{
    int dtype = x.t->dtype, got = ref_class(x.got);
    if (!ref_dtype_floats(dtype) || x.t->rule == RULE_BITWISE || !ref_finite(x.y))
        return false;
    double edge = ref_dtype_max(dtype) + 0.5 * ref_dtype_ulp(dtype, ref_dtype_max(dtype));
    double y = ref_abs(x.y);
    double error =
        x.t->rule == RULE_BOUND ? x.e * REF_SLACK + x.t->rtol * y + ref_dtype_flush(dtype) : bound;
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
    double least = x.t->dtype == DTYPE_BOOL ? 0.5 : ref_dtype_ulp(x.t->dtype, x.y) + x.calm;
    return ref_rule_bounds(x.t->rule) && x.e > 0.1 * ref_more(ref_abs(x.y), x.size) && x.e > least;
}

/* Whether it lies within its own rounding. In f64 y has errors of that size itself. */
REF_FN bool ref_is_near(const ref_element &x, double miss)
{
    return ref_rule_bounds(x.t->rule) && x.t->dtype != DTYPE_F64 && miss <= ref_own_rounding(x);
}

/* y is no value of the output's integer type, or may be none: the ends of 64 bits are no doubles.
 */
REF_SLOW bool ref_is_beyond(const ref_element &x, double bound)
{
    int dtype = x.t->dtype;
    if (!ref_rule_bounds(x.t->rule) || ref_dtype_floats(dtype) || dtype == DTYPE_BOOL)
        return false;
    double high = ref_dtype_largest(dtype), low = ref_dtype_lowest(dtype);
    double slack = high > 0x1p53 ? bound : 0;
    return x.y > high || x.y < low || x.y - high > -slack || (low < 0 && low - x.y > -slack);
}

/*
 * Whether got stands for such a y: arithmetic of integers is modulo 2^bits, and a conversion from a
 * float ends at the end of the range. No other value is wrong either, since C leaves the conversion
 * undefined, and a bound as wide as the type fits each of them.
 */
REF_SLOW bool ref_stands_for(const ref_element &x, double bound)
{
    int dtype = x.t->dtype;
    double size = ref_power2(8 * ref_dtype_bytes(dtype));
    double y = x.y - size * rint((x.y - x.got) / size);
    double end = x.y > 0 ? ref_dtype_largest(dtype) : ref_dtype_lowest(dtype);
    return x.got == end || (bound < 0.25 * size && ref_abs(x.got - y) <= bound);
}

/* Adds the distance of two finite numbers to the statistics, which take part in no decision. */
REF_FN void ref_measure(ref_verdict *cold, const ref_element &x, double rounded, bool near)
{
    double miss = x.got - (x.t->rule == RULE_BITWISE ? rounded : x.y);
    double y = ref_abs(x.y), most = ref_more(y, ref_abs(x.got));
    double ulps = miss * ref_flip(ref_dtype_ulp(x.t->dtype, most));
    if (near || !ref_rule_bounds(x.t->rule) || x.e <= ref_dtype_ulp(x.t->dtype, most) + x.calm) {
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
    bool other = want != got, near = ref_is_near(x, miss), wrong;
    bool right = near && x.t->rule == RULE_BOUND; /* whatever the bound */
    cold->checked++;
    /* NaN has no right integer: conversions give one, but none is the answer. */
    bool lost = x.y != x.y && !ref_dtype_floats(x.t->dtype);
    if (ref_rule_bounds(x.t->rule) && (lost || (ref_finite(x.y) && !ref_finite(x.e) && !right))) {
        cold->wide++;
        return;
    }
    if (ref_is_beyond(x, bound)) {
        cold->wide += !ref_stands_for(x, bound);
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
        wrong = !right && !(miss <= bound);
        ratio = wrong || (miss > 0 && !near) ? miss / bound : 0.0;
    }
    if (want == 0 && got == 0)
        ref_measure(cold, x, rounded, near);
    if (want == 0 || wrong)
        ref_note_worst(cold, x, bound, ratio);
    if (wrong) {
        cold->violations++;
        cold->class_mismatch += other;
        ref_note_first(cold, x, bound);
    } else if (want == 0 && !near && ref_is_wide(x)) {
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
    double y[8], e[8], size[8];
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
        ref_element one = {t,          index + (uint64_t)j * step,    x->y[j], x->e[j], 0,
                           x->size[j], REF_CALM * x->call->underflow, false};
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

#endif
