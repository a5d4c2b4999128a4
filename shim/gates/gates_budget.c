/* gates_budget.c - gates by what the accounts (gate/budget.h) allow: a check, a probe of the
 * outlier gate, or neither. What is charged: paying.h. */
#include "gates/gates_list.h"

#include "gate/gate_table.h"
#include "gates/paying.h"

static const int64_t NEVER = INT64_MAX;

enum {
    /* Most launches that are passed over before the accounts are read again: many enough that
     * reading costs little beside them, few enough that a program that becomes slower is checked
     * again soon. */
    PAUSE_MOST = 64,
    DECISION_NS = 500, /* estimated time of a decision that takes nothing */
};

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
    if (ticket->outlier.detector == OUTLIER_OFF ||
        (ticket->gate.note && ticket->gate.note->blind) || !can_probe(pipeline, ticket))
        return NEVER;
    const struct budget *budget = ticket->account.budget;
    int64_t wait = budget_wait(probes, NULL, ticket->began);
    int64_t end = ticket->account.dear
                      ? budget_wait_dear(budget, ticket->account.use, ticket->began)
                      : budget_wait_end(budget, ticket->began);
    return wait > end ? wait : end;
}

/* Launches of the signature in `wait` ns and in the time that pays for one decision (DECISION_NS).
 */
static uint64_t launches_in(const struct ticket *ticket, int64_t wait)
{
    double paid =
        ticket->account.budget->share > 0 ? DECISION_NS / ticket->account.budget->share : 0;
    double launches = ticket->rate * ((double)wait + paid);
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
 * The launch is neither checked nor probed. Passes over as many of its signature as come
 * before the budget allows a probe (in `probe` ns), or before the random gate may take one and the
 * budget allows its check.
 */
static void pass_over(const struct ticket *ticket, int64_t probe)
{
    if (!ticket->gate.note)
        return;
    uint64_t drawn = gate_until_draw(ticket->gate.note), paid = launches_in(ticket, ticket->wait);
    if (probe == NEVER && drawn >= paid) {
        gate_pause(ticket->gate.note, drawn, SKIP_NOT_SAMPLED);
        return;
    }
    uint64_t checked = drawn > paid ? drawn : paid, probed = launches_in(ticket, probe);
    gate_pause(ticket->gate.note,
               varied(probed < checked ? probed : checked, ticket->gate.note->number), SKIP_BUDGET);
}

void gates_blind(struct ticket *ticket)
{
    ticket->blind = true;
    if (ticket->gate.note)
        ticket->gate.note->blind = true;
}

/* The budget refuses the first launch of a signature: a later one is the first then. */
static void postpone(struct ticket *ticket)
{
    gate_postpone(ticket->gate.turn);
    ticket->gate.turn = NULL;
    if (ticket->gate.note)
        ticket->gate.note->next = 0; /* the pause ends where the budget has room */
}

/* The random gate yields to the budget; the first launches of a signature do not, but are charged,
 * unless their checks are dear. */
enum skip gates_budget(const struct gate_query *query)
{
    struct ticket *ticket = query->ticket;
    struct known_kernel *kernel = ticket->kernel;
    bool own = kernel->spec->budget >= 0;
    ticket->account.budget = own ? &kernel->budget : &ticket->side->budget;
    ticket->otherwise = SKIP_NONE;
    paying_passed(ticket);
    ticket->rate = ticket->gate.note ? gate_rate(ticket->gate.note, ticket->began) : 0;
    ticket->account.dear = kernel->spec->guess > 0;
    if (ticket->gate.result == GATE_FIRST && !ticket->account.dear)
        return SKIP_NONE;
    ticket->wait = (ticket->account.dear ? budget_wait_dear : budget_wait)(
        ticket->account.budget, ticket->account.use, ticket->began);
    if (ticket->gate.result != GATE_FIRST && ticket->gate.result != GATE_RANDOM)
        ticket->otherwise = SKIP_NOT_SAMPLED;
    else if (ticket->wait)
        ticket->otherwise = SKIP_BUDGET;
    if (ticket->gate.result == GATE_FIRST && ticket->wait)
        postpone(ticket);
    return SKIP_NONE;
}

/*
 * A launch that is not to be checked is probed, as long as the probes' part of the budget lasts,
 * and unless the checks of launches that they selected have overdrawn the budget. Where the
 * accounts refuse, the next launches of the signature are passed over, until they may allow one
 * again.
 */
enum skip gates_outlier(const struct gate_query *query)
{
    struct pipeline *pipeline = query->pipeline;
    struct ticket *ticket = query->ticket;
    const struct kernel_spec *spec = ticket->kernel->spec;
    struct budget *probes = spec->budget >= 0 ? &ticket->kernel->probes : &ticket->side->probes;
    if (!ticket->otherwise)
        return SKIP_NONE;
    int64_t probe = wait_for_probe(pipeline, ticket, probes);
    if (probe != NEVER)
        ticket->account.probes = probes;
    if (!probe) {
        ticket->outlier.index = outliers_index(pipeline->outliers, ticket->gate.signature,
                                               ticket->outlier.detector, spec->outlier.inputs);
        if (ticket->outlier.index == OUTLIERS_BUSY)
            return ticket->otherwise;
        if (ticket->outlier.index < 0) { /* no statistics to hold it against */
            probe = NEVER;
            gates_blind(ticket);
        }
    }
    if (probe) {
        pass_over(ticket, probe);
        return probe == NEVER ? ticket->otherwise : SKIP_BUDGET;
    }
    ticket->outlier.epoch = outliers_epoch(pipeline->outliers);
    ticket->gate.result = GATE_OUTLIER;
    return SKIP_NONE;
}
