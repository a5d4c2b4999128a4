/*
 * load_store.c - ld, st and cp.async: between 32 lanes' registers and 32 host pointers.
 *
 * Every element is one relaxed atomic access; volatile, relaxed and acquire loads acquire, their
 * stores release. On the host's processors that costs nothing.
 */
#include "exec/ops/ops.h"

typedef void gather_fn(void *to, uint8_t *const *p, size_t offset);
typedef void scatter_fn(const void *from, uint8_t *const *p, size_t offset, uint32_t mask);

#define GATHER(name, memory, reg, order)                                                           \
    static void name(void *to, uint8_t *const *p, size_t offset)                                   \
    {                                                                                              \
        reg *d = to;                                                                               \
        for (unsigned i = 0; i < LANES; i++)                                                       \
            d[i] = (reg)__atomic_load_n((const memory *)(const void *)(p[i] + offset), order);     \
    }
#define SCATTER(name, memory, reg, order)                                                          \
    static void name(const void *from, uint8_t *const *p, size_t offset, uint32_t mask)            \
    {                                                                                              \
        const reg *s = from;                                                                       \
        for (unsigned i = 0; i < LANES; i++)                                                       \
            if (mask >> i & 1)                                                                     \
                __atomic_store_n((memory *)(void *)(p[i] + offset), (memory)s[i], order);          \
    }
#define BOTH_ORDERS(family, name, memory, reg, strong)                                             \
    family(name##_plain, memory, reg, __ATOMIC_RELAXED) family(name##_strong, memory, reg, strong)
#define LOADS(name, memory)                                                                        \
    BOTH_ORDERS(GATHER, load_##name##_to16, memory, int16_t, __ATOMIC_ACQUIRE)                     \
    BOTH_ORDERS(GATHER, load_##name##_to32, memory, int32_t, __ATOMIC_ACQUIRE)                     \
    BOTH_ORDERS(GATHER, load_##name##_to64, memory, int64_t, __ATOMIC_ACQUIRE)
#define STORES(bits)                                                                               \
    BOTH_ORDERS(SCATTER, store_##bits##_from16, uint##bits##_t, uint16_t, __ATOMIC_RELEASE)        \
    BOTH_ORDERS(SCATTER, store_##bits##_from32, uint##bits##_t, uint32_t, __ATOMIC_RELEASE)        \
    BOTH_ORDERS(SCATTER, store_##bits##_from64, uint##bits##_t, uint64_t, __ATOMIC_RELEASE)

LOADS(u8, uint8_t)
LOADS(s8, int8_t)
LOADS(u16, uint16_t)
LOADS(s16, int16_t)
LOADS(u32, uint32_t)
LOADS(s32, int32_t)
LOADS(u64, uint64_t)
STORES(8)
STORES(16)
STORES(32)
STORES(64)

#define ROW(kind, side, order)                                                                     \
    {                                                                                              \
        kind##_##side##16_##order, kind##_##side##32_##order, kind##_##side##64_##order            \
    }
#define BOTH_ROWS(kind, side)                                                                      \
    {                                                                                              \
        ROW(kind, side, plain), ROW(kind, side, strong)                                            \
    }

/* [log2 of bytes][signed][strong][log2 of the register's bytes - 1] */
static gather_fn *const gathers[4][2][2][3] = {
    {BOTH_ROWS(load_u8, to), BOTH_ROWS(load_s8, to)},
    {BOTH_ROWS(load_u16, to), BOTH_ROWS(load_s16, to)},
    {BOTH_ROWS(load_u32, to), BOTH_ROWS(load_s32, to)},
    {BOTH_ROWS(load_u64, to), BOTH_ROWS(load_u64, to)},
};
static scatter_fn *const scatters[4][2][3] = {
    BOTH_ROWS(store_8, from),
    BOTH_ROWS(store_16, from),
    BOTH_ROWS(store_32, from),
    BOTH_ROWS(store_64, from),
};

static unsigned log2_of(unsigned n)
{
    return (unsigned)__builtin_ctz(n);
}

/* 128-bit elements go as two halves. */
static void load_wide(struct warp *w, const struct access *a, unsigned e, const struct pointers *p)
{
    uint64_t low[LANES], high[LANES], both[LANES * 2];
    gathers[3][0][a->acquire][2](low, p->p, displace(p->words, e * 16));
    gathers[3][0][a->acquire][2](high, p->p, displace(p->words, e * 16 + 8));
    for (unsigned i = 0; i < LANES; i++) {
        both[2 * i] = low[i];
        both[2 * i + 1] = high[i];
    }
    put(w, a->regs[e], 16, both);
}

static void store_wide(const struct warp *w, const struct access *a, unsigned e,
                       const struct pointers *p)
{
    uint64_t low[LANES], high[LANES];
    const uint64_t *both = at(w, a->regs[e]);
    for (unsigned i = 0; i < LANES; i++) {
        low[i] = both[2 * i];
        high[i] = both[2 * i + 1];
    }
    scatters[3][a->release][2](low, p->p, displace(p->words, e * 16), w->active);
    scatters[3][a->release][2](high, p->p, displace(p->words, e * 16 + 8), w->active);
}

/* A load that finds in the same place what it found the last time is a sign of waiting. */
static void note_polling(struct warp *w, const struct op *op, const struct access *a,
                         const struct pointers *p)
{
    uint64_t sum = (uintptr_t)op, values[LANES];
    if (a->regs[0] == REF_NONE)
        return;
    get64(w, a->regs[0], a->width, values);
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        unsigned i = first_lane(rest);
        sum = (sum ^ (uintptr_t)p->p[i]) * 0x9e3779b97f4a7c15u;
        sum = (sum ^ values[i]) * 0xff51afd7ed558ccdu;
    }
    uint64_t *seen = w->seen + ((uintptr_t)op / sizeof *op) % SEEN;
    if (*seen == sum)
        w->spins += 4;
    *seen = sum;
}

static bool load(struct warp *w, const struct op *op, const struct access *a, struct pointers *p)
{
    for (unsigned e = 0; a->bytes == 16 && e < a->count; e++)
        load_wide(w, a, e, p);
    if (a->bytes == 16)
        return true;
    gather_fn *fn = gathers[log2_of(a->bytes)][a->is_signed][a->acquire][log2_of(a->width) - 1];
    const bool all = whole(w);
    for (unsigned e = 0; e < a->count; e++) {
        if (a->regs[e] == REF_NONE)
            continue;
        size_t offset = displace(p->words, (size_t)e * a->bytes);
        if (all) {
            fn(at(w, a->regs[e]), p->p, offset);
        } else {
            fn(w->scratch, p->p, offset);
            put(w, a->regs[e], a->width, w->scratch);
        }
    }
    if (a->spins)
        note_polling(w, op, a, p);
    return true;
}

static bool store(struct warp *w, const struct op *op, const struct access *a, struct pointers *p)
{
    (void)op;
    if (a->bytes == 16) {
        for (unsigned e = 0; e < a->count; e++)
            store_wide(w, a, e, p);
        return true;
    }
    scatter_fn *fn = scatters[log2_of(a->bytes)][a->release][log2_of(a->width) - 1];
    for (unsigned e = 0; e < a->count; e++)
        fn(at(w, a->regs[e]), p->p, displace(p->words, (size_t)e * a->bytes), w->active);
    return true;
}

enum step op_ld(struct warp *w, const struct op *op)
{
    const struct access *a = op->more;
    enum step step = each_space(w, op, a, false, load);
    return a->spins && step == STEP_NEXT ? spin(w, 0) : step;
}

enum step op_st(struct warp *w, const struct op *op)
{
    return each_space(w, op, op->more, true, store);
}

unsigned async_copied(const struct warp *w, const struct async_copy *c, unsigned lane)
{
    unsigned bytes = c->bytes;
    if (c->source_bytes != REF_NONE) {
        uint64_t asked = lane_value(w, c->source_bytes, c->source_width, lane);
        bytes = asked < bytes ? (unsigned)asked : bytes;
    }
    if (c->ignore != REF_NONE && ((pred_at(w, c->ignore) ^ c->flip) >> lane & 1))
        bytes = 0;
    return bytes;
}

/* cp.async, done at once: the groups that wait for it find it done. */
enum step op_copy_async(struct warp *w, const struct op *op)
{
    const struct async_copy *c = op->more;
    const uint32_t active = w->active;
    uint64_t address[LANES];
    struct pointers to, from;
    uint32_t readers = 0;
    unsigned most = 0;
    addresses(w, &c->to, address);
    if (!resolve(w, IN_SHARED, address, c->bytes, c->bytes, true, &to))
        return STEP_FAULT;
    for (unsigned i = 0; i < LANES; i++) {
        unsigned bytes = active >> i & 1 ? async_copied(w, c, i) : 0;
        readers |= (uint32_t)(bytes > 0) << i;
        most = bytes > most ? bytes : most;
    }
    if (readers) {
        w->active = readers;
        addresses(w, &c->from, address);
        bool fine = resolve(w, IN_GLOBAL, address, most, c->bytes, false, &from);
        w->active = active;
        if (!fine)
            return STEP_FAULT;
    }
    for (unsigned i = 0; i < LANES; i++) {
        unsigned bytes = active >> i & 1 ? async_copied(w, c, i) : 0;
        for (unsigned b = 0; (active >> i & 1) && b < c->bytes; b++) {
            uint8_t v = b < bytes ? __atomic_load_n(from.p[i] + b, __ATOMIC_RELAXED) : 0;
            __atomic_store_n(to.p[i] + b, v, __ATOMIC_RELAXED);
        }
    }
    return STEP_NEXT;
}
