/* arith.c - ops that compute from registers into registers. */
#include "exec/ops/ops.h"

/* All lanes, straight into the registers when no other lane has values there, else through scratch.
 */
enum step op_lane(struct warp *w, const struct op *op)
{
    struct lane_args args;
    const bool all = whole(w);
    uint32_t carry = w->carry;
    for (unsigned i = 0; i < LANE_SOURCES; i++)
        args.s[i] = op->s[i] == REF_NONE ? NULL : at(w, op->s[i]);
    args.carry = &w->carry;
    args.d = all && op->d != REF_NONE ? at(w, op->d) : (void *)w->scratch;
    args.q = op->q == REF_NONE ? NULL : all ? at(w, op->q) : &w->scratch_q;
    op->lane(&args);
    if (all)
        return STEP_NEXT;
    if (op->carry)
        w->carry = (carry & ~w->active) | (w->carry & w->active);
    if (op->width)
        put(w, op->d, op->width, w->scratch);
    else
        put_pred(w, op->d, (uint32_t)w->scratch[0]);
    put_pred(w, op->q, w->scratch_q);
    return STEP_NEXT;
}

enum step op_move_bits(struct warp *w, const struct op *op)
{
    put(w, op->d, op->width, at(w, op->s[0]));
    return STEP_NEXT;
}

enum step op_add_imm(struct warp *w, const struct op *op)
{
    uint64_t values[LANES];
    get64(w, op->s[0], op->source, values);
    for (unsigned i = 0; i < LANES; i++)
        values[i] += op->imm;
    put64(w, op->d, op->width, values);
    return STEP_NEXT;
}

enum step op_local_address(struct warp *w, const struct op *op)
{
    uint64_t values[LANES];
    for (unsigned i = 0; i < LANES; i++)
        values[i] = op->imm + w->f->frame->base;
    put64(w, op->d, op->width, values);
    return STEP_NEXT;
}

enum step op_not_pred(struct warp *w, const struct op *op)
{
    put_pred(w, op->d, ~pred_at(w, op->s[0]));
    return STEP_NEXT;
}

enum step op_isspacep(struct warp *w, const struct op *op)
{
    uint64_t values[LANES];
    uint32_t yes = 0;
    get64(w, op->s[0], op->source, values);
    for (unsigned i = 0; i < LANES; i++)
        yes |= (uint32_t)((unsigned)window_of(values[i]) == op->mode) << i;
    put_pred(w, op->d, yes);
    return STEP_NEXT;
}

static void move_part(uint8_t *to, size_t to_stride, const uint8_t *from, size_t from_stride,
                      size_t bytes)
{
    for (unsigned i = 0; i < LANES; i++)
        memcpy(to + i * to_stride, from + i * from_stride, bytes);
}

/* mov.b64 d, {a, b}: the first part is the lowest. */
enum step op_pack(struct warp *w, const struct op *op)
{
    const struct pack *pack = op->more;
    uint8_t *whole_value = (uint8_t *)w->scratch;
    for (unsigned i = 0; i < pack->count; i++)
        move_part(whole_value + (size_t)i * pack->bytes, op->width, at(w, pack->parts[i]),
                  pack->part_width[i], pack->bytes);
    put(w, op->d, op->width, whole_value);
    return STEP_NEXT;
}

/* Parts may be narrower than the registers they go to. */
enum step op_unpack(struct warp *w, const struct op *op)
{
    const struct pack *pack = op->more;
    uint64_t whole_value[LANES * 2], part[LANES * 2];
    memcpy(whole_value, at(w, op->s[0]), (size_t)op->source * LANES);
    for (unsigned i = 0; i < pack->count; i++) {
        if (pack->parts[i] == REF_NONE)
            continue;
        memset(part, 0, sizeof part);
        move_part((uint8_t *)part, pack->part_width[i],
                  (const uint8_t *)whole_value + (size_t)i * pack->bytes, op->source, pack->bytes);
        put(w, pack->parts[i], pack->part_width[i], part);
    }
    return STEP_NEXT;
}
