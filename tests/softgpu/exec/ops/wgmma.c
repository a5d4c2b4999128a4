/*
 * wgmma.c - products of 64 rows by four warps, whose operands lie in shared memory.
 *
 * Each warp computes its own 16 rows when it comes to the instruction, so there is nothing left to
 * wait for: groups that are waited for are complete. A missing wait or fence is not found.
 */
#include "exec/ops/ops.h"

enum { CHUNK = 16, GROUP = 8, SPANS = 4 }; /* bytes that stay together; lines of a pattern */

uint64_t wgmma_place(uint64_t descriptor, bool transposed, unsigned bytes, unsigned line,
                     unsigned k)
{
    static const unsigned spans[SPANS] = {16, 128, 64, 32};
    const uint64_t start = (descriptor & 0x3fff) * CHUNK;
    const uint64_t lead = (descriptor >> 16 & 0x3fff) * CHUNK;
    const uint64_t stride = (descriptor >> 32 & 0x3fff) * CHUNK;
    const unsigned mode = (unsigned)(descriptor >> 62), span = spans[mode];
    const unsigned byte = (transposed ? line : k) * bytes, across = transposed ? k : line;
    uint64_t at = start + byte % span + across % GROUP * span;
    if (transposed && mode == 0)
        at += byte / span * stride + across / GROUP * lead;
    else
        at += byte / span * lead + across / GROUP * stride;
    return at ^ (at >> 7 & (span / CHUNK - 1)) * CHUNK;
}

uint8_t *wgmma_host(struct warp *w, uint64_t descriptor, bool transposed, unsigned bytes,
                    unsigned line, unsigned k)
{
    const uint64_t at = wgmma_place(descriptor, transposed, bytes, line, k);
    const size_t limit = w->launch->shared_bytes;
    if (descriptor >> 49 & 7) {
        fault_at(w, w->active, EXEC_ILLEGAL_INSTRUCTION, descriptor,
                 "a descriptor with a base offset, which is not supported here");
        return NULL;
    }
    if (at < limit && limit - at >= bytes)
        return w->block->shared + at;
    fault_at(w, w->active, EXEC_ILLEGAL_ADDRESS, EXEC_SHARED_BASE + at,
             "past the end of the block's shared memory");
    return NULL;
}

/* `lines` rows of a or columns of b, from line `first` on. */
static bool gather(struct warp *w, const struct wgmma *g, bool is_b, unsigned first, unsigned lines,
                   double to[][MMA_DEPTH])
{
    const enum mma_kind kind = is_b ? g->mma.b_kind : g->mma.a_kind;
    const bool transposed = is_b ? g->transposed_b : g->transposed_a;
    const unsigned bytes = 4 / g->mma.each;
    const uint64_t descriptor = lane_value(w, is_b ? g->b : g->a, 8, first_lane(w->active));
    for (unsigned i = 0; i < lines; i++)
        for (unsigned k = 0; k < g->mma.depth; k++) {
            uint32_t word = 0;
            const uint8_t *from = wgmma_host(w, descriptor, transposed, bytes, first + i, k);
            if (!from)
                return false;
            for (unsigned b = 0; b < bytes; b++)
                word |= (uint32_t)__atomic_load_n(from + b, __ATOMIC_RELAXED) << 8 * b;
            to[i][k] = mma_number(kind, word, 0);
        }
    return true;
}

static void negate(double lines[][MMA_DEPTH], unsigned count, unsigned depth)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < depth; k++)
            lines[i][k] = -lines[i][k];
}

struct operands {
    double a[MMA_ROWS][MMA_DEPTH], b[WGMMA_COLUMNS][MMA_DEPTH];
};

static bool read_operands(struct warp *w, const struct wgmma *g, struct operands *x)
{
    if (!g->a_memory)
        mma_gather_a(w, &g->mma, x->a);
    else if (!gather(w, g, false, wgmma_row(w), MMA_ROWS, x->a))
        return false;
    if (!gather(w, g, true, 0, g->columns, x->b))
        return false;
    if (g->negative_a)
        negate(x->a, MMA_ROWS, g->mma.depth);
    if (g->negative_b)
        negate(x->b, g->columns, g->mma.depth);
    return true;
}

enum step op_wgmma(struct warp *w, const struct op *op)
{
    struct operands x;
    const struct wgmma *g = op->more;
    if (!warp_is_whole(w))
        return STEP_FAULT;
    if (w->id / 4 * 4 + 4 > w->block->warp_count)
        return fault_at(w, w->active, EXEC_ILLEGAL_INSTRUCTION, 0,
                        "an instruction of four warps, of which the block has fewer");
    if (!read_operands(w, g, &x))
        return STEP_FAULT;
    const bool adds = wgmma_adds(w, g);
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < g->columns / 2; i++) {
            unsigned r, half, row, column;
            wgmma_place_d(g, lane, i, &r, &half, &row, &column);
            uint32_t *word = (uint32_t *)at(w, g->d[r]) + lane;
            const uint32_t mask = g->mma.half ? 0xffffu << 16 * half : ~0u;
            const uint32_t c = adds ? (*word & mask) >> 16 * half : 0;
            *word = (*word & ~mask) | mma_sum(&g->mma, x.a[row], x.b[column], c) << 16 * half;
        }
    return STEP_NEXT;
}
