#include "tools/lift/parts.h"

#include <stdlib.h>

/* ---- cells of registers ---- */

bool shadow_value(struct shadow *shadow, const struct cell *cell, enum format format, uint64_t raw,
                  struct value *out)
{
    out->got = number_of_bits(format, raw);
    if (cell && cell_format(cell) == format && cell->bits == cell_bits(raw, format_bytes(format))) {
        out->a = cell->a;
        out->b = cell->b;
        out->origin = cell_origin(cell);
        return true;
    }
    out->origin = 0;
    shadow->algebra->fresh(out);
    return false;
}

/* `stride`: between the cells of a number's bytes. A bf16 above 16 bits of zero is an f32. */
static bool value_of(struct shadow *shadow, const struct cell *cell, size_t stride,
                     enum format format, uint64_t raw, struct value *out)
{
    if (cell && format == FORMAT_F32 && !(raw & 0xffff) && cell_format(cell) != FORMAT_F32)
        return shadow_value(shadow, cell + 2 * stride, FORMAT_BF16, raw >> 16, out);
    return shadow_value(shadow, cell, format, raw, out);
}

bool shadow_at(struct shadow *shadow, const uint8_t *host, enum format format, struct value *out)
{
    uint64_t raw = 0;
    memcpy(&raw, host, format_bytes(format));
    return value_of(shadow, cell_map_at(&shadow->map, host, false), 1, format, raw, out);
}

struct cell shadow_cell(const struct value *value, enum format format, uint64_t raw)
{
    return (struct cell){value->a, value->b, cell_bits(raw, format_bytes(format)),
                         (uint32_t)format | value->origin << 4};
}

void shadow_read(struct shadow *shadow, const struct warp *w, ref r, unsigned width, unsigned byte,
                 enum format format, unsigned lane, struct value *out)
{
    const uint64_t raw = register_raw(at(w, r), width, lane, byte, format_bytes(format));
    const struct cell *cell = NULL;
    if (!(r & REF_CONSTANT))
        cell = frame_cells(w) + r + (size_t)byte * LANES + lane;
    value_of(shadow, cell, LANES, format, raw, out);
}

void shadow_write(const struct warp *w, ref r, unsigned width, unsigned byte, enum format format,
                  unsigned lane, const struct value *value)
{
    const uint64_t raw = register_raw(at(w, r), width, lane, byte, format_bytes(format));
    frame_cells(w)[r + (size_t)byte * LANES + lane] = shadow_cell(value, format, raw);
}

void shadow_void(const struct warp *w, ref r, unsigned width)
{
    struct cell *cell = frame_cells(w) + r;
    for (unsigned b = 0; b < width; b++, cell += LANES)
        for (uint32_t rest = w->active; rest; rest &= rest - 1)
            cell[first_lane(rest)].tag = 0;
}

/* ---- what stands in front of ops ---- */

const struct plan *shadow_plan(const struct shadow *shadow, const struct warp *w,
                               const struct op *op)
{
    const struct code *code = w->f->frame->code;
    return shadow->plans + code->first + (op - code->ops);
}

static enum step watched(struct warp *w, const struct op *op)
{
    struct shadow *shadow = w->launch->request->watch;
    const struct plan *plan = shadow_plan(shadow, w, op);
    const uint64_t block = w->block->number;
    if (shadow->chosen && !(shadow->chosen[block / 8] >> block % 8 & 1))
        return plan->own(w, op);
    shadow->warp = w;
    return plan->watch(shadow, w, op, plan);
}

/* For finding the writers of each address: stores alone. */
static bool note_store(struct warp *w, const struct op *op, const struct access *a,
                       struct pointers *p)
{
    struct shadow *shadow = w->launch->request->watch;
    (void)op;
    for (uint32_t rest = w->active; rest; rest &= rest - 1)
        for (unsigned e = 0; e < a->count; e++)
            shadow->on_store(shadow->user, w->block->number,
                             p->p[first_lane(rest)] + displace(p->words, (size_t)e * a->bytes),
                             a->bytes);
    return true;
}

static void note_piece(void *user, uint8_t *to, const uint8_t *from, size_t bytes)
{
    const struct warp *w = user;
    struct shadow *shadow = w->launch->request->watch;
    (void)from;
    shadow->on_store(shadow->user, w->block->number, to, (unsigned)bytes);
}

static enum step watched_bulk(struct warp *w, const struct op *op, const struct plan *plan)
{
    const struct bulk_copy *c = op->more;
    if (c->kind == BULK_STORE && !bulk_pieces(w, c, note_piece, w))
        return STEP_FAULT;
    return plan->own(w, op);
}

static enum step watched_store(struct warp *w, const struct op *op)
{
    struct shadow *shadow = w->launch->request->watch;
    const struct plan *plan = shadow_plan(shadow, w, op);
    if (plan->own == op_bulk_copy)
        return watched_bulk(w, op, plan);
    const struct atomic_access *atomic = op->more;
    const struct access *a = plan->own == op_atomic ? &atomic->access : op->more;
    enum step step = STEP_NEXT;
    if (a->memory == IN_GLOBAL || a->memory == IN_GENERIC)
        step = each_space(w, op, a, true, note_store);
    return step == STEP_NEXT ? plan->own(w, op) : step;
}

/* ---- which ops are watched ---- */

/* Whether any cell may come to lie beside a register, by its place in the frame. */
struct reach {
    bool *may; /* by ref of the code's frame */
    size_t count;
    bool changed;
};

static bool reach_has(const struct reach *reach, ref r)
{
    return r != REF_NONE && !(r & REF_CONSTANT) && r < reach->count && reach->may[r];
}

static void reach_add(struct reach *reach, ref r)
{
    if (r == REF_NONE || r & REF_CONSTANT || r >= reach->count || reach->may[r])
        return;
    reach->may[r] = true;
    reach->changed = true;
}

static bool moves(const struct plan *plan)
{
    return plan->watch == watch_move || plan->watch == watch_similar ||
           plan->watch == watch_select || plan->watch == watch_shuffle;
}

/* The places that an op reads numbers from, and those that it writes. */
static bool op_reads(const struct reach *reach, const struct op *op)
{
    const struct pack *pack = op->more;
    for (unsigned i = 0; i < LANE_SOURCES; i++)
        if (reach_has(reach, op->s[i]))
            return true;
    for (unsigned i = 0; op->fn == op_pack && i < pack->count; i++)
        if (reach_has(reach, pack->parts[i]))
            return true;
    return false;
}

static void op_writes(struct reach *reach, const struct op *op)
{
    const struct access *a = op->more;
    const struct atomic_access *atomic = op->more;
    const struct pack *pack = op->more;
    const struct mma *m = op->more;
    const struct wgmma *g = op->more;
    const struct matrix_access *matrices = op->more;
    reach_add(reach, op->d);
    for (unsigned i = 0; op->fn == op_mma && i < mma_sum_registers(m); i++)
        reach_add(reach, m->d[i]);
    for (unsigned i = 0; op->fn == op_wgmma && i < wgmma_registers(g); i++)
        reach_add(reach, g->d[i]);
    for (unsigned i = 0; op->fn == op_ldmatrix && i < matrices->access.count; i++)
        reach_add(reach, matrices->access.regs[i]);
    for (unsigned i = 0; op->fn == op_ld && i < a->count; i++)
        reach_add(reach, a->regs[i]);
    for (unsigned i = 0; op->fn == op_atomic && i < VECTOR_MAX; i++)
        reach_add(reach, atomic->d[i]);
    for (unsigned i = 0; op->fn == op_unpack && i < pack->count; i++)
        reach_add(reach, pack->parts[i]);
}

/* Numbers come from memory and from arithmetic; the instructions that only move what holds none
 * (addresses, counters) are left to the interpreter. */
static enum status spread_reach(struct shadow *shadow, const struct code *code, struct error *err)
{
    struct reach reach = {.count = code->frame_bytes, .changed = true};
    struct plan *plans = shadow->plans + code->first;
    reach.may = calloc(reach.count + 1, sizeof(*reach.may));
    if (!reach.may)
        return error_set(err, STATUS_NO_MEMORY, "no memory to follow a kernel's numbers");
    while (reach.changed) {
        reach.changed = false;
        for (uint32_t i = 0; i < code->count; i++)
            if (plans[i].watch && plans[i].watch != watch_void &&
                (!moves(&plans[i]) || op_reads(&reach, &code->ops[i])))
                op_writes(&reach, &code->ops[i]);
    }
    for (uint32_t i = 0; i < code->count; i++) {
        const struct op *op = &code->ops[i];
        bool void_alone = plans[i].watch == watch_void;
        if ((moves(&plans[i]) && !op_reads(&reach, op)) || void_alone)
            plans[i].watch = reach_has(&reach, op->d) && plans[i].d_width ? watch_void : NULL;
    }
    free(reach.may);
    return STATUS_OK;
}

static void plan_code(struct shadow *shadow, struct code *code)
{
    for (uint32_t i = 0; i < code->count; i++) {
        struct plan *plan = shadow->plans + code->first + i;
        plan->own = code->ops[i].fn;
        plan->number = (uint32_t)(code->first + i) + 1;
        plan_op(plan, code, &code->ops[i]);
    }
}

/* Room for the cells behind the registers. */
static void widen(struct code *code)
{
    code->frame_bytes *= 1 + sizeof(struct cell);
}

static void put_in_front(struct shadow *shadow, struct code *code)
{
    for (uint32_t i = 0; i < code->count; i++) {
        const struct plan *plan = shadow->plans + code->first + i;
        const bool stores =
            plan->own == op_st || plan->own == op_atomic || plan->own == op_bulk_copy;
        if (shadow->on_store ? stores : plan->watch != NULL)
            code->ops[i].fn = shadow->on_store ? watched_store : watched;
    }
}

enum status shadow_attach(struct shadow *shadow, const struct exec_function *kernel,
                          struct error *err)
{
    const struct program *program = kernel->program;
    enum status status = STATUS_OK;
    shadow->program = program;
    shadow->ops = program->op_count;
    shadow->plans = calloc(program->op_count + 1, sizeof(*shadow->plans));
    shadow->tallies = calloc(program->op_count + 1, sizeof(*shadow->tallies));
    if (!shadow->plans || !shadow->tallies)
        return error_set(err, STATUS_NO_MEMORY, "no memory to follow a kernel's numbers");
    for (unsigned i = 0; i < program->code_count && !status; i++) {
        plan_code(shadow, program->codes[i]);
        status = spread_reach(shadow, program->codes[i], err);
        put_in_front(shadow, program->codes[i]);
        widen(program->codes[i]);
    }
    return status;
}

void shadow_release(struct shadow *shadow)
{
    cell_map_clear(&shadow->map);
    free(shadow->plans);
    free(shadow->tallies);
    shadow->plans = NULL;
    shadow->tallies = NULL;
}

const struct ptx_instruction *shadow_instruction(const struct shadow *shadow, uint32_t origin)
{
    for (unsigned i = 0; origin && i < shadow->program->code_count; i++) {
        const struct code *code = shadow->program->codes[i];
        if (origin - 1 >= code->first && origin - 1 < code->first + code->count)
            return code->ops[origin - 1 - code->first].instruction;
    }
    return NULL;
}
