/*
 * atomic.c - atom and red: each lane in its turn, each one an atomic operation of the host with the
 * order of acquire and release.
 */
#include <pthread.h>
#include "exec/ops/ops.h"

static uint64_t integer(enum atomic op, bool is_signed, unsigned bytes, uint64_t a, uint64_t b)
{
    const uint64_t ones = bytes == 8 ? UINT64_MAX : (1ull << (bytes * 8)) - 1;
    const unsigned up = 64 - bytes * 8;
    bool less = is_signed ? (int64_t)(a << up) < (int64_t)(b << up) : (a & ones) < (b & ones);
    switch (op) {
    case ATOMIC_ADD:
        return (a + b) & ones;
    case ATOMIC_MIN:
        return less ? a : b;
    case ATOMIC_MAX:
        return less ? b : a;
    case ATOMIC_INC:
        return a >= b ? 0 : a + 1;
    case ATOMIC_DEC:
        return a == 0 || a > b ? b : a - 1;
    case ATOMIC_AND:
        return a & b;
    case ATOMIC_OR:
        return a | b;
    case ATOMIC_XOR:
        return a ^ b;
    default:
        return b;
    }
}

static double pick(enum atomic op, double a, double b)
{
    if (a != a)
        return b;
    if (b != b)
        return a;
    bool less = a < b || (a == b && __builtin_signbit(a));
    return (op == ATOMIC_MIN) == less ? a : b;
}

static float f32_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return f != f ? 0x7fffffff : bits;
}

static uint32_t flush(uint32_t bits)
{
    return bits & 0x7f800000 ? bits : bits & 0x80000000;
}

static uint64_t f64(enum atomic op, uint64_t a, uint64_t b)
{
    double x, y, r;
    memcpy(&x, &a, 8);
    memcpy(&y, &b, 8);
    r = op == ATOMIC_ADD ? x + y : pick(op, x, y);
    memcpy(&a, &r, 8);
    return a;
}

/* Device memory's adders flush subnormal numbers; those of shared memory do not. */
static uint64_t f32(enum atomic op, uint32_t a, uint32_t b, bool shared)
{
    if (op != ATOMIC_ADD)
        return bits_of((float)pick(op, f32_of(a), f32_of(b)));
    if (shared)
        return bits_of(f32_of(a) + f32_of(b));
    return flush(bits_of(f32_of(flush(a)) + f32_of(flush(b))));
}

/* A sum of two halves fits f32 well enough that rounding it twice rounds it once. */
static uint64_t f16(enum atomic op, uint16_t a, uint16_t b)
{
    _Float16 x, y, r;
    memcpy(&x, &a, 2);
    memcpy(&y, &b, 2);
    r = op == ATOMIC_ADD ? (_Float16)((float)x + (float)y) : (_Float16)pick(op, (float)x, (float)y);
    memcpy(&a, &r, 2);
    return r != r ? 0x7fff : a;
}

static uint64_t bf16(enum atomic op, uint16_t a, uint16_t b)
{
    float x = f32_of((uint32_t)a << 16), y = f32_of((uint32_t)b << 16);
    float r = op == ATOMIC_ADD ? x + y : (float)pick(op, x, y);
    uint32_t bits = bits_of(r);
    if (r != r)
        return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint64_t part(const struct atomic_access *x, uint64_t a, uint64_t b, bool shared)
{
    if (x->op == ATOMIC_EXCH)
        return b;
    switch (x->number) {
    case NUMBER_F64:
        return f64(x->op, a, b);
    case NUMBER_F32:
        return f32(x->op, (uint32_t)a, (uint32_t)b, shared);
    case NUMBER_F16:
        return f16(x->op, (uint16_t)a, (uint16_t)b);
    case NUMBER_BF16:
        return bf16(x->op, (uint16_t)a, (uint16_t)b);
    default:
        return integer(x->op, x->number == NUMBER_S, x->part, a, b);
    }
}

static uint64_t change(const struct atomic_access *x, uint64_t old, uint64_t operand, uint64_t swap,
                       bool shared)
{
    if (x->op == ATOMIC_CAS)
        return old == operand ? swap : old;
    if (x->part == x->access.bytes)
        return part(x, old, operand, shared);
    const unsigned bits = x->part * 8;
    const uint64_t low = (1ull << bits) - 1;
    return part(x, old & low, operand & low, shared) |
           part(x, old >> bits & low, operand >> bits & low, shared) << bits;
}

#define EXCHANGE(type)                                                                             \
    do {                                                                                           \
        type *place = (type *)(void *)p, was = __atomic_load_n(place, __ATOMIC_RELAXED), next;     \
        do                                                                                         \
            next = (type)change(x, was, (type)operand, (type)swap, shared);                        \
        while (!__atomic_compare_exchange_n(place, &was, next, true, __ATOMIC_ACQ_REL,             \
                                            __ATOMIC_ACQUIRE));                                    \
        *changed |= was != next;                                                                   \
        return was;                                                                                \
    } while (0)

static uint64_t exchange(const struct atomic_access *x, uint8_t *p, uint64_t operand, uint64_t swap,
                         bool shared, bool *changed)
{
    if (x->access.bytes == 2)
        EXCHANGE(uint16_t);
    if (x->access.bytes == 4)
        EXCHANGE(uint32_t);
    EXCHANGE(uint64_t);
}

/*
 * exch and cas of 128 bits, in any memory. Not every host has such an operation, so all of them
 * take turns; a load beside them reads two words, as everywhere here.
 */
static pthread_mutex_t wide_turn = PTHREAD_MUTEX_INITIALIZER;

static unsigned __int128 exchange_wide(const struct atomic_access *x, uint64_t *low, uint64_t *high,
                                       unsigned __int128 operand, unsigned __int128 swap,
                                       bool *changed)
{
    pthread_mutex_lock(&wide_turn);
    unsigned __int128 was = (unsigned __int128)__atomic_load_n(high, __ATOMIC_ACQUIRE) << 64 |
                            __atomic_load_n(low, __ATOMIC_ACQUIRE);
    unsigned __int128 next = x->op == ATOMIC_EXCH ? operand : was == operand ? swap : was;
    if (was != next) {
        __atomic_store_n(low, (uint64_t)next, __ATOMIC_RELEASE);
        __atomic_store_n(high, (uint64_t)(next >> 64), __ATOMIC_RELEASE);
        *changed = true;
    }
    pthread_mutex_unlock(&wide_turn);
    return was;
}

static bool atomics_wide(struct warp *w, const struct atomic_access *x, struct pointers *p)
{
    unsigned __int128 old[LANES] = {0};
    const unsigned __int128 *operand = at(w, x->access.regs[0]);
    const unsigned __int128 *swap = x->swap == REF_NONE ? operand : at(w, x->swap);
    bool changed = false;
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        unsigned i = first_lane(rest);
        old[i] = exchange_wide(x, (uint64_t *)(void *)p->p[i],
                               (uint64_t *)(void *)(p->p[i] + displace(p->words, 8)), operand[i],
                               swap[i], &changed);
    }
    put(w, x->d[0], 16, old);
    if (!changed)
        w->spins += 4;
    return true;
}

static bool atomics(struct warp *w, const struct op *op, const struct access *a, struct pointers *p)
{
    const struct atomic_access *x = op->more;
    if (a->bytes == 16)
        return atomics_wide(w, x, p);
    bool changed = false;
    uint8_t *const shared_memory = w->block->shared;
    for (unsigned e = 0; e < a->count; e++) {
        uint64_t operand[LANES], swap[LANES] = {0}, old[LANES] = {0};
        get64(w, a->regs[e], a->width, operand);
        if (x->swap != REF_NONE)
            get64(w, x->swap, x->swap_width, swap);
        for (uint32_t rest = w->active; rest; rest &= rest - 1) {
            unsigned i = first_lane(rest);
            uint8_t *place = p->p[i] + displace(p->words, (size_t)e * a->bytes);
            bool shared = (uintptr_t)place - (uintptr_t)shared_memory < w->block->shared_bytes;
            old[i] = exchange(x, place, operand[i], swap[i], shared, &changed);
        }
        if (x->d[e] != REF_NONE)
            put64(w, x->d[e], x->d_width, old);
    }
    if (!changed)
        w->spins += 4;
    return true;
}

enum step op_atomic(struct warp *w, const struct op *op)
{
    const struct atomic_access *x = op->more;
    enum step step = each_space(w, op, &x->access, true, atomics);
    return step == STEP_NEXT ? spin(w, 0) : step;
}
