/*
 * gates.c - the list of gates (gates.def), those that need the launch alone, and what the back end
 * passes over by itself (core_probe.h) on account of them: gates_note_passed, gate_pause.
 */
#include "gates/gates_list.h"

#include "base/hot.h"
#include "extra/digest.h"
#include "gate/gate_table.h"
#include "gate/passing.h"
#include "plan/plan.h"
#include "pipeline/pipeline_state.h"
#include "state/caches.h"

enum part { SELECT, ADMIT };

static const struct gate_row {
    enum part part;
    enum skip (*decide)(const struct gate_query *query);
} gates[] = {
#define GATE(part, name, buckets, decision) {part, gates_##name},
#include "gates/gates.def"
#undef GATE
};

static enum skip pass_gates(enum part part, const struct gate_query *query)
{
    for (size_t i = 0; i < sizeof(gates) / sizeof(*gates); i++) {
        enum skip skip = gates[i].part == part ? gates[i].decide(query) : SKIP_NONE;
        if (skip)
            return skip;
    }
    return SKIP_NONE;
}

enum skip gates_select(struct pipeline *pipeline, const struct launch *launch,
                       struct ticket *ticket)
{
    return pass_gates(SELECT, &(struct gate_query){pipeline, launch, ticket, NULL});
}

enum skip gates_admit(struct pipeline *pipeline, const struct launch *launch, struct ticket *ticket,
                      struct error *why)
{
    enum skip skip = pass_gates(ADMIT, &(struct gate_query){pipeline, launch, ticket, why});
    if (gates_may_pass(skip))
        gate_return(ticket->gate.turn);
    return skip;
}

bool gates_may_pass(enum skip skip)
{
    return skip == SKIP_CAPTURED || skip == SKIP_QUEUE_FULL || skip == SKIP_ARENA_FULL ||
           skip == SKIP_NOT_READY || skip == SKIP_NOT_COMPILED || skip == SKIP_NOT_AFTER ||
           skip == SKIP_WHEN;
}

/* ---- gates that need the launch alone ---- */

static bool entry_is_named(const struct ticket *ticket)
{
    return ticket->kernel && ticket->kernel->spec;
}

/* Other launches are counted as unregistered, whether checking is on or off. */
enum skip gates_mode(const struct gate_query *query)
{
    if (!atomic_load_explicit(&passing.off, memory_order_relaxed) || !entry_is_named(query->ticket))
        return SKIP_NONE;
    if (query->ticket->kernel->spec->plan->state) /* its caches do not count it */
        caches_replay(query->pipeline->caches);
    return SKIP_OFF;
}

enum skip gates_registered(const struct gate_query *query)
{
    const struct known_kernel *kernel = query->ticket->kernel;
    if (entry_is_named(query->ticket))
        return SKIP_NONE;
    return kernel ? kernel->skip : SKIP_UNREGISTERED;
}

/* The first launches of a signature, then a random share of the others (gate/gate.c), and the
 * launch behind a checked one on the same cache. For the replay of a graph the draw was made before
 * this, once for all of its nodes. */
enum skip gates_sampled(const struct gate_query *query)
{
    struct pipeline *pipeline = query->pipeline;
    struct ticket *ticket = query->ticket;
    struct known_kernel *kernel = ticket->kernel;
    ticket->outlier.detector = outliers_detector(pipeline->outliers, &kernel->spec->outlier);
    if (query->launch->replayed) {
        ticket->gate = gate_of_node(pipeline->gate, kernel->spec, &kernel->recipe, query->launch,
                                    ticket->drawn);
    } else {
        ticket->gate = gate_decide(pipeline->gate, kernel->spec, &kernel->recipe, query->launch,
                                   ticket->outlier.detector == OUTLIER_OFF);
    }
    if (UNUSUAL(pipeline_has_state(kernel->spec)))
        pipeline_decide_state(pipeline, query->launch, ticket);
    ticket->account.use = ticket->gate.use;
    return ticket->gate.skip;
}

/* ---- what the back end passes over from now on ---- */

/*
 * Stores the kernel's counters in its record, so that the hook can count skipped launches itself.
 * Not for kernels that cannot have notes, or whose launches complete another one (`after`), nor
 * where captured launches are counted (pipeline_begin).
 */
static void find_gate_tallies(const struct pipeline *pipeline, struct known_kernel *kernel)
{
    const struct sink *sink = pipeline->sink;
    if (kernel->after || kernel->recipe.odd || digest_all || !sink->tallies)
        return;
    struct tally *tallies = sink->tallies(sink->user, kernel->spec);
    if (tallies != sink->tallies(sink->user, NULL)) /* without a row of its own */
        atomic_store_explicit(&kernel->tallies, tallies, memory_order_release);
}

/* A launch was passed over: notes it where all of its kernel are. */
static void note_idle(const struct pipeline *pipeline, struct known_kernel *kernel)
{
    uint32_t stamp = gate_stamp();
    if (kernel->spec->plan->state || !gate_idle(pipeline->gate, kernel->spec))
        return;
    atomic_store_explicit(&kernel->idle_as, SKIP_NOT_SAMPLED, memory_order_relaxed);
    atomic_store_explicit(&kernel->idle, stamp, memory_order_release);
}

/* A kernel that an entry names and that cannot be checked: its launches are all passed over, and
 * are counted as those of unregistered kernels are. */
static void note_unfit(const struct pipeline *pipeline, struct known_kernel *kernel)
{
    const struct sink *sink = pipeline->sink;
    if (kernel->after || !sink->tallies)
        return;
    atomic_store_explicit(&kernel->idle_as, kernel->skip, memory_order_relaxed);
    atomic_store_explicit(&kernel->tallies, sink->tallies(sink->user, NULL), memory_order_relaxed);
    atomic_store_explicit(&kernel->idle, gate_stamp(), memory_order_release);
}
void gates_note_passed(const struct pipeline *pipeline, const struct ticket *ticket)
{
    struct known_kernel *kernel = ticket->kernel;
    if (kernel && !kernel->spec)
        note_unfit(pipeline, kernel);
    else if (ticket->skip != SKIP_NOT_SAMPLED && ticket->skip != SKIP_BUDGET)
        return;
    else if (!atomic_load_explicit(&kernel->tallies, memory_order_relaxed))
        find_gate_tallies(pipeline, kernel);
    else if (ticket->outlier.detector == OUTLIER_OFF)
        note_idle(pipeline, kernel);
}
