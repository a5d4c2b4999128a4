/*
 * lift_between.cuh - the comparison of numbers of 8 bits, see lift_ends.c. A part of lift.cu, which
 * has what it uses.
 */
enum { WIDE_STEPS = 4 /* from one end to the other: the bound decides little */ };

/* Numbers are ordered as these are; both zeros are 0. */
static __device__ int rank_of_code(uint32_t code)
{
    const int size = (int)(code & 0x7f);
    return code & 0x80 ? -size : size;
}

/* A NaN on either side. `own` as in judge_class(). */
static __device__ void judge_nan(lift_state *s, const lift_call *call, uint32_t tensor,
                                 uint64_t index, double got, double v, bool known)
{
    if (got != got && v != v)
        return;
    if (!known) {
        s->wide++;
        return;
    }
    s->violations++;
    s->class_mismatch++;
    violate(call, tensor, index, got, v, 0, __int_as_float(0x7f800000));
}

static __device__ void judge_code(lift_state *s, const lift_call *call, uint32_t tensor,
                                  uint64_t index, uint32_t got_code, uint32_t own, uint32_t low,
                                  uint32_t high, uint32_t format)
{
    const double least = widen8(low, format, false), most = widen8(high, format, false);
    const double v = (least + most) / 2, got = widen8(got_code, format, false);
    const int first = rank_of_code(low), last = rank_of_code(high), at = rank_of_code(got_code);
    const int end = format == LIFT_E4M3 ? 0x7e : 0x7b;
    if (call->store) {
        store(s, call, tensor, index, v);
        return;
    }
    s->checked++;
    if (v != v || got != got) {
        const double kernel = widen8(own, format, false);
        judge_nan(s, call, tensor, index, got, v,
                  v != v ? kernel != kernel : first > -end || last < end);
        return;
    }
    const double miss = fabs(got - v), size = fmin(fabs(v), fabs(got));
    const double bound = (most - least) / 2 + half_ulp(size, format);
    const float ratio = (float)(miss / bound);
    s->max_abs = fmaxf(s->max_abs, (float)miss);
    if (v != 0)
        s->max_rel = fmaxf(s->max_rel, (float)(miss / fabs(v)));
    s->max_ratio = fmaxf(s->max_ratio, ratio);
    if (at < first || at > last) {
        s->violations++;
        violate(call, tensor, index, got, v, bound, ratio);
    } else if (at != rank_of_code(own) && last - first >= WIDE_STEPS) {
        s->wide++;
    }
}

/* The `count` bytes of a word, of which the first is element `index`: what was written, what the
 * lifted kernel has, and both ends. */
LIFT_FN void cuvet_lift_between(lift_state *s, const lift_call *call, uint32_t tensor,
                                uint64_t index, uint32_t got, uint32_t own, uint32_t low,
                                uint32_t high, uint32_t format, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        judge_code(s, call, tensor, index + i, got >> 8 * i & 0xff, own >> 8 * i & 0xff,
                   low >> 8 * i & 0xff, high >> 8 * i & 0xff, format);
}
