/* warpgroup.c - wgmma: products in fp64 of what lies in shared memory and registers. */
#include "tools/lift/parts.h"

struct operands {
    struct value a[MMA_ROWS][MMA_DEPTH], b[WGMMA_COLUMNS][MMA_DEPTH];
    bool departed;
};

/* tf32 numbers lie in memory as f32, whose last bits do not count. */
static void read_number(struct shadow *shadow, const uint8_t *host, enum format format,
                        struct value *out)
{
    uint32_t raw;
    shadow_at(shadow, host, format == FORMAT_TF32 ? FORMAT_F32 : format, out);
    if (format == FORMAT_TF32) {
        memcpy(&raw, host, sizeof(raw));
        out->got = number_of_bits(format, raw);
    }
}

/* `lines` rows of a or columns of b, from line `first` on. */
static bool gather(struct shadow *shadow, struct warp *w, const struct wgmma *g, bool is_b,
                   unsigned first, unsigned lines, struct operands *x)
{
    const enum format format = format_of_kind(is_b ? g->mma.b_kind : g->mma.a_kind);
    const bool transposed = is_b ? g->transposed_b : g->transposed_a;
    const uint64_t descriptor = lane_value(w, is_b ? g->b : g->a, 8, first_lane(w->active));
    for (unsigned i = 0; i < lines; i++)
        for (unsigned k = 0; k < g->mma.depth; k++) {
            struct value *out = is_b ? &x->b[i][k] : &x->a[i][k];
            const uint8_t *host =
                wgmma_host(w, descriptor, transposed, format_bytes(format), first + i, k);
            if (!host)
                return false;
            read_number(shadow, host, format, out);
            x->departed = x->departed || out->origin;
        }
    return true;
}

static void negate(const struct shadow *shadow, struct value lines[][MMA_DEPTH], unsigned count,
                   unsigned depth)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < depth; k++) {
            shadow->algebra->scale(&lines[i][k], 0, true);
            lines[i][k].got = -lines[i][k].got;
        }
}

static bool read_operands(struct shadow *shadow, struct warp *w, const struct wgmma *g,
                          struct operands *x)
{
    x->departed = false;
    if (!g->a_memory)
        x->departed = shadow_gather_a(shadow, w, &g->mma, x->a);
    else if (!gather(shadow, w, g, false, wgmma_row(w), MMA_ROWS, x))
        return false;
    if (!gather(shadow, w, g, true, 0, g->columns, x))
        return false;
    if (g->negative_a)
        negate(shadow, x->a, MMA_ROWS, g->mma.depth);
    if (g->negative_b)
        negate(shadow, x->b, g->columns, g->mma.depth);
    return true;
}

/* The numbers of d before the product, of each lane. */
struct sums {
    struct value c[WGMMA_COLUMNS / 2][LANES];
};

static void place_of(const struct wgmma *g, unsigned lane, unsigned i, struct sum_place *place,
                     unsigned *row, unsigned *column)
{
    unsigned r, half;
    wgmma_place_d(g, lane, i, &r, &half, row, column);
    *place = (struct sum_place){g->d[r], 2 * half, lane, g->mma.half ? FORMAT_F16 : FORMAT_F32};
}

static void read_sums(struct shadow *shadow, const struct warp *w, const struct wgmma *g,
                      struct sums *sums)
{
    struct value zero = {.got = 0};
    const bool adds = wgmma_adds(w, g);
    unsigned row, column;
    shadow->algebra->fresh(&zero);
    for (unsigned i = 0; i < g->columns / 2; i++)
        for (unsigned lane = 0; lane < LANES; lane++) {
            struct sum_place from;
            place_of(g, lane, i, &from, &row, &column);
            sums->c[i][lane] = zero;
            if (adds)
                shadow_read(shadow, w, from.r, 4, from.byte, from.format, lane, &sums->c[i][lane]);
        }
}

static enum step integers(struct warp *w, const struct op *op, const struct plan *plan)
{
    const struct wgmma *g = op->more;
    const enum step step = plan->own(w, op);
    for (unsigned i = 0; i < wgmma_registers(g); i++)
        shadow_void(w, g->d[i], 4);
    return step;
}

enum step watch_wgmma(struct shadow *shadow, struct warp *w, const struct op *op,
                      const struct plan *plan)
{
    const struct wgmma *g = op->more;
    const enum format operand = format_of_kind(g->mma.a_kind);
    struct operands x;
    struct sums sums;
    unsigned row, column;
    if (!operand)
        return integers(w, op, plan);
    if (!read_operands(shadow, w, g, &x))
        return STEP_FAULT;
    read_sums(shadow, w, g, &sums);
    const enum step step = plan->own(w, op);
    for (unsigned i = 0; i < g->columns / 2 && step == STEP_NEXT; i++)
        for (unsigned lane = 0; lane < LANES; lane++) {
            struct sum_place to;
            place_of(g, lane, i, &to, &row, &column);
            const struct dot dot = {x.a[row], x.b[column], g->mma.depth, operand, x.departed};
            shadow_dot(shadow, w, plan, &dot, &sums.c[i][lane], &to);
        }
    return step;
}
