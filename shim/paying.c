#include "paying.h"

#include "base/clock.h"
#include "gate/gate_table.h"

enum {
    PROBE_GUESS_NS = 5000, /* of the first ones */
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
    const struct check_cost cost = {.thread = (uint64_t)(now - ticket->began)};
    pipeline->sink->spent(pipeline->sink->user, &cost);
    ticket->began = now;
}

void paying_passed(const struct ticket *ticket)
{
    const struct gate_note *note = ticket->note;
    if (note && note->paused)
        budget_add(ticket->budget, ticket->began,
                   (int64_t)note->paused *
                       atomic_load_explicit(&passing.hook_ns, memory_order_relaxed));
}

/* ---- is the GPU behind ---- */

/* Whether an outlier probe that was enqueued has run, by `mark`, its sequence and slot. */
static bool has_run(const struct side *side, uint64_t mark)
{
    const struct snapshot_seal *seal = &side->seal[mark & ((1 << PROBE_BITS) - 1)];
    return __atomic_load_n(&seal->sequence, __ATOMIC_RELAXED) >= mark >> PROBE_BITS ||
           __atomic_load_n(&seal->ordinary, __ATOMIC_RELAXED) >> SEAL_TIME_BITS >= mark >>
               PROBE_BITS;
}

/* Whether the GPU has had work for BEHIND_NS all the time: then the host's work meanwhile delays
 * nothing. A probe that has not run yet does not show it: it takes some microseconds to start. */
static bool is_behind(const struct side *side, int64_t now)
{
    uint64_t mark = atomic_load_explicit(&side->mark, memory_order_acquire);
    return mark && !has_run(side, mark) &&
           now - atomic_load_explicit(&side->marked, memory_order_relaxed) > BEHIND_NS;
}

/* This probe becomes the mark, once the one before has run. */
static void mark_probe(struct side *side, const struct check *check, int64_t now)
{
    uint64_t mark = atomic_load_explicit(&side->mark, memory_order_relaxed);
    if (mark && !has_run(side, mark))
        return;
    atomic_store_explicit(&side->marked, now, memory_order_relaxed);
    atomic_store_explicit(&side->mark, check->sequence << PROBE_BITS | check->slot,
                          memory_order_release);
}

/* ---- what it costs ---- */

/* An outlier probe is charged to both accounts. The time of the program's thread is only an
 * estimate so far: see paying_thread. */
static void charge_probe(struct ticket *ticket, int64_t now, int64_t cost)
{
    struct check *check = ticket->check;
    int64_t probe = atomic_load_explicit(&ticket->kernel->probe, memory_order_relaxed);
    int64_t thread = is_behind(ticket->side, now) ? 0 : cost;
    check->cost = (struct check_cost){.thread = (uint64_t)cost};
    check->charged = thread + (probe ? probe : PROBE_GUESS_NS);
    check->budget = ticket->budget;
    check->probes = ticket->probes;
    check->use = NULL;
    check_charge(check, true, now, check->charged);
}

static void pay_check(struct ticket *ticket, int64_t now, int64_t cost)
{
    struct check *check = ticket->check;
    check->probes = NULL;
    check->cost = (struct check_cost){.thread = (uint64_t)cost};
    check->charged = cost + costs_estimate(&ticket->kernel->costs, check->arena_bytes);
    check->budget = ticket->budget;
    check->use = ticket->gate == GATE_RANDOM ? ticket->use : NULL;
    check_charge(check, false, now, check->charged);
}

static void charge_thread(const struct pipeline *pipeline, struct budget *budget,
                          struct budget *probes, int64_t now, int64_t cost)
{
    const struct check_cost charge = {.thread = (uint64_t)cost};
    if (budget)
        budget_add(budget, now, cost);
    if (probes)
        budget_add(probes, now, cost);
    if (pipeline->sink->spent)
        pipeline->sink->spent(pipeline->sink->user, &charge);
}

void paying_begins(const struct pipeline *pipeline, const struct launch *launch,
                   struct ticket *ticket)
{
    int64_t now = clock_ns(), cost = now - ticket->began + AROUND_NS;
    if (!ticket->skip && ticket->gate == GATE_OUTLIER) {
        charge_probe(ticket, now, cost);
    } else if (!ticket->skip) {
        pay_check(ticket, now, cost);
    } else if (ticket->budget) {
        charge_thread(pipeline, ticket->budget, ticket->probes, now, cost);
    } else { /* such as the first launch of a kernel */
        struct side *side = sides_find(pipeline->sides, (CUcontext)(uintptr_t)launch->context);
        bool ready = side && atomic_load_explicit(&side->state, memory_order_acquire) == SIDE_READY;
        charge_thread(pipeline, ready ? &side->budget : NULL, NULL, now, cost);
    }
}

void paying_back(const struct pipeline *pipeline, const struct check *check)
{
    int64_t now = clock_ns();
    check_charge(check, check->probes, now, -check->charged);
    charge_thread(pipeline, check->budget, check->probes, now, (int64_t)check->cost.thread);
}

void paying_after(const struct pipeline *pipeline, const struct ticket *ticket, int64_t time)
{
    charge_thread(pipeline, ticket->budget, ticket->probes, clock_ns(), time);
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
    bool behind = is_behind(ticket->side, now), is_probe = ticket->gate == GATE_OUTLIER;
    cost->thread += (uint64_t)time;
    if (behind && is_probe)
        cost->thread = 0;
    cost->overlap = behind ? cost->thread : 0;
    if (is_probe)
        mark_probe(ticket->side, ticket->check, now);
}
