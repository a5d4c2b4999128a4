/* transfer.c - between registers and memory: loads, stores, atomics, copies, parameters of calls.
 */
#include "tools/lift/parts.h"

/* Host addresses of the elements that each lane touches. */
struct places {
    uint8_t *at[VECTOR_MAX][LANES];
};

static _Thread_local struct places *noting;

static bool note_places(struct warp *w, const struct op *op, const struct access *a,
                        struct pointers *p)
{
    (void)op;
    for (unsigned e = 0; e < a->count; e++)
        for (uint32_t rest = w->active; rest; rest &= rest - 1)
            noting->at[e][first_lane(rest)] =
                p->p[first_lane(rest)] + displace(p->words, (size_t)e * a->bytes);
    return true;
}

static enum step find_places(struct warp *w, const struct op *op, const struct access *a,
                             bool write, struct places *places)
{
    noting = places;
    return each_space(w, op, a, write, note_places);
}

/* ---- loads and stores ---- */

static void load_cells(struct shadow *shadow, const struct warp *w, ref d, unsigned width,
                       unsigned bytes, uint8_t *const at_lane[LANES])
{
    struct cell *to = frame_cells(w) + d;
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        const unsigned lane = first_lane(rest);
        const struct cell *from = cell_map_at(&shadow->map, at_lane[lane], false);
        for (unsigned b = 0; b < width; b++) {
            struct cell *cell = &to[(size_t)b * LANES + lane];
            if (from && b < bytes && from[b].tag)
                *cell = from[b];
            else
                cell->tag = 0;
        }
    }
}

enum step watch_load(struct shadow *shadow, struct warp *w, const struct op *op,
                     const struct plan *plan)
{
    const struct access *a = op->more;
    struct places places;
    enum step step = find_places(w, op, a, false, &places);
    if (step != STEP_NEXT)
        return step;
    step = plan->own(w, op);
    for (unsigned e = 0; e < a->count; e++)
        if (a->regs[e] != REF_NONE)
            load_cells(shadow, w, a->regs[e], a->width, a->bytes, places.at[e]);
    return step;
}

static bool lane_has_cell(const struct cell *from, unsigned bytes)
{
    for (unsigned b = 0; b < bytes; b++)
        if (from[(size_t)b * LANES].tag)
            return true;
    return false;
}

static void store_lane(struct shadow *shadow, const struct cell *from, unsigned bytes,
                       const uint8_t *host)
{
    const bool any = from && lane_has_cell(from, bytes);
    struct cell *to = cell_map_at(&shadow->map, host, any);
    for (unsigned b = 0; to && b < bytes; b++) {
        to[b].tag = 0;
        if (any && from[(size_t)b * LANES].tag)
            to[b] = from[(size_t)b * LANES];
    }
}

/* The cells of a register that goes to such an output: what follows goes on from what is stored. */
static void accept(struct shadow *shadow, struct cell *from, unsigned bytes, const uint8_t *host)
{
    for (unsigned i = 0; i < shadow->stored_count; i++)
        for (unsigned b = 0; b < bytes; b++) {
            struct cell *cell = &from[(size_t)b * LANES];
            uint64_t raw = 0;
            if ((uintptr_t)host + b - (uintptr_t)shadow->stored[i].host >=
                    shadow->stored[i].bytes ||
                !cell->tag)
                continue;
            memcpy(&raw, host + b, format_bytes(cell_format(cell)));
            shadow->algebra->store(cell, cell_format(cell), raw);
        }
}

static void store_cells(struct shadow *shadow, const struct warp *w, ref s, unsigned bytes,
                        uint8_t *const at_lane[LANES])
{
    struct cell *from = s & REF_CONSTANT ? NULL : frame_cells(w) + s;
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        const unsigned lane = first_lane(rest);
        if (from && shadow->stored_count && shadow->algebra->store)
            accept(shadow, from + lane, bytes, at_lane[lane]);
        store_lane(shadow, from ? from + lane : NULL, bytes, at_lane[lane]);
    }
}

enum step watch_store(struct shadow *shadow, struct warp *w, const struct op *op,
                      const struct plan *plan)
{
    const struct access *a = op->more;
    struct places places;
    enum step step = find_places(w, op, a, true, &places);
    if (step != STEP_NEXT)
        return step;
    step = plan->own(w, op);
    for (unsigned e = 0; e < a->count; e++)
        store_cells(shadow, w, a->regs[e], a->bytes, places.at[e]);
    return step;
}

/* ---- atomics ---- */

static enum format format_of_number(enum number number)
{
    switch (number) {
    case NUMBER_F64:
        return FORMAT_F64;
    case NUMBER_F32:
        return FORMAT_F32;
    case NUMBER_F16:
        return FORMAT_F16;
    case NUMBER_BF16:
        return FORMAT_BF16;
    default:
        return FORMAT_NONE;
    }
}

static uint64_t raw_at(const uint8_t *host, unsigned bytes)
{
    uint64_t raw = 0;
    memcpy(&raw, host, bytes);
    return raw;
}

/* The sums of a warp's lanes, one after the other: the lanes of one address add to one number. */
struct sums {
    struct value value[LANES];
    const uint8_t *host[LANES];
    unsigned count;
};

static struct value *sum_at(struct shadow *shadow, struct sums *sums, const uint8_t *host,
                            enum format format)
{
    for (unsigned i = 0; i < sums->count; i++)
        if (sums->host[i] == host)
            return &sums->value[i];
    struct value *value = &sums->value[sums->count];
    sums->host[sums->count++] = host;
    shadow_at(shadow, host, format, value);
    return value;
}

static void add_lanes(struct shadow *shadow, const struct warp *w, const struct atomic_access *x,
                      const struct plan *plan, unsigned e, unsigned byte,
                      const struct places *places, struct sums *sums)
{
    const enum format format = format_of_number(x->number);
    struct plan sum = *plan;
    sum.calc = x->op == ATOMIC_MIN ? CALC_MIN : x->op == ATOMIC_MAX ? CALC_MAX : CALC_ADD;
    sum.to = sum.from = format;
    sums->count = 0;
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        const unsigned lane = first_lane(rest);
        struct value in[3], *value = sum_at(shadow, sums, places->at[e][lane] + byte, format);
        in[0] = *value;
        shadow_read(shadow, w, x->access.regs[e], x->access.width, byte, format, lane, &in[1]);
        value->got = in[0].got + in[1].got;
        shadow->algebra->calc(shadow, &sum, in, value);
        value->origin = in[0].origin ? in[0].origin : in[1].origin;
    }
}

static void keep_sums(struct shadow *shadow, const struct plan *plan, enum format format,
                      struct sums *sums)
{
    for (unsigned i = 0; i < sums->count; i++) {
        struct value *value = &sums->value[i];
        const struct value before = *value;
        const uint64_t raw = raw_at(sums->host[i], format_bytes(format));
        struct cell *cell = cell_map_at(&shadow->map, sums->host[i], true);
        value->got = number_of_bits(format, raw);
        shadow->algebra->settle(shadow, plan, format, &before, 1, value);
        if (cell)
            *cell = shadow_cell(value, format, raw);
    }
}

/* An exchange, also in a loop around cas: memory has the new number's cells where it has its bytes.
 */
static void keep_exchanged(struct shadow *shadow, const struct warp *w,
                           const struct atomic_access *x, const struct places *places)
{
    const ref s = x->op == ATOMIC_CAS ? x->swap : x->access.regs[0];
    const unsigned width = x->op == ATOMIC_CAS ? x->swap_width : x->access.width;
    const unsigned bytes = x->access.bytes;
    if (s & REF_CONSTANT || bytes > 8)
        return;
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        const unsigned lane = first_lane(rest);
        const uint8_t *host = places->at[0][lane];
        if (raw_at(host, bytes) == register_raw(at(w, s), width, lane, 0, bytes))
            store_lane(shadow, frame_cells(w) + s + lane, bytes, host);
    }
}

static enum step watch_sum(struct shadow *shadow, struct warp *w, const struct op *op,
                           const struct plan *plan, const struct places *places)
{
    const struct atomic_access *x = op->more;
    struct sums sums[2 * VECTOR_MAX];
    unsigned count = 0;
    for (unsigned e = 0; e < x->access.count; e++)
        for (unsigned byte = 0; byte < x->access.bytes; byte += x->part)
            add_lanes(shadow, w, x, plan, e, byte, places, &sums[count++]);
    const enum step step = plan->own(w, op);
    while (count)
        keep_sums(shadow, plan, format_of_number(x->number), &sums[--count]);
    return step;
}

enum step watch_atomic(struct shadow *shadow, struct warp *w, const struct op *op,
                       const struct plan *plan)
{
    const struct atomic_access *x = op->more;
    struct places places;
    enum step step = find_places(w, op, &x->access, true, &places);
    if (step != STEP_NEXT)
        return step;
    const bool sums = format_of_number(x->number) && x->op <= ATOMIC_MAX;
    for (unsigned e = 0; e < x->access.count; e++)
        if (x->d[e] != REF_NONE)
            shadow_void(w, x->d[e], x->d_width);
    if (sums)
        return watch_sum(shadow, w, op, plan, &places);
    step = plan->own(w, op);
    if (x->op == ATOMIC_CAS || x->op == ATOMIC_EXCH)
        keep_exchanged(shadow, w, x, &places);
    return step;
}

/* ---- cp.async ---- */

static void copy_cells(struct shadow *shadow, const uint8_t *to, const uint8_t *from,
                       unsigned bytes)
{
    const struct cell *source = cell_map_at(&shadow->map, from, false);
    struct cell *cell = cell_map_at(&shadow->map, to, source != NULL);
    for (unsigned b = 0; cell && b < bytes; b++)
        cell[b].tag = 0;
    for (unsigned b = 0; cell && source && b < bytes; b++)
        if (source[b].tag)
            cell[b] = source[b];
}

static bool copy_lanes(struct shadow *shadow, struct warp *w, const struct async_copy *c)
{
    uint64_t to[LANES], from[LANES];
    struct pointers to_at, from_at;
    addresses(w, &c->to, to);
    addresses(w, &c->from, from);
    if (!resolve(w, IN_SHARED, to, c->bytes, c->bytes, true, &to_at) ||
        !resolve(w, IN_GLOBAL, from, c->bytes, c->bytes, false, &from_at))
        return false;
    for (uint32_t rest = w->active; rest; rest &= rest - 1)
        copy_cells(shadow, to_at.p[first_lane(rest)], from_at.p[first_lane(rest)], c->bytes);
    return true;
}

/* What is not copied but filled with zeros has other bytes, and so no cell. The source of a lane
 * that does not copy all may be no address. */
enum step watch_copy(struct shadow *shadow, struct warp *w, const struct op *op,
                     const struct plan *plan)
{
    const struct async_copy *c = op->more;
    const uint32_t active = w->active;
    const enum step step = plan->own(w, op);
    uint32_t whole = 0;
    for (uint32_t rest = active; rest; rest &= rest - 1)
        if (async_copied(w, c, first_lane(rest)) == c->bytes)
            whole |= rest & -rest;
    if (step != STEP_NEXT || !whole)
        return step;
    w->active = whole;
    const bool fine = copy_lanes(shadow, w, c);
    w->active = active;
    return fine ? STEP_NEXT : STEP_FAULT;
}

/* ---- cp.async.bulk ---- */

/* Up to the next page of cells. */
static size_t same_page(const uint8_t *host, size_t bytes)
{
    const size_t room = CELL_PAGE - (uintptr_t)host % CELL_PAGE;
    return bytes < room ? bytes : room;
}

static void bulk_cells(void *user, uint8_t *to, const uint8_t *from, size_t bytes)
{
    struct shadow *shadow = user;
    while (bytes) {
        size_t piece = same_page(to, bytes);
        struct cell *cell = cell_map_at(&shadow->map, to, false);
        piece = from ? same_page(from, piece) : piece;
        if (from)
            copy_cells(shadow, to, from, (unsigned)piece);
        for (size_t b = 0; !from && cell && b < piece; b++)
            cell[b].tag = 0;
        to += piece;
        from = from ? from + piece : NULL;
        bytes -= piece;
    }
}

enum step watch_bulk(struct shadow *shadow, struct warp *w, const struct op *op,
                     const struct plan *plan)
{
    const enum step step = plan->own(w, op);
    if (step != STEP_NEXT)
        return step;
    return bulk_pieces(w, op->more, bulk_cells, shadow) ? STEP_NEXT : STEP_FAULT;
}

/* ---- calls ---- */

/* Parameters lie in words of a frame, and their cells by host address as memory's do. */
static void copy_parameter(struct shadow *shadow, uint8_t *to, const struct slot *d, uint8_t *from,
                           const struct slot *s, uint32_t mask)
{
    const uint32_t bytes = d->bytes < s->bytes ? d->bytes : s->bytes;
    if (d->stride != WORD || s->stride != WORD)
        return;
    for (uint32_t b = 0; b < bytes; b += WORD)
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            const size_t at = b / WORD * WORD_STRIDE + (size_t)first_lane(rest) * WORD;
            copy_cells(shadow, to + at, from + at, bytes - b < WORD ? bytes - b : WORD);
        }
}

enum step watch_call(struct shadow *shadow, struct warp *w, const struct op *op,
                     const struct plan *plan)
{
    const struct call_site *site = op->more;
    struct frame *caller = w->f->frame;
    const uint32_t active = w->active;
    const enum step step = plan->own(w, op);
    const struct frame *frame = w->f->frame;
    if (step == STEP_FAULT || frame == caller)
        return step;
    for (unsigned i = 0; i < site->args; i++) {
        const struct slot *from = site->slots + site->results + i, *to = frame->code->params + i;
        if (!(from->at & REF_CONSTANT))
            copy_parameter(shadow, frame->registers + to->at, to, caller->registers + from->at,
                           from, active);
    }
    return step;
}

enum step watch_return(struct shadow *shadow, struct warp *w, const struct op *op,
                       const struct plan *plan)
{
    struct frame *frame = w->f->frame, *caller = frame->parent;
    const struct call_site *site = caller ? frame->call->more : NULL;
    for (unsigned i = 0; site && i < site->results; i++)
        if (site->slots[i].at != REF_NONE)
            copy_parameter(shadow, caller->registers + site->slots[i].at, site->slots + i,
                           frame->registers + frame->code->results[i].at, frame->code->results + i,
                           w->active);
    return plan->own(w, op);
}
