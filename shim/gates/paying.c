#include "gates/paying.h"

#include "base/clock.h"
#include "gate/gate_table.h"

enum {
    /* Of each launch that is not passed over: what its two callbacks take outside of the times that
     * are measured, the clock included. */
    AROUND_NS = 150,
    /* A stream in which an outlier probe waits for so long has work enough to hide the host's
     * time. */
    BEHIND_NS = 500000,
};

void paying_waited(const struct pipeline *pipeline, struct ticket *ticket)
{
    int64_t now = clock_ns();
    ledger_time(pipeline->sink, NULL, now, now - ticket->began);
    ticket->began = now;
}

void paying_passed(const struct ticket *ticket)
{
    const struct gate_note *note = ticket->gate.note;
    if (note && note->paused)
        ledger_add(ticket->account.budget, ticket->began,
                   (int64_t)note->paused *
                       atomic_load_explicit(&passing.hook_ns, memory_order_relaxed));
}

/* ---- is the GPU behind ---- */

/* Whether an outlier probe that was enqueued has run, by `mark`, its sequence and slot. */
static bool has_run(const struct side *side, uint64_t mark)
{
    const struct snapshot_seal *seal = &side->slot.seal[mark & ((1 << PROBE_BITS) - 1)];
    return __atomic_load_n(&seal->sequence, __ATOMIC_RELAXED) >= mark >> PROBE_BITS ||
           __atomic_load_n(&seal->ordinary, __ATOMIC_RELAXED) >> SEAL_TIME_BITS >= mark >>
               PROBE_BITS;
}

/* Whether the GPU has had work for BEHIND_NS all the time: then the host's work meanwhile delays
 * nothing. A probe that has not run yet does not show it: it takes some microseconds to start. */
static bool collector_is_behind(const struct side *side, int64_t now)
{
    uint64_t mark = atomic_load_explicit(&side->mark.probe, memory_order_acquire);
    return mark && !has_run(side, mark) &&
           now - atomic_load_explicit(&side->mark.at, memory_order_relaxed) > BEHIND_NS;
}

/* This probe becomes the mark, once the one before has run. */
static void mark_probe(struct side *side, const struct check *check, int64_t now)
{
    uint64_t mark = atomic_load_explicit(&side->mark.probe, memory_order_relaxed);
    if (mark && !has_run(side, mark))
        return;
    atomic_store_explicit(&side->mark.at, now, memory_order_relaxed);
    atomic_store_explicit(&side->mark.probe, check->sequence << PROBE_BITS | check->slot,
                          memory_order_release);
}

/* ---- what it costs ---- */

/* The time of the program's thread is only an estimate so far, where a probe is charged: see
 * paying_thread. */
static void begin_check(struct ticket *ticket, int64_t now, int64_t cost)
{
    struct check *check = ticket->check;
    check->cost = (struct check_cost){.thread = (uint64_t)cost};
    check->account = ticket->account;
    if (ticket->gate.result != GATE_RANDOM)
        check->account.use = NULL;
    if (ticket->gate.result == GATE_OUTLIER)
        ledger_begin_probe(&check->account, ticket->kernel, now,
                           collector_is_behind(ticket->side, now) ? 0 : cost);
    else
        ledger_begin_check(&check->account, ticket->kernel, check->room.bytes, now, cost);
}

void paying_begins(const struct pipeline *pipeline, const struct launch *launch,
                   struct ticket *ticket)
{
    int64_t now = clock_ns(), cost = now - ticket->began + AROUND_NS;
    if (!ticket->skip) {
        begin_check(ticket, now, cost);
        return;
    }
    struct account account = ticket->account;
    if (!account.budget) { /* such as the first launch of a kernel */
        struct side *side = sides_find(pipeline->sides, (CUcontext)(uintptr_t)launch->context);
        bool ready = side && atomic_load_explicit(&side->state, memory_order_acquire) == SIDE_READY;
        account = (struct account){.budget = ready ? &side->budget : NULL};
    }
    ledger_time(pipeline->sink, &account, now, cost);
}

void paying_back(const struct pipeline *pipeline, const struct check *check)
{
    ledger_take_back(pipeline->sink, &check->account, clock_ns(), (int64_t)check->cost.thread);
}

void paying_after(const struct pipeline *pipeline, const struct ticket *ticket, int64_t time)
{
    ledger_time(pipeline->sink, &ticket->account, clock_ns(), time);
}

/*
 * The time after the launch is charged with the rest, when the check has ended.
 *
 * That of an outlier probe counts where it kept the GPU waiting, with this launch and its probe
 * enqueued. An earlier measurement would not do, for the work may have ended meanwhile.
 */
void paying_thread(struct ticket *ticket, int64_t time)
{
    struct check_cost *cost = &ticket->check->cost;
    int64_t now = clock_ns();
    bool behind = collector_is_behind(ticket->side, now),
         is_probe = ticket->gate.result == GATE_OUTLIER;
    cost->thread += (uint64_t)time;
    if (behind && is_probe)
        cost->thread = 0;
    cost->overlap = behind ? cost->thread : 0;
    if (is_probe)
        mark_probe(ticket->side, ticket->check, now);
}
