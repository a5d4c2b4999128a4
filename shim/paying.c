#include "paying.h"

#include "base/clock.h"
#include "gate/gate_table.h"

static const int64_t NEVER = INT64_MAX;

enum {
    /* Launches that are passed over before the accounts are asked again: then asking costs little
     * beside them, and a program that becomes slower has them asked again soon. */
    PAUSE_MOST = 64,
    LOOK_GUESS_NS = 5000, /* of the first ones */
    /* Of each launch that is not passed over: what its two callbacks take outside of the times that
     * are measured, the clock included. */
    AROUND_NS = 150,
    ASK_NS = 500, /* that asking in vain takes, about */
    /* A stream in which a look waits for so long has work enough to hide what the host does. */
    BEHIND_NS = 500000,
};

/* ---- may it be checked, or looked at ---- */

void paying_waited(const struct pipeline *pipeline, struct ticket *ticket)
{
    int64_t now = clock_ns();
    const struct check_cost cost = {.thread = (uint64_t)(now - ticket->began)};
    pipeline->sink->spent(pipeline->sink->user, &cost);
    ticket->began = now;
}

/* Whether the outlier gate can look here: the first to ask has it set up, and waits. */
static bool can_look(struct pipeline *pipeline, struct ticket *ticket)
{
    struct side *side = ticket->side;
    enum outlier_state state = atomic_load_explicit(&side->outlier.state, memory_order_acquire);
    if (state >= OUTLIER_READY)
        return state == OUTLIER_READY;
    if (side_want_looks(side))
        collector_wake(pipeline->collector);
    bool ready = side_wait_looks(side, pipeline->ready_wait_ms);
    paying_waited(pipeline, ticket);
    return ready;
}

/* ns until a look at the launch may be paid; NEVER: it cannot be looked at. */
static int64_t wait_for_look(struct pipeline *pipeline, struct ticket *ticket,
                             const struct budget *looks)
{
    if (ticket->detector == OUTLIER_OFF || (ticket->note && ticket->note->blind) ||
        !can_look(pipeline, ticket))
        return NEVER;
    int64_t wait = budget_wait(looks, NULL, ticket->began);
    int64_t end = budget_wait_end(ticket->budget, ticket->began);
    return wait > end ? wait : end;
}

/* Launches at this rate in `wait` ns, and while asking in vain is paid. */
static uint64_t launches_in(const struct ticket *ticket, double rate, int64_t wait)
{
    double paid = ticket->budget->share > 0 ? ASK_NS / ticket->budget->share : 0;
    double launches = rate * ((double)wait + paid);
    return launches < PAUSE_MOST ? (uint64_t)launches : PAUSE_MOST;
}

/* Up to a quarter more launches, so that looks do not fall into step with a program that repeats
 * itself. */
static uint64_t varied(uint64_t launches, uint64_t number)
{
    uint64_t more = launches + (gate_mix(0, number) >> 32) % (launches / 4 + 1);
    return more < PAUSE_MOST ? more : PAUSE_MOST;
}

/*
 * The launch is neither checked nor looked at: as many of its signature are passed over as come, at
 * the rate `rate`, before a look may be paid (in `look` ns), or before the random gate may take one
 * and its check may be paid (`check`).
 */
static void pass_over(const struct ticket *ticket, double rate, int64_t look, int64_t check)
{
    if (!ticket->note)
        return;
    uint64_t drawn = gate_until_draw(ticket->note), paid = launches_in(ticket, rate, check);
    if (look == NEVER && drawn >= paid) {
        gate_pause(ticket->note, drawn, SKIP_NOT_SAMPLED);
        return;
    }
    uint64_t checked = drawn > paid ? drawn : paid, looked = launches_in(ticket, rate, look);
    gate_pause(ticket->note, varied(looked < checked ? looked : checked, ticket->note->number),
               SKIP_BUDGET);
}

/* The hook's time for the launches that were passed over since the accounts were last asked is
 * charged. Returns their rate. */
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
 * The random gate yields to the budget; the first launches of a signature do not, but are paid.
 * What is not checked then is looked at by the outlier gate, as long as its part of the budget
 * lasts, and unless it has called so many launches that their checks are far from being paid.
 */
enum skip paying_ask(struct pipeline *pipeline, struct ticket *ticket)
{
    struct known_kernel *kernel = ticket->kernel;
    bool own = kernel->spec->budget >= 0;
    struct budget *looks = own ? &kernel->looks : &ticket->side->looks;
    ticket->budget = own ? &kernel->budget : &ticket->side->budget;
    double rate = settle_pause(ticket);
    if (ticket->gate == GATE_FIRST)
        return SKIP_NONE;
    int64_t check = budget_wait(ticket->budget, ticket->use, ticket->began);
    if (ticket->gate == GATE_RANDOM && !check)
        return SKIP_NONE;
    ticket->otherwise = ticket->gate == GATE_RANDOM ? SKIP_BUDGET : SKIP_NOT_SAMPLED;
    int64_t look = wait_for_look(pipeline, ticket, looks);
    if (look != NEVER)
        ticket->looks = looks;
    if (!look) {
        ticket->index = outliers_index(pipeline->outliers, ticket->signature, ticket->detector,
                                       kernel->spec->outlier.inputs);
        if (ticket->index == OUTLIERS_BUSY)
            return ticket->otherwise;
        if (ticket->index < 0) { /* no statistics to hold it against */
            look = NEVER;
            paying_blind(ticket);
        }
    }
    if (look) {
        pass_over(ticket, rate, look, check);
        return look == NEVER ? ticket->otherwise : SKIP_BUDGET;
    }
    ticket->outlier.epoch = outliers_epoch(pipeline->outliers);
    ticket->gate = GATE_OUTLIER;
    return SKIP_NONE;
}

/* ---- is the GPU behind ---- */

/* Whether a look that was enqueued has run, by `mark`, its sequence and slot. */
static bool has_run(const struct side *side, uint64_t mark)
{
    const struct snapshot_seal *seal = &side->seal[mark & ((1 << LOOK_BITS) - 1)];
    return __atomic_load_n(&seal->sequence, __ATOMIC_RELAXED) >= mark >> LOOK_BITS ||
           __atomic_load_n(&seal->ordinary, __ATOMIC_RELAXED) >> SEAL_TIME_BITS >= mark >>
               LOOK_BITS;
}

/* Whether the GPU has had work for BEHIND_NS all the time: then what the host does meanwhile delays
 * nothing. A look that has not run yet is no sign of it: it takes some microseconds to get there.
 */
static bool is_behind(const struct side *side, int64_t now)
{
    uint64_t mark = atomic_load_explicit(&side->mark, memory_order_acquire);
    return mark && !has_run(side, mark) &&
           now - atomic_load_explicit(&side->marked, memory_order_relaxed) > BEHIND_NS;
}

/* This look is the mark, once the one before has run. */
static void mark_look(struct side *side, const struct check *check, int64_t now)
{
    uint64_t mark = atomic_load_explicit(&side->mark, memory_order_relaxed);
    if (mark && !has_run(side, mark))
        return;
    atomic_store_explicit(&side->marked, now, memory_order_relaxed);
    atomic_store_explicit(&side->mark, check->sequence << LOOK_BITS | check->slot,
                          memory_order_release);
}

/* ---- what it costs ---- */

/* A look is paid by both accounts. What the program's thread takes is only an estimate so far: see
 * paying_thread. */
static void pay_look(struct ticket *ticket, int64_t now, int64_t cost)
{
    struct check *check = ticket->check;
    int64_t look = atomic_load_explicit(&ticket->kernel->look, memory_order_relaxed);
    int64_t thread = is_behind(ticket->side, now) ? 0 : cost;
    check->cost = (struct check_cost){.thread = (uint64_t)cost};
    check->charged = thread + (look ? look : LOOK_GUESS_NS);
    check->budget = ticket->budget;
    check->looks = ticket->looks;
    check->use = NULL;
    check_charge(check, true, now, check->charged);
}

static void pay_check(struct ticket *ticket, int64_t now, int64_t cost)
{
    struct check *check = ticket->check;
    check->looks = NULL;
    check->cost = (struct check_cost){.thread = (uint64_t)cost};
    check->charged = cost + costs_estimate(&ticket->kernel->costs, check->arena_bytes);
    check->budget = ticket->budget;
    check->use = ticket->gate == GATE_RANDOM ? ticket->use : NULL;
    check_charge(check, false, now, check->charged);
}

static void pay_thread(const struct pipeline *pipeline, struct budget *budget, struct budget *looks,
                       int64_t now, int64_t cost)
{
    const struct check_cost told = {.thread = (uint64_t)cost};
    if (budget)
        budget_add(budget, now, cost);
    if (looks)
        budget_add(looks, now, cost);
    if (pipeline->sink->spent)
        pipeline->sink->spent(pipeline->sink->user, &told);
}

void paying_begins(const struct pipeline *pipeline, const struct launch *launch,
                   struct ticket *ticket)
{
    int64_t now = clock_ns(), cost = now - ticket->began + AROUND_NS;
    if (!ticket->skip && ticket->gate == GATE_OUTLIER) {
        pay_look(ticket, now, cost);
    } else if (!ticket->skip) {
        pay_check(ticket, now, cost);
    } else if (ticket->budget) {
        pay_thread(pipeline, ticket->budget, ticket->looks, now, cost);
    } else { /* such as a kernel's first sight */
        struct side *side = sides_find(pipeline->sides, (CUcontext)(uintptr_t)launch->context);
        bool ready = side && atomic_load_explicit(&side->state, memory_order_acquire) == SIDE_READY;
        pay_thread(pipeline, ready ? &side->budget : NULL, NULL, now, cost);
    }
}

void paying_back(const struct pipeline *pipeline, const struct check *check)
{
    int64_t now = clock_ns();
    check_charge(check, check->looks, now, -check->charged);
    pay_thread(pipeline, check->budget, check->looks, now, (int64_t)check->cost.thread);
}

void paying_after(const struct pipeline *pipeline, const struct ticket *ticket, int64_t time)
{
    pay_thread(pipeline, ticket->budget, ticket->looks, clock_ns(), time);
}

/*
 * The time after the launch is charged with the rest, when the check has ended.
 *
 * That of a look counts where it kept the GPU waiting, with this launch and its look enqueued: it
 * would not be enough to know that the GPU was behind before, for the work may have ended
 * meanwhile.
 */
void paying_thread(struct ticket *ticket, int64_t time)
{
    struct check_cost *cost = &ticket->check->cost;
    int64_t now = clock_ns();
    bool behind = is_behind(ticket->side, now), is_look = ticket->gate == GATE_OUTLIER;
    cost->thread += (uint64_t)time;
    if (behind && is_look)
        cost->thread = 0;
    cost->overlap = behind ? cost->thread : 0;
    if (is_look)
        mark_look(ticket->side, ticket->check, now);
}
