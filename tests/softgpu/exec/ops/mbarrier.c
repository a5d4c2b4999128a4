/*
 * mbarrier.c - barriers in shared memory: one word that counts arrivals, and bytes of copies, until
 * a phase is complete.
 *
 * The word's layout is private on a GPU. Here, from below: 20 bits of arrivals that are pending, 20
 * of those that the next phase needs, 22 of bytes with a sign, one of the phase. Before an arrival
 * it is the token that the arrival gives. Copies are done when they are expected, so arriving after
 * them is arriving.
 */
#include "exec/ops/ops.h"

enum { COUNT_BITS = 20, BYTES_AT = 2 * COUNT_BITS, PHASE_AT = 63 };
#define COUNT_MASK ((1ull << COUNT_BITS) - 1)
#define BYTES_MASK ((1ull << 22) - 1)

struct word {
    uint64_t pending, expected, bytes, phase;
};

static struct word unpack(uint64_t bits)
{
    return (struct word){bits & COUNT_MASK, bits >> COUNT_BITS & COUNT_MASK,
                         bits >> BYTES_AT & BYTES_MASK, bits >> PHASE_AT};
}

static uint64_t pack(struct word word)
{
    return (word.pending & COUNT_MASK) | (word.expected & COUNT_MASK) << COUNT_BITS |
           (word.bytes & BYTES_MASK) << BYTES_AT | word.phase << PHASE_AT;
}

static uint64_t changed(const struct mbarrier *m, uint64_t bits, uint64_t n)
{
    struct word word = unpack(bits);
    const uint64_t arrivals = m->expects ? 1 : n;
    if (m->verb == MBARRIER_INIT)
        return pack((struct word){n, n, 0, 0});
    if (m->verb == MBARRIER_INVAL)
        return 0;
    if (m->verb == MBARRIER_EXPECT_TX || m->expects)
        word.bytes += n;
    if (m->verb == MBARRIER_COMPLETE_TX)
        word.bytes -= n;
    if (m->verb == MBARRIER_DROP)
        word.expected -= arrivals;
    if (m->verb == MBARRIER_ARRIVE || m->verb == MBARRIER_DROP)
        word.pending -= arrivals;
    if (!(word.pending & COUNT_MASK) && !(word.bytes & BYTES_MASK) &&
        m->verb != MBARRIER_EXPECT_TX) {
        word.pending = word.expected;
        word.phase ^= 1;
    }
    return pack(word);
}

static bool change(struct warp *w, const struct op *op, const struct access *a, struct pointers *p)
{
    const struct mbarrier *m = op->more;
    uint64_t n[LANES], before[LANES] = {0};
    (void)a;
    get64(w, op->s[0], op->source, n);
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        unsigned i = first_lane(rest);
        uint64_t *place = (uint64_t *)(void *)p->p[i];
        before[i] = __atomic_load_n(place, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(place, before + i, changed(m, before[i], n[i]), true,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            ;
    }
    if (op->d != REF_NONE)
        put64(w, op->d, op->width, before);
    return true;
}

void mbarrier_complete(uint64_t *place, uint64_t bytes)
{
    const struct mbarrier m = {.verb = MBARRIER_COMPLETE_TX};
    uint64_t before = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(place, &before, changed(&m, before, bytes), true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
}

/* A lane that waits for a phase gets a turn again when others had theirs. */
static bool test(struct warp *w, const struct op *op, const struct access *a, struct pointers *p)
{
    const struct mbarrier *m = op->more;
    uint64_t of[LANES];
    uint32_t complete = 0;
    (void)a;
    get64(w, op->s[0], op->source, of);
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        unsigned i = first_lane(rest);
        uint64_t bits = __atomic_load_n((uint64_t *)(void *)p->p[i], __ATOMIC_ACQUIRE);
        uint64_t phase = m->verb == MBARRIER_PARITY ? of[i] & 1 : of[i] >> PHASE_AT;
        complete |= (uint32_t)(bits >> PHASE_AT != phase) << i;
    }
    put_pred(w, op->d, complete);
    if (complete != w->active)
        w->spins += 4;
    return true;
}

enum step op_mbarrier(struct warp *w, const struct op *op)
{
    const struct mbarrier *m = op->more;
    const bool tests = m->verb == MBARRIER_TOKEN || m->verb == MBARRIER_PARITY;
    enum step step = each_space(w, op, &m->access, !tests, tests ? test : change);
    return step == STEP_NEXT ? spin(w, 0) : step;
}

enum step op_mbarrier_pending(struct warp *w, const struct op *op)
{
    uint64_t token[LANES];
    get64(w, op->s[0], op->source, token);
    for (unsigned i = 0; i < LANES; i++)
        token[i] &= COUNT_MASK;
    put64(w, op->d, op->width, token);
    return STEP_NEXT;
}
