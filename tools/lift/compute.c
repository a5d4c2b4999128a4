/* compute.c - arithmetic: the algebra's result beside the kernel's. */
#include "tools/lift/parts.h"

/* Sources of all parts and lanes, read before the op writes over one of them. */
struct inputs {
    struct value of[2][LANES][3];
};

static double integer_of(const struct plan *plan, const struct warp *w, const struct op *op,
                         unsigned lane)
{
    const unsigned width = plan->width[0], bits = ptx_type_bits(op->instruction->types[1]);
    uint64_t raw = register_raw(at(w, op->s[0]), width, lane, 0, width);
    const unsigned up = 64 - (bits ? bits : 64);
    if (plan->flags & PLAN_SIGNED)
        return (double)((int64_t)(raw << up) >> up);
    return (double)(raw << up >> up);
}

static void read_int(struct shadow *shadow, const struct warp *w, const struct op *op,
                     const struct plan *plan, struct inputs *in)
{
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        const unsigned lane = first_lane(rest);
        struct value value = {.got = integer_of(plan, w, op, lane)};
        shadow->algebra->fresh(&value);
        in->of[0][lane][0] = value;
    }
}

/* Where source `i` of part `part` lies: with PLAN_PAIR the first source is the upper part. */
static void read_sources(struct shadow *shadow, const struct warp *w, const struct op *op,
                         const struct plan *plan, struct inputs *in)
{
    const unsigned bytes = format_bytes(plan->from);
    const bool pair = plan->flags & PLAN_PAIR;
    for (unsigned part = 0; part < plan->parts; part++)
        for (unsigned i = 0; i < (pair ? 1 : plan->sources) && i < 3; i++) {
            const unsigned from = pair ? plan->parts - 1 - part : i;
            for (uint32_t rest = w->active; rest; rest &= rest - 1)
                shadow_read(shadow, w, op->s[from], plan->width[from], pair ? 0 : part * bytes,
                            plan->from, first_lane(rest), &in->of[part][first_lane(rest)][i]);
        }
}

enum step watch_calc(struct shadow *shadow, struct warp *w, const struct op *op,
                     const struct plan *plan)
{
    struct inputs in;
    const unsigned bytes = format_bytes(plan->to);
    const uint32_t active = w->active;
    const unsigned count = plan->flags & PLAN_PAIR ? 1 : plan->sources < 3 ? plan->sources : 3;
    if (plan->calc == CALC_FROM_INT)
        read_int(shadow, w, op, plan, &in);
    else
        read_sources(shadow, w, op, plan, &in);
    enum step step = plan->own(w, op);
    if (op->d == REF_NONE)
        return step;
    if (plan->d_width > plan->parts * bytes)
        shadow_void(w, op->d, plan->d_width);
    for (unsigned part = 0; part < plan->parts; part++)
        for (uint32_t rest = active; rest; rest &= rest - 1) {
            const unsigned lane = first_lane(rest);
            struct value out = {.origin = 0};
            const struct value *from = in.of[part][lane];
            out.got = number_of_bits(
                plan->to, register_raw(at(w, op->d), plan->d_width, lane, part * bytes, bytes));
            shadow->lane = lane;
            shadow->algebra->calc(shadow, plan, from, &out);
            shadow->algebra->settle(shadow, plan, plan->to, from, count, &out);
            shadow_write(w, op->d, plan->d_width, part * bytes, plan->to, lane, &out);
        }
    return step;
}
