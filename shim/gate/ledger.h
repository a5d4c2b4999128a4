/*
 * ledger.h - where launches are counted into buckets, and costs are charged to accounts: nothing
 * else does either.
 *
 * Each launch of the program is counted once: by ledger_pass; by ledger_count; or by ledger_seen,
 * and later by ledger_skip or the sink's `judged`. Any thread, no lock.
 */
#ifndef GATE_LEDGER_H
#define GATE_LEDGER_H

#include "base/hot.h"
#include "gate/kernels.h"
#include "gate/tally.h"
#include "value/sink.h"

/* ---- launches ---- */

/* A launch is passed over, without a lock or a call. `passes`: own_thread.passes, not 0. */
HOT_INLINE void ledger_pass(struct tally *tallies, uint32_t passes, enum skip skip)
{
    struct tally *own = tally_at(tallies, passes - 1);
    tally_add(&own->seen, 0, 1);
    tally_add(&own->skip[skip], 0, 1);
}

/* The driver refused a launch that the calling thread has passed over, as `from`. `spec`: NULL for
 * unregistered kernels. */
void ledger_pass_failed(const struct sink *sink, const struct kernel_spec *spec, enum skip from);

/* A launch begins. */
static inline void ledger_seen(const struct sink *sink)
{
    sink->seen(sink->user);
}

/* It ends unchecked. `spec` is NULL where none is known. */
static inline void ledger_skip(const struct sink *sink, const struct kernel_spec *spec,
                               enum skip skip)
{
    sink->skipped(sink->user, spec, skip);
}

/* Both, of `launches` at once. */
static inline void ledger_count(const struct sink *sink, const struct kernel_spec *spec,
                                enum skip skip, uint64_t launches)
{
    sink->counted(sink->user, spec, skip, launches);
}

/* ---- costs, in ns; `now` is clock_ns() ---- */

/* Who pays for a launch. */
struct account {
    struct budget *budget;  /* NULL: none does */
    struct budget *probes;  /* the outlier gate's, where it may probe the launch; else NULL */
    struct budget_use *use; /* of its signature, noted too; NULL: it is not */
    int64_t charged;        /* when its check began */
    bool dear;              /* its kernel's checks wait for the budget (kernel_spec.guess) */
};

/* The time of the program's thread, which no check pays for: its reports, and, where there is an
 * account, that. */
void ledger_time(const struct sink *sink, const struct account *account, int64_t now, int64_t cost);

/* A cost that the reports do not show. */
void ledger_add(struct budget *budget, int64_t now, int64_t cost);

/* A check of `bytes`, or a probe of the outlier gate, begins: charges what it will cost by
 * estimate, with `thread` of the program's thread. */
void ledger_begin_check(struct account *account, const struct known_kernel *kernel, uint64_t bytes,
                        int64_t now, int64_t thread);
void ledger_begin_probe(struct account *account, const struct known_kernel *kernel, int64_t now,
                        int64_t thread);

/* It came to nothing: `thread` alone is charged. */
void ledger_take_back(const struct sink *sink, const struct account *account, int64_t now,
                      int64_t thread);

/* It has ended: what it has cost takes the place of the estimate, of this one and of the next. Sets
 * cost->overlap where the caller did not. */
void ledger_settle(const struct sink *sink, const struct account *account,
                   struct known_kernel *kernel, uint64_t bytes, int64_t now,
                   struct check_cost *cost);

#endif
