/* move.c - numbers that change their place: moves, shifts by whole bytes, packing, shuffles, and
 * integer arithmetic that leaves a number recognisable. */
#include "tools/lift/parts.h"

enum step watch_void(struct shadow *shadow, struct warp *w, const struct op *op,
                     const struct plan *plan)
{
    (void)shadow;
    const enum step step = plan->own(w, op);
    shadow_void(w, op->d, plan->d_width);
    return step;
}

/* The cells that come to lie beside d, of all lanes. */
struct moved {
    struct cell cell[PLAN_BYTES][LANES];
};

/* Whether the cell of byte `from` in a lane is one whose bytes are there. */
static const struct cell *cell_of(const struct warp *w, ref r, unsigned width, unsigned from,
                                  unsigned lane)
{
    const struct cell *cell = frame_cells(w) + r + (size_t)from * LANES + lane;
    const unsigned bytes = format_bytes(cell_format(cell));
    if (!cell->tag || from + bytes > width)
        return NULL;
    return cell->bits == cell_bits(register_raw(at(w, r), width, lane, from, bytes), bytes) ? cell
                                                                                            : NULL;
}

/* The upper half of an f32 alone: a bf16, cut off and not rounded. */
static bool cut_off(struct shadow *shadow, const struct plan *plan, const struct cell *cell,
                    struct cell *out)
{
    if (!cell || cell_format(cell) != FORMAT_F32)
        return false;
    struct value value = {cell->a, cell->b, number_of_bits(FORMAT_BF16, cell->bits >> 16),
                          cell_origin(cell)};
    const struct value before = value;
    shadow->algebra->settle(shadow, plan, FORMAT_BF16, &before, 1, &value);
    *out = shadow_cell(&value, FORMAT_BF16, cell->bits >> 16);
    return true;
}

/* One byte of d, of one lane, from byte `from` of a register. `run`: bytes that lie side by side.
 */
static void take_byte(struct shadow *shadow, const struct warp *w, const struct plan *plan, ref r,
                      unsigned width, unsigned from, unsigned run, unsigned lane, struct cell *out)
{
    out->tag = 0;
    if (r == REF_NONE || r & REF_CONSTANT)
        return;
    const struct cell *cell = cell_of(w, r, width, from, lane);
    if (cell && format_bytes(cell_format(cell)) <= run)
        *out = *cell;
    else if (!cell && from >= 2 && from % 4 == 2 && run >= 2)
        cut_off(shadow, plan, cell_of(w, r, width, from - 2, lane), out);
}

static void source_of(const struct op *op, const struct plan *plan, unsigned i, ref *r,
                      unsigned *width)
{
    const struct pack *pack = op->more;
    const bool packs = plan->own == op_pack;
    *r = packs ? pack->parts[i] : op->s[i];
    *width = packs ? pack->part_width[i] : plan->width[i];
}

static void place(const struct warp *w, ref d, unsigned width, const struct moved *moved)
{
    for (unsigned b = 0; b < width; b++) {
        struct cell *to = frame_cells(w) + d + (size_t)b * LANES;
        for (uint32_t rest = w->active; rest; rest &= rest - 1) {
            const unsigned lane = first_lane(rest);
            if (moved->cell[b][lane].tag)
                to[lane] = moved->cell[b][lane];
            else
                to[lane].tag = 0;
        }
    }
}

/* mov.b64 {a, b}, d: each part has the cells of its bytes. */
static enum step unpack(struct warp *w, const struct op *op, const struct plan *plan)
{
    const struct pack *pack = op->more;
    struct moved moved[VECTOR_MAX];
    for (unsigned i = 0; i < pack->count; i++)
        for (unsigned b = 0; b < PLAN_BYTES; b++)
            for (uint32_t rest = w->active; rest; rest &= rest - 1) {
                const unsigned lane = first_lane(rest), from = i * pack->bytes + b;
                const struct cell *cell = NULL;
                if (b < pack->bytes && !(op->s[0] & REF_CONSTANT))
                    cell = cell_of(w, op->s[0], op->source, from, lane);
                if (cell && b + format_bytes(cell_format(cell)) <= pack->bytes)
                    moved[i].cell[b][lane] = *cell;
                else
                    moved[i].cell[b][lane].tag = 0;
            }
    const enum step step = plan->own(w, op);
    for (unsigned i = 0; i < pack->count; i++)
        if (pack->parts[i] != REF_NONE)
            place(w, pack->parts[i], pack->part_width[i], &moved[i]);
    return step;
}

enum step watch_move(struct shadow *shadow, struct warp *w, const struct op *op,
                     const struct plan *plan)
{
    struct moved moved;
    if (plan->own == op_unpack)
        return unpack(w, op, plan);
    for (unsigned b = 0; b < plan->d_width; b++) {
        ref r = REF_NONE;
        unsigned width = 0;
        if (plan->map[b] >= 0)
            source_of(op, plan, (unsigned)plan->map[b] / 16, &r, &width);
        for (uint32_t rest = w->active; rest; rest &= rest - 1)
            take_byte(shadow, w, plan, r, width, (unsigned)plan->map[b] % 16,
                      (unsigned)plan->run[b], first_lane(rest), &moved.cell[b][first_lane(rest)]);
    }
    const enum step step = plan->own(w, op);
    if (op->d != REF_NONE)
        place(w, op->d, plan->d_width, &moved);
    return step;
}

/* selp d, a, b, p: the cells of the one that is taken. */
enum step watch_select(struct shadow *shadow, struct warp *w, const struct op *op,
                       const struct plan *plan)
{
    struct moved moved;
    const uint32_t first = pred_at(w, op->s[2]);
    for (unsigned b = 0; b < plan->d_width; b++)
        for (uint32_t rest = w->active; rest; rest &= rest - 1) {
            const unsigned lane = first_lane(rest), i = first >> lane & 1 ? 0 : 1;
            take_byte(shadow, w, plan, op->s[i], plan->width[i], b, plan->d_width - b, lane,
                      &moved.cell[b][lane]);
        }
    const enum step step = plan->own(w, op);
    place(w, op->d, plan->d_width, &moved);
    return step;
}

/* ---- integer arithmetic on the bits of numbers ---- */

static const struct {
    unsigned mantissa;
    uint32_t sign, all;
} layouts[FORMATS] = {
    [FORMAT_F16] = {10, 0x8000, 0xffff},
    [FORMAT_BF16] = {7, 0x8000, 0xffff},
    [FORMAT_F32] = {23, 0x80000000, 0xffffffff},
};

/* The number that bits `now` stand for, where they were `was` before the op: the same; of the other
 * sign; and after an addition one of the same digits with another exponent, or rounded by adding to
 * the last digits. */
static bool resembles(const struct shadow *shadow, enum format format, uint32_t was, uint32_t now,
                      bool adds, struct value *value)
{
    const unsigned mantissa = layouts[format].mantissa;
    const uint32_t digits = (1u << mantissa) - 1, difference = was > now ? was - now : now - was;
    if ((was ^ now) == layouts[format].sign || was == now) {
        shadow->algebra->scale(value, 0, was != now);
        return true;
    }
    if (!adds || (was ^ now) & layouts[format].sign)
        return false;
    if ((was & digits) == (now & digits) && was & ~(digits | layouts[format].sign)) {
        const int old = (int)((was & ~layouts[format].sign) >> mantissa);
        const int young = (int)((now & ~layouts[format].sign) >> mantissa);
        shadow->algebra->scale(value, young - old, false);
        return true;
    }
    return format == FORMAT_F32 ? difference <= 0x10000 : difference <= 1;
}

static bool similar(struct shadow *shadow, const struct plan *plan, const struct cell *cell,
                    uint64_t raw, bool adds, struct cell *out)
{
    const enum format format = cell_format(cell);
    if (!layouts[format].all)
        return false;
    const uint32_t now = (uint32_t)raw & layouts[format].all;
    struct value value = {cell->a, cell->b, number_of_bits(format, now), cell_origin(cell)};
    if (format == FORMAT_F32 && now == (cell->bits & 0xffff0000) && now != cell->bits) {
        const struct value before = value; /* the lower half is masked: cut off to bf16 */
        shadow->algebra->settle(shadow, plan, format, &before, 1, &value);
    } else if (resembles(shadow, format, cell->bits, now, adds, &value)) {
        const struct value before = value;
        if (adds)
            shadow->algebra->settle(shadow, plan, format, &before, 1, &value);
    } else {
        return false;
    }
    *out = shadow_cell(&value, format, now);
    return true;
}

enum step watch_similar(struct shadow *shadow, struct warp *w, const struct op *op,
                        const struct plan *plan)
{
    struct cell before[3][PLAN_BYTES / 2][LANES];
    struct moved moved;
    const bool adds = op->instruction->opcode[0] == 'a' ? op->instruction->opcode[1] == 'd'
                                                        : op->instruction->opcode[0] == 's';
    for (unsigned i = 0; i < 3; i++)
        for (unsigned h = 0; h < plan->d_width / 2; h++)
            for (uint32_t rest = w->active; rest; rest &= rest - 1)
                take_byte(shadow, w, plan, i < plan->sources ? op->s[i] : REF_NONE, plan->width[i],
                          2 * h, plan->d_width - 2 * h, first_lane(rest),
                          &before[i][h][first_lane(rest)]);
    const enum step step = plan->own(w, op);
    for (unsigned b = 0; b < plan->d_width; b++)
        for (uint32_t rest = w->active; rest; rest &= rest - 1) {
            const unsigned lane = first_lane(rest);
            moved.cell[b][lane].tag = 0;
            for (unsigned i = 0; i < 3 && b % 2 == 0; i++) {
                const struct cell *cell = &before[i][b / 2][lane];
                const unsigned bytes = format_bytes(cell_format(cell));
                if (!cell->tag || b + bytes > plan->d_width)
                    continue;
                shadow->lane = lane;
                if (similar(shadow, plan, cell,
                            register_raw(at(w, op->d), plan->d_width, lane, b, bytes), adds,
                            &moved.cell[b][lane]))
                    break;
            }
        }
    place(w, op->d, plan->d_width, &moved);
    return step;
}

/* ---- between lanes ---- */

enum step watch_shuffle(struct shadow *shadow, struct warp *w, const struct op *op,
                        const struct plan *plan)
{
    struct moved moved;
    const uint32_t active = w->active;
    for (unsigned b = 0; b < plan->d_width; b++)
        for (uint32_t rest = active; rest; rest &= rest - 1) {
            const unsigned lane = first_lane(rest);
            const uint32_t by = (uint32_t)lane_value(w, op->s[1], 4, lane);
            const uint32_t clamp = (uint32_t)lane_value(w, op->s[2], 4, lane);
            bool inside;
            take_byte(shadow, w, plan, op->s[0], plan->width[0], b, plan->width[0] - b,
                      shuffle_source(op->mode, by, clamp, lane, active, &inside),
                      &moved.cell[b][lane]);
        }
    const enum step step = plan->own(w, op);
    /* Where the warp has parted, the result comes later, from lanes that are not here. */
    if (step == STEP_NEXT && w->active == active && op->d != REF_NONE)
        place(w, op->d, plan->d_width, &moved);
    return step;
}
