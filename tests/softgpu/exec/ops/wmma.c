/*
 * wmma.c - matrices that a warp loads, multiplies and stores as fragments, whose layout PTX leaves
 * open: here number i of a lane comes behind those of the lanes before, along rows of a, columns of
 * b and rows of the sum. Where lanes have more numbers than the matrix, it begins again.
 */
#include "exec/lane/lane_num.h"
#include "exec/ops/ops.h"

void wmma_place(const struct wmma_fragment *f, unsigned lane, unsigned i, unsigned *line,
                unsigned *k)
{
    const unsigned index = (lane * f->numbers + i) % (f->lines * f->length);
    *line = index / f->length;
    *k = index % f->length;
}

bool wmma_find(struct warp *w, const struct wmma_access *x, unsigned i, bool write,
               struct pointers *p)
{
    const unsigned first = first_lane(w->active);
    const uint64_t stride = ((const u32 *)at(w, x->stride))[first], bytes = x->fragment.bytes;
    enum memory memory = x->access.memory;
    uint64_t address[LANES];
    addresses(w, &x->access, address);
    uint64_t begin = address[first];
    if (memory == IN_GENERIC) {
        memory = window_of(begin);
        begin -= memory == IN_SHARED ? EXEC_SHARED_BASE : 0;
    }
    for (unsigned lane = 0; lane < LANES; lane++) {
        unsigned line, k;
        wmma_place(&x->fragment, lane, i, &line, &k);
        address[lane] = begin + bytes * (x->turned ? k * stride + line : line * stride + k);
    }
    if (memory == IN_GLOBAL || memory == IN_SHARED)
        return resolve(w, memory, address, bytes, bytes, write, p);
    fault_at(w, w->active, EXEC_ILLEGAL_ADDRESS, begin,
             "a matrix that is in no memory of all lanes");
    return false;
}

static u32 load_number(const uint8_t *p, unsigned bytes)
{
    if (bytes == 1)
        return __atomic_load_n(p, __ATOMIC_RELAXED);
    if (bytes == 2)
        return __atomic_load_n((const u16 *)(const void *)p, __ATOMIC_RELAXED);
    return __atomic_load_n((const u32 *)(const void *)p, __ATOMIC_RELAXED);
}

enum step op_wmma_load(struct warp *w, const struct op *op)
{
    const struct wmma_access *x = op->more;
    const struct wmma_fragment *f = &x->fragment;
    const unsigned each = 4 / f->bytes;
    u32 words[WMMA_REGISTERS][LANES] = {{0}};
    struct pointers p;
    if (!warp_is_whole(w))
        return STEP_FAULT;
    for (unsigned i = 0; i < f->numbers; i++) {
        if (!wmma_find(w, x, i, false, &p))
            return STEP_FAULT;
        for (unsigned lane = 0; lane < LANES; lane++)
            words[i / each][lane] |= load_number(p.p[lane], f->bytes) << 8 * f->bytes * (i % each);
    }
    for (unsigned r = 0; r < wmma_registers(f); r++)
        put(w, x->regs[r], 4, words[r]);
    return STEP_NEXT;
}

enum step op_wmma_store(struct warp *w, const struct op *op)
{
    const struct wmma_access *x = op->more;
    const struct wmma_fragment *f = &x->fragment;
    const unsigned each = 4 / f->bytes;
    struct pointers p;
    if (!warp_is_whole(w))
        return STEP_FAULT;
    for (unsigned i = 0; i < f->numbers; i++) {
        const u32 *words = at(w, x->regs[i / each]);
        if (!wmma_find(w, x, i, true, &p))
            return STEP_FAULT;
        for (uint32_t rest = w->active; rest; rest &= rest - 1) {
            const unsigned lane = first_lane(rest);
            if (f->bytes == 2)
                __atomic_store_n((u16 *)(void *)p.p[lane], (u16)(words[lane] >> 16 * (i % each)),
                                 __ATOMIC_RELAXED);
            else
                __atomic_store_n((u32 *)(void *)p.p[lane], words[lane], __ATOMIC_RELAXED);
        }
    }
    return STEP_NEXT;
}

static void gather(const struct warp *w, const struct wmma *g, const struct wmma_fragment *f,
                   const ref *regs, f64 out[][MMA_DEPTH])
{
    const unsigned each = 4 / f->bytes;
    unsigned line, k;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < f->numbers; i++) {
            wmma_place(f, lane, i, &line, &k);
            out[line][k] =
                mma_number(g->mma.a_kind, ((const u32 *)at(w, regs[i / each]))[lane], i % each);
        }
}

/* Number i of c, as the bits of a number of d. */
static u32 addend(const struct warp *w, const struct wmma *g, unsigned lane, unsigned i)
{
    const unsigned each = 4 / g->c.bytes;
    const u32 word = ((const u32 *)at(w, g->regs[3][i / each]))[lane];
    if (g->c.bytes == 4)
        return word;
    return g->mma.half ? word >> 16 * (i % 2) & 0xffff
                       : store32((f32)mma_number(MMA_F16, word, i % 2));
}

enum step op_wmma_mma(struct warp *w, const struct op *op)
{
    const struct wmma *g = op->more;
    const unsigned each = 4 / g->d.bytes;
    f64 a[MMA_LINES][MMA_DEPTH], b[MMA_LINES][MMA_DEPTH];
    u32 words[WMMA_REGISTERS][LANES] = {{0}};
    unsigned row, column;
    if (!warp_is_whole(w))
        return STEP_FAULT;
    gather(w, g, &g->a, g->regs[1], a);
    gather(w, g, &g->b, g->regs[2], b);
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < g->d.numbers; i++) {
            wmma_place(&g->d, lane, i, &row, &column);
            words[i / each][lane] |= mma_sum(&g->mma, a[row], b[column], addend(w, g, lane, i))
                                     << 16 * (i % each);
        }
    for (unsigned r = 0; r < wmma_registers(&g->d); r++)
        put(w, g->regs[0][r], 4, words[r]);
    return STEP_NEXT;
}
