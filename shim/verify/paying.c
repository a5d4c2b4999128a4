#include "verify/paying.h"

#include "base/clock.h"

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

/*
 * The random gate yields to the budget; the first launches of a signature do not, but are paid.
 * What is not checked then is looked at by the outlier gate, as long as its part of the budget
 * lasts, and unless it has called so many launches that their checks are far from being paid.
 */
enum skip paying_ask(struct pipeline *pipeline, struct ticket *ticket)
{
    struct known_kernel *kernel = ticket->kernel;
    bool own = kernel->spec->budget >= 0;
    ticket->budget = own ? &kernel->budget : &ticket->side->budget;
    if (ticket->gate == GATE_FIRST)
        return SKIP_NONE;
    if (ticket->gate == GATE_RANDOM && budget_allows(ticket->budget, ticket->use, ticket->began))
        return SKIP_NONE;
    ticket->otherwise = ticket->gate == GATE_RANDOM ? SKIP_BUDGET : SKIP_NOT_SAMPLED;
    struct budget *looks = own ? &kernel->looks : &ticket->side->looks;
    if (ticket->detector == OUTLIER_OFF || !can_look(pipeline, ticket))
        return ticket->otherwise;
    /* Before the table is asked: most launches end here. */
    if (!budget_allows(looks, NULL, ticket->began) || budget_ends(ticket->budget, ticket->began))
        return SKIP_BUDGET;
    ticket->index = outliers_index(pipeline->outliers, ticket->signature, ticket->detector,
                                   kernel->spec->outlier.inputs);
    if (ticket->index < 0)
        return ticket->otherwise; /* no statistics to hold it against */
    ticket->outlier.epoch = outliers_epoch(pipeline->outliers);
    ticket->gate = GATE_OUTLIER;
    ticket->looks = looks;
    return SKIP_NONE;
}

enum { LOOK_GUESS_NS = 5000 /* of the first ones */ };

/* A look is paid by both accounts. What the program's thread takes is only an estimate so far: see
 * paying_thread. */
static void pay_look(struct ticket *ticket, int64_t now)
{
    struct check *check = ticket->check;
    int64_t thread = side_is_behind(ticket->side) ? 0 : now - ticket->began;
    check->cost = (struct check_cost){.thread = (uint64_t)(now - ticket->began)};
    int64_t look = atomic_load_explicit(&ticket->kernel->look, memory_order_relaxed);
    check->charged = thread + (look ? look : LOOK_GUESS_NS);
    check->budget = ticket->budget;
    check->looks = ticket->looks;
    check->use = NULL;
    check_charge(check, true, now, check->charged);
}

void paying_begins(struct ticket *ticket)
{
    /* Most launches end here, before the clock is asked. */
    if (!ticket->budget || ticket->skip == SKIP_BUDGET ||
        (ticket->skip == SKIP_NOT_SAMPLED && !ticket->looks))
        return;
    int64_t now = clock_ns(), cost = now - ticket->began;
    if (!ticket->skip && ticket->looks) {
        pay_look(ticket, now);
        return;
    }
    if (!ticket->skip) {
        ticket->check->looks = NULL;
        ticket->check->cost = (struct check_cost){.thread = (uint64_t)cost};
        cost += costs_estimate(&ticket->kernel->costs, ticket->check->arena_bytes);
        ticket->check->budget = ticket->budget;
        ticket->check->use = ticket->gate == GATE_RANDOM ? ticket->use : NULL;
        ticket->check->charged = cost;
        check_charge(ticket->check, false, now, cost);
        return;
    }
    budget_charge(ticket->budget, now, cost);
}

void paying_back(const struct ticket *ticket)
{
    const struct check *check = ticket->check;
    check_charge(check, check->looks, clock_ns(), (int64_t)check->cost.thread - check->charged);
}

/*
 * The time after the launch is charged with the rest, when the check has ended.
 *
 * That of a look counts where it kept the GPU waiting. Where the look before it has not run even
 * now, with this launch and its look enqueued, the GPU had work all the time; it would not be
 * enough to ask before: the work may have ended meanwhile.
 */
void paying_thread(struct ticket *ticket, int64_t time)
{
    struct check_cost *cost = &ticket->check->cost;
    bool is_look = ticket->gate == GATE_OUTLIER;
    cost->thread = is_look && side_is_behind(ticket->side) ? 0 : cost->thread + (uint64_t)time;
    if (is_look)
        side_look(ticket->side, ticket->check);
}
