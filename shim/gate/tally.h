/*
 * tally.h - how threads count launches of one kernel without a lock: each in a copy of all buckets
 * on cache lines of its own. report/counters.h owns the copies and adds them up; a launch that is
 * passed over on the program's thread is counted here, by two words of one line.
 *
 * A thread gets its number at its first launch, and gives it back when it ends. TALLIES_OWNED
 * threads at once have a copy each, which no other thread writes, so that they need no locked
 * instruction; all others share the rest, and stay correct, because they add atomically.
 */
#ifndef GATE_TALLY_H
#define GATE_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gate/own.h"
#include "gate/passing.h"
#include "value/skip.h"
#include "value/verdict.h"

enum { TALLIES = 16, TALLIES_OWNED = 12, TALLY_LINE = 64, TALLY_STRIDE = 64 };

/* A kernel, or all that have no entry, has TALLIES of them, TALLY_STRIDE apart: those of one thread
 * lie side by side, so that threads that launch nothing take no memory. */
struct tally {
    _Alignas(TALLY_LINE) _Atomic uint64_t seen;
    _Atomic uint64_t verdict[VERDICT_COUNT];
    _Atomic uint64_t skip[SKIP_COUNT];
};

_Static_assert(offsetof(struct tally, skip[SKIP_UNREGISTERED]) < TALLY_LINE &&
                   offsetof(struct tally, skip[SKIP_NOT_SAMPLED]) < TALLY_LINE &&
                   offsetof(struct tally, skip[SKIP_BUDGET]) < TALLY_LINE,
               "what launches that are passed over are counted as is on the line of those seen");

/* The one of a kernel's that belongs to thread `which`. */
static inline struct tally *tally_at(struct tally *tallies, unsigned which)
{
    return tallies + (size_t)which * TALLY_STRIDE;
}

/* Of a thread that has no number yet. Any thread. */
unsigned tally_take_number(void);

/* Which of a kernel's tallies the calling thread counts in. */
static inline unsigned tally_own(void)
{
    uint32_t number = own_thread.tally;
    return number ? number - 1 : tally_take_number();
}

/* Whether launches may be passed over at all: not while a trace is taken. Set before the first. */
extern bool tally_passing;

/* Whether launches of the calling thread may be passed over; never, while it shares its tallies. */
static inline void tally_let_pass(bool may)
{
    own_thread.passes =
        may && tally_passing && own_thread.tally <= TALLIES_OWNED ? own_thread.tally : 0;
}

/* To a bucket of the calling thread's, which are `which`. */
static inline void tally_add(_Atomic uint64_t *bucket, unsigned which, uint64_t more)
{
    if (which < TALLIES_OWNED)
        atomic_store_explicit(bucket, atomic_load_explicit(bucket, memory_order_relaxed) + more,
                              memory_order_relaxed);
    else
        atomic_fetch_add_explicit(bucket, more, memory_order_relaxed);
}

/* Launches that only ledger_pass counted, so that they are missing in the process's launches seen.
 * Any thread. */
static inline uint64_t tally_passed(const struct tally *tallies)
{
    uint32_t threads = atomic_load_explicit(&passing.threads, memory_order_relaxed);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < threads; i++)
        sum += atomic_load_explicit(&tallies[i * TALLY_STRIDE].seen, memory_order_relaxed);
    return sum;
}

#endif
