/*
 * lift_between.cuh - the comparison of rounded numbers, see lift_ends.c. A part of lift.cu, which
 * has what it uses.
 */
enum { WIDE_STEPS = 4 /* from one end to the other */ };

/* A number, and the steps from the lower end to it and to the upper end. */
struct lift_ends {
    double got, least, most;
    uint32_t at, last;
};

/* Numbers of 8 bits are ordered as these are; both zeros are 0. */
static __device__ int rank_of_code(uint32_t code)
{
    const int size = (int)(code & 0x7f);
    return code & 0x80 ? -size : size;
}

static __device__ lift_ends ends_of_codes(uint32_t got, uint32_t low, uint32_t high,
                                          uint32_t format)
{
    const int first = rank_of_code(low);
    return {widen8(got, format, false), widen8(low, format, false), widen8(high, format, false),
            (uint32_t)(rank_of_code(got) - first), (uint32_t)(rank_of_code(high) - first)};
}

/* Integers go round: behind the largest comes the least. */
static __device__ lift_ends ends_of_integers(uint32_t got, uint32_t low, uint32_t high,
                                             uint32_t format, uint32_t bits)
{
    const uint32_t rest = 32 - bits;
    lift_ends out = {};
    out.at = (got - low) << rest >> rest;
    out.last = (high - low) << rest >> rest;
    if (format < LIFT_U8) {
        out.got = (int32_t)(got << rest) >> rest;
        out.least = (int32_t)(low << rest) >> rest;
    } else {
        out.got = got << rest >> rest;
        out.least = low << rest >> rest;
    }
    out.most = out.least + out.last;
    return out;
}

/* A NaN on either side. `known`: the kernel's own number is one, or has a bound. */
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

/* `same`: it is what the lifted kernel has. */
static __device__ void judge_ends(lift_state *s, const lift_call *call, uint32_t tensor,
                                  uint64_t index, const lift_ends *n, bool same, double half)
{
    const double v = (n->least + n->most) / 2, miss = fabs(n->got - v);
    const double bound = (n->most - n->least) / 2 + half;
    const float ratio = (float)(miss / bound);
    s->max_abs = fmaxf(s->max_abs, (float)miss);
    if (v != 0)
        s->max_rel = fmaxf(s->max_rel, (float)(miss / fabs(v)));
    s->max_ratio = fmaxf(s->max_ratio, ratio);
    if (n->at > n->last) {
        s->violations++;
        violate(call, tensor, index, n->got, v, bound, ratio);
    } else if (!same && n->last >= WIDE_STEPS && n->most - n->least > 0.2 * fabs(v)) {
        s->wide++;
    }
}

static __device__ void judge_code(lift_state *s, const lift_call *call, uint32_t tensor,
                                  uint64_t index, uint32_t got, uint32_t own, uint32_t low,
                                  uint32_t high, uint32_t format)
{
    const lift_ends n = ends_of_codes(got, low, high, format);
    const double v = (n.least + n.most) / 2;
    const int end = format == LIFT_E4M3 ? 0x7e : 0x7b;
    if (v != v || n.got != n.got) {
        const double kernel = widen8(own, format, false);
        const bool bounded = rank_of_code(low) > -end || rank_of_code(high) < end;
        judge_nan(s, call, tensor, index, n.got, v,
                  v != v ? kernel != kernel : kernel == kernel && bounded);
        return;
    }
    judge_ends(s, call, tensor, index, &n, rank_of_code(got) == rank_of_code(own),
               half_ulp(fmin(fabs(v), fabs(n.got)), format));
}

/* Whether the lifted kernel's own integer lies outside of its ends: these lost the bits above, or
 * belong to another number. */
static __device__ bool ends_are_lost(uint32_t own, uint32_t low, uint32_t high, uint32_t bits)
{
    const uint32_t rest = 32 - bits;
    return (own - low) << rest >> rest > (high - low) << rest >> rest;
}

/* `count` numbers in a word, of which the first is element `index`: what was written, what the
 * lifted kernel has, and both ends. */
LIFT_FN void cuvet_lift_between(lift_state *s, const lift_call *call, uint32_t tensor,
                                uint64_t index, uint32_t got, uint32_t own, uint32_t low,
                                uint32_t high, uint32_t format, uint32_t count)
{
    const uint32_t bits = format == LIFT_I16 || format == LIFT_U16   ? 16
                          : format == LIFT_I32 || format == LIFT_U32 ? 32
                                                                     : 8;
    const uint32_t mask = ~0u >> (32 - bits);
    for (uint32_t i = 0, shift = 0; i < count; i++, shift += bits) {
        const uint32_t code = got >> shift & mask, mine = own >> shift & mask;
        const uint32_t from = low >> shift & mask, to = high >> shift & mask;
        const bool integer = format > LIFT_E5M2;
        const lift_ends n = integer ? ends_of_integers(code, from, to, format, bits)
                                    : ends_of_codes(code, from, to, format);
        if (call->store) {
            store(s, call, tensor, index + i, (n.least + n.most) / 2);
            continue;
        }
        s->checked++;
        if (integer && ends_are_lost(mine, from, to, bits))
            s->wide++;
        else if (integer)
            judge_ends(s, call, tensor, index + i, &n, code == mine, 0.5);
        else
            judge_code(s, call, tensor, index + i, code, mine, from, to, format);
    }
}
