/* matrix.c - mma, wmma, ldmatrix and stmatrix. */
#include "tools/lift/parts.h"

/* ---- mma ---- */

static const enum format formats[] = {
    [MMA_F16] = FORMAT_F16,   [MMA_BF16] = FORMAT_BF16, [MMA_TF32] = FORMAT_TF32,
    [MMA_E4M3] = FORMAT_E4M3, [MMA_E5M2] = FORMAT_E5M2, [MMA_S8] = FORMAT_NONE,
    [MMA_U8] = FORMAT_NONE,
};

enum format format_of_kind(enum mma_kind kind)
{
    return formats[kind];
}

struct operands {
    struct value a[MMA_LINES][MMA_DEPTH], b[MMA_LINES][MMA_DEPTH];
    bool departed; /* some number among them is outside its bound */
};

/* tf32 numbers lie in registers as f32, whose last bits do not count. */
static bool read_number(struct shadow *shadow, const struct warp *w, ref r, enum format format,
                        unsigned e, unsigned lane, struct value *out)
{
    const bool tf32 = format == FORMAT_TF32;
    shadow_read(shadow, w, r, 4, e * format_bytes(format), tf32 ? FORMAT_F32 : format, lane, out);
    if (tf32)
        out->got = number_of_bits(FORMAT_TF32, register_raw(at(w, r), 4, lane, 0, 4));
    return out->origin;
}

bool shadow_gather_a(struct shadow *shadow, const struct warp *w, const struct mma *m,
                     struct value a[][MMA_DEPTH])
{
    bool departed = false;
    unsigned row, k;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned r = 0; r < m->a_count; r++)
            for (unsigned e = 0; e < m->each; e++) {
                mma_place_a(m, lane, r, e, &row, &k);
                departed |=
                    read_number(shadow, w, m->a[r], formats[m->a_kind], e, lane, &a[row][k]);
            }
    return departed;
}

static bool gather_b(struct shadow *shadow, const struct warp *w, const struct mma *m,
                     struct value b[][MMA_DEPTH])
{
    bool departed = false;
    unsigned column, k;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned r = 0; r < m->b_count; r++)
            for (unsigned e = 0; e < m->each; e++) {
                mma_place_b(m, lane, r, e, &column, &k);
                departed |=
                    read_number(shadow, w, m->b[r], formats[m->b_kind], e, lane, &b[column][k]);
            }
    return departed;
}

/* c, and the operands of the sum that are outside their bounds. */
static unsigned list_inputs(const struct dot *dot, const struct value *c, struct value *in)
{
    unsigned count = 0;
    in[count++] = *c;
    for (unsigned k = 0; dot->departed && k < dot->count; k++) {
        if (dot->x[k].origin)
            in[count++] = dot->x[k];
        if (dot->y[k].origin)
            in[count++] = dot->y[k];
    }
    return count;
}

void shadow_dot(struct shadow *shadow, const struct warp *w, const struct plan *plan,
                const struct dot *dot, const struct value *c, const struct sum_place *to)
{
    struct value in[1 + 2 * MMA_DEPTH], out = *c;
    const unsigned count = list_inputs(dot, c, in);
    out.got = number_of_bits(
        to->format, register_raw(at(w, to->r), 4, to->lane, to->byte, format_bytes(to->format)));
    shadow->lane = to->lane;
    shadow->algebra->dot(shadow, dot->x, dot->y, dot->count, dot->operand, &out);
    shadow->algebra->settle(shadow, plan, to->format, in, count, &out);
    shadow_write(w, to->r, 4, to->byte, to->format, to->lane, &out);
}

struct sums {
    struct value c[MMA_SUMS][LANES];
};

/* Register and byte of number i of a lane. */
static void place_of(const struct mma *m, unsigned i, unsigned *r, unsigned *byte)
{
    *r = m->half ? i / 2 : i;
    *byte = m->half ? i % 2 * 2 : 0;
}

static void keep_sum(struct shadow *shadow, const struct warp *w, const struct plan *plan,
                     const struct operands *x, const struct value *c, unsigned lane, unsigned i)
{
    const struct mma *m = plan->more;
    struct sum_place to = {.format = m->half ? FORMAT_F16 : FORMAT_F32, .lane = lane};
    unsigned row, column, r;
    mma_place_sum(m, lane, i, &row, &column);
    place_of(m, i, &r, &to.byte);
    to.r = m->d[r];
    if (to.r == REF_NONE)
        return;
    const struct dot dot = {x->a[row], x->b[column], m->depth, formats[m->a_kind], x->departed};
    shadow_dot(shadow, w, plan, &dot, c, &to);
}

static enum step integers(struct warp *w, const struct op *op, const struct plan *plan)
{
    const struct mma *m = op->more;
    const enum step step = plan->own(w, op);
    for (unsigned i = 0; i < m->sums; i++)
        if (m->d[i] != REF_NONE)
            shadow_void(w, m->d[i], 4);
    return step;
}

enum step watch_mma(struct shadow *shadow, struct warp *w, const struct op *op,
                    const struct plan *plan)
{
    static _Thread_local struct operands x;
    const struct mma *m = op->more;
    const enum format format = m->half ? FORMAT_F16 : FORMAT_F32;
    struct sums sums;
    unsigned r, byte;
    if (!formats[m->a_kind])
        return integers(w, op, plan);
    x.departed = shadow_gather_a(shadow, w, m, x.a);
    x.departed |= gather_b(shadow, w, m, x.b);
    for (unsigned i = 0; i < m->sums; i++) {
        place_of(m, i, &r, &byte);
        for (unsigned lane = 0; lane < LANES; lane++)
            shadow_read(shadow, w, m->c[r], 4, byte, format, lane, &sums.c[i][lane]);
    }
    const enum step step = plan->own(w, op);
    for (unsigned i = 0; i < m->sums && step == STEP_NEXT; i++)
        for (unsigned lane = 0; lane < LANES; lane++)
            keep_sum(shadow, w, plan, &x, &sums.c[i][lane], lane, i);
    return step;
}

/* ---- matrices in shared memory ---- */

/* Cells of a lane's register, from byte `first` on, and those of the memory at `host`. */
static void move_bytes(struct shadow *shadow, const struct warp *w, ref r, unsigned first,
                       unsigned lane, uint8_t *host, unsigned bytes, bool loads)
{
    struct cell *cell = frame_cells(w) + r + (size_t)first * LANES + lane;
    bool any = false;
    for (unsigned b = 0; b < bytes && !loads; b++)
        any = any || cell[(size_t)b * LANES].tag;
    struct cell *memory = cell_map_at(&shadow->map, host, any);
    for (unsigned b = 0; b < bytes; b++) {
        struct cell *from = loads ? memory ? &memory[b] : NULL : &cell[(size_t)b * LANES];
        struct cell *to = loads ? &cell[(size_t)b * LANES] : memory ? &memory[b] : NULL;
        const bool there = from && from->tag && b + format_bytes(cell_format(from)) <= bytes;
        if (to && there)
            *to = *from;
        else if (to)
            to->tag = 0;
    }
}

/* The bytes of one half, or of both where they lie side by side. */
static void move_half(struct shadow *shadow, const struct warp *w, const struct matrix_access *x,
                      uint8_t *const *rows, unsigned m, unsigned lane, unsigned e, bool loads)
{
    unsigned row, column;
    matrix_place(x, lane, e, &row, &column);
    move_bytes(shadow, w, x->access.regs[m], 2 * e, lane, rows[8 * m + row] + 2 * column,
               x->transposed ? 2 : 4, loads);
}

static void move_matrices(struct shadow *shadow, const struct warp *w,
                          const struct matrix_access *x, uint8_t *const *rows, bool loads)
{
    for (unsigned m = 0; m < x->access.count; m++)
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned e = 0; e < (x->transposed ? 2u : 1u); e++)
                if (x->access.regs[m] != REF_NONE && !(x->access.regs[m] & REF_CONSTANT))
                    move_half(shadow, w, x, rows, m, lane, e, loads);
}

static enum step watch_matrix(struct shadow *shadow, struct warp *w, const struct op *op,
                              const struct plan *plan, bool loads)
{
    const struct matrix_access *x = op->more;
    uint8_t *rows[8 * 4];
    if (!matrix_rows(w, x, !loads, rows))
        return STEP_FAULT;
    const enum step step = plan->own(w, op);
    if (step == STEP_NEXT)
        move_matrices(shadow, w, x, rows, loads);
    return step;
}

enum step watch_matrix_load(struct shadow *shadow, struct warp *w, const struct op *op,
                            const struct plan *plan)
{
    return watch_matrix(shadow, w, op, plan, true);
}

enum step watch_matrix_store(struct shadow *shadow, struct warp *w, const struct op *op,
                             const struct plan *plan)
{
    return watch_matrix(shadow, w, op, plan, false);
}

/* ---- wmma: fragments from and to memory ---- */

static bool has_cells(ref r)
{
    return r != REF_NONE && !(r & REF_CONSTANT);
}

static void move_fragment(struct shadow *shadow, const struct warp *w, const struct wmma_access *x,
                          const struct pointers *p, bool loads)
{
    const unsigned bytes = x->fragment.bytes, each = 4 / bytes;
    for (unsigned i = 0; i < x->fragment.numbers; i++)
        for (unsigned lane = 0; lane < LANES; lane++)
            if (has_cells(x->regs[i / each]))
                move_bytes(shadow, w, x->regs[i / each], i % each * bytes, lane, p[i].p[lane],
                           bytes, loads);
}

static enum step watch_fragment(struct shadow *shadow, struct warp *w, const struct op *op,
                                const struct plan *plan, bool loads)
{
    enum { NUMBERS = 4 * WMMA_REGISTERS };
    static _Thread_local struct pointers p[NUMBERS];
    const struct wmma_access *x = op->more;
    if (!warp_is_whole(w))
        return STEP_FAULT;
    for (unsigned i = 0; i < x->fragment.numbers; i++)
        if (!wmma_find(w, x, i, !loads, &p[i]))
            return STEP_FAULT;
    const enum step step = plan->own(w, op);
    if (step == STEP_NEXT)
        move_fragment(shadow, w, x, p, loads);
    return step;
}

enum step watch_wmma_load(struct shadow *shadow, struct warp *w, const struct op *op,
                          const struct plan *plan)
{
    return watch_fragment(shadow, w, op, plan, true);
}

enum step watch_wmma_store(struct shadow *shadow, struct warp *w, const struct op *op,
                           const struct plan *plan)
{
    return watch_fragment(shadow, w, op, plan, false);
}

/* True: some number is outside its bound. */
static bool gather_fragment(struct shadow *shadow, const struct warp *w,
                            const struct wmma_fragment *f, const ref *regs, enum format format,
                            struct value out[][MMA_DEPTH])
{
    const unsigned each = 4 / f->bytes;
    bool departed = false;
    unsigned line, k;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < f->numbers; i++) {
            wmma_place(f, lane, i, &line, &k);
            departed |=
                read_number(shadow, w, regs[i / each], format, i % each, lane, &out[line][k]);
        }
    return departed;
}

static enum step wmma_integers(struct warp *w, const struct op *op, const struct plan *plan)
{
    const struct wmma *g = op->more;
    const enum step step = plan->own(w, op);
    for (unsigned r = 0; r < wmma_registers(&g->d); r++)
        if (g->regs[0][r] != REF_NONE)
            shadow_void(w, g->regs[0][r], 4);
    return step;
}

static enum format format_of_sum(const struct wmma_fragment *f)
{
    return f->bytes == 2 ? FORMAT_F16 : FORMAT_F32;
}

enum step watch_wmma(struct shadow *shadow, struct warp *w, const struct op *op,
                     const struct plan *plan)
{
    enum { NUMBERS = 2 * WMMA_REGISTERS };
    static _Thread_local struct operands x;
    static _Thread_local struct value sum[NUMBERS][LANES];
    const struct wmma *g = op->more;
    const enum format format = formats[g->mma.a_kind];
    const unsigned each_c = 4 / g->c.bytes, each_d = 4 / g->d.bytes;
    if (!format)
        return wmma_integers(w, op, plan);
    if (!warp_is_whole(w))
        return STEP_FAULT;
    x.departed = gather_fragment(shadow, w, &g->a, g->regs[1], format, x.a);
    x.departed |= gather_fragment(shadow, w, &g->b, g->regs[2], format, x.b);
    for (unsigned i = 0; i < g->c.numbers; i++)
        for (unsigned lane = 0; lane < LANES; lane++)
            shadow_read(shadow, w, g->regs[3][i / each_c], 4, i % each_c * g->c.bytes,
                        format_of_sum(&g->c), lane, &sum[i][lane]);
    const enum step step = plan->own(w, op);
    for (unsigned i = 0; i < g->d.numbers && step == STEP_NEXT; i++)
        for (unsigned lane = 0; lane < LANES; lane++) {
            const struct sum_place to = {.r = g->regs[0][i / each_d],
                                         .byte = i % each_d * g->d.bytes,
                                         .lane = lane,
                                         .format = format_of_sum(&g->d)};
            unsigned row, column;
            wmma_place(&g->d, lane, i, &row, &column);
            const struct dot dot = {x.a[row], x.b[column], g->mma.depth, format, x.departed};
            if (to.r != REF_NONE)
                shadow_dot(shadow, w, plan, &dot, &sum[i][lane], &to);
        }
    return step;
}
