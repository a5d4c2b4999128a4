#include "paying.h"

#include "base/clock.h"
#include "gate/gate_table.h"

static const int64_t NEVER = INT64_MAX;

enum {
    /* Most launches that are passed over before the accounts are read again: many enough that
     * reading costs little beside them, few enough that a program that becomes slower is checked
     * again soon. */
    PAUSE_MOST = 64,
    PROBE_GUESS_NS = 5000, /* of the first ones */
    /* Of each launch that is not passed over: what its two callbacks take outside of the times that
     * are measured, the clock included. */
    AROUND_NS = 150,
    DECISION_NS = 500, /* estimated time of a decision that takes nothing */
    /* A stream in which an outlier probe waits for so long has work enough to hide the host's
     * time. */
    BEHIND_NS = 500000,
};

/* ---- may it be checked, or probed ---- */

void paying_waited(const struct pipeline *pipeline, struct ticket *ticket)
{
    int64_t now = clock_ns();
    const struct check_cost cost = {.thread = (uint64_t)(now - ticket->began)};
    pipeline->sink->spent(pipeline->sink->user, &cost);
    ticket->began = now;
}

/* Whether the outlier gate is ready in this context; the first call has it set up, and waits. */
static bool can_probe(struct pipeline *pipeline, struct ticket *ticket)
{
    struct side *side = ticket->side;
    enum outlier_state state = atomic_load_explicit(&side->outlier.state, memory_order_acquire);
    if (state >= OUTLIER_READY)
        return state == OUTLIER_READY;
    if (side_request_probes(side))
        collector_wake(pipeline->collector);
    bool ready = side_wait_probes(side, pipeline->ready_wait_ms);
    paying_waited(pipeline, ticket);
    return ready;
}

/* ns until the budget allows an outlier probe of the launch; NEVER: it cannot be probed. */
static int64_t wait_for_probe(struct pipeline *pipeline, struct ticket *ticket,
                              const struct budget *probes)
{
    if (ticket->detector == OUTLIER_OFF || (ticket->note && ticket->note->blind) ||
        !can_probe(pipeline, ticket))
        return NEVER;
    int64_t wait = budget_wait(probes, NULL, ticket->began);
    int64_t end = budget_wait_end(ticket->budget, ticket->began);
    return wait > end ? wait : end;
}

/* Launches at this rate in `wait` ns and in the time that pays for one decision (DECISION_NS). */
static uint64_t launches_in(const struct ticket *ticket, double rate, int64_t wait)
{
    double paid = ticket->budget->share > 0 ? DECISION_NS / ticket->budget->share : 0;
    double launches = rate * ((double)wait + paid);
    return launches < PAUSE_MOST ? (uint64_t)launches : PAUSE_MOST;
}

/* Up to a quarter more launches, so that probes do not fall into step with a program that repeats
 * itself. */
static uint64_t varied(uint64_t launches, uint64_t number)
{
    uint64_t more = launches + (gate_mix(0, number) >> 32) % (launches / 4 + 1);
    return more < PAUSE_MOST ? more : PAUSE_MOST;
}

/*
 * The launch is neither checked nor probed. Passes over as many of its signature as come, at the
 * rate `rate`, before the budget allows a probe (in `probe` ns), or before the random gate may take
 * one and the budget allows its check (`check`).
 */
static void pass_over(const struct ticket *ticket, double rate, int64_t probe, int64_t check)
{
    if (!ticket->note)
        return;
    uint64_t drawn = gate_until_draw(ticket->note), paid = launches_in(ticket, rate, check);
    if (probe == NEVER && drawn >= paid) {
        gate_pause(ticket->note, drawn, SKIP_NOT_SAMPLED);
        return;
    }
    uint64_t checked = drawn > paid ? drawn : paid, probed = launches_in(ticket, rate, probe);
    gate_pause(ticket->note, varied(probed < checked ? probed : checked, ticket->note->number),
               SKIP_BUDGET);
}

/* Charges the hook's time for the launches that were passed over since the accounts were last read.
 * Returns their rate. */
static double settle_pause(const struct ticket *ticket)
{
    struct gate_note *note = ticket->note;
    if (!note)
        return 0;
    if (note->paused)
        budget_add(ticket->budget, ticket->began,
                   (int64_t)note->paused *
                       atomic_load_explicit(&passing.hook_ns, memory_order_relaxed));
    return gate_rate(note, ticket->began);
}

void paying_blind(struct ticket *ticket)
{
    if (ticket->note)
        ticket->note->blind = true;
}

/*
 * The random gate yields to the budget; the first launches of a signature do not, but are charged.
 * A launch that is not checked then is probed by the outlier gate, as long as its part of the
 * budget lasts, and unless the checks of launches that it selected have overdrawn the budget.
 */
enum skip paying_decide(struct pipeline *pipeline, struct ticket *ticket)
{
    struct known_kernel *kernel = ticket->kernel;
    bool own = kernel->spec->budget >= 0;
    struct budget *probes = own ? &kernel->probes : &ticket->side->probes;
    ticket->budget = own ? &kernel->budget : &ticket->side->budget;
    double rate = settle_pause(ticket);
    if (ticket->gate == GATE_FIRST)
        return SKIP_NONE;
    int64_t check = budget_wait(ticket->budget, ticket->use, ticket->began);
    if (ticket->gate == GATE_RANDOM && !check)
        return SKIP_NONE;
    ticket->otherwise = ticket->gate == GATE_RANDOM ? SKIP_BUDGET : SKIP_NOT_SAMPLED;
    int64_t probe = wait_for_probe(pipeline, ticket, probes);
    if (probe != NEVER)
        ticket->probes = probes;
    if (!probe) {
        ticket->index = outliers_index(pipeline->outliers, ticket->signature, ticket->detector,
                                       kernel->spec->outlier.inputs);
        if (ticket->index == OUTLIERS_BUSY)
            return ticket->otherwise;
        if (ticket->index < 0) { /* no statistics to hold it against */
            probe = NEVER;
            paying_blind(ticket);
        }
    }
    if (probe) {
        pass_over(ticket, rate, probe, check);
        return probe == NEVER ? ticket->otherwise : SKIP_BUDGET;
    }
    ticket->outlier.epoch = outliers_epoch(pipeline->outliers);
    ticket->gate = GATE_OUTLIER;
    return SKIP_NONE;
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
