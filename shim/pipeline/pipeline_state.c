#include "pipeline/pipeline_state.h"

#include "context/enqueue.h"
#include "gate/gate_table.h"
#include "plan/plan.h"
#include "state/caches.h"
#include "state/guard.h"
#include "state/pairs.h"

enum skip pipeline_guards(const struct pipeline *pipeline, struct ticket *ticket, struct error *why)
{
    const struct binding_plan *plan = ticket->kernel->spec->plan;
    struct binding *binding = &ticket->binding;
    int64_t rows = 0;
    if (!plan->state || binding->subset.dim || moment_is_shared(&ticket->state.moment))
        return SKIP_NONE;
    if (plan->state->rows && !expr_eval(plan->state->rows, binding->slot, &rows))
        rows = 0;
    int64_t live[GUARD_LIVE];
    const struct guard_request request = {
        .rows = rows,
        .seed = gate_seed_of(pipeline->gate, ticket->kernel->key, ticket->number),
        .live = live,
        .device = ticket->side->device,
    };
    caches_draw(pipeline->caches, ticket->state.moment.cache, request.seed, GUARD_LIVE, live);
    guard_add(plan, binding, &request);
    return snapshot_plan_make(binding, &ticket->plan, why);
}

/* No launch of the signature is passed over on account of this one. */
static void clear_pause(struct ticket *ticket)
{
    struct gate_note *note = ticket->gate.note;
    if (note) {
        note->rest += note->left;
        note->paused -= note->left < note->paused ? note->left : note->paused;
        note->left = 0;
    }
    ticket->gate.note = NULL;
}

/* Whether the launch is checked because another one was. */
static bool take_moment(const struct pipeline *pipeline, const struct launch *launch,
                        struct ticket *ticket)
{
    const struct kernel_spec *spec = ticket->kernel->spec;
    bool state =
        spec->plan->state && caches_launch(pipeline->caches, spec, launch, &ticket->state.moment);
    bool pair = spec->contract && pairs_launch(pipeline->pairs, spec, launch, ticket->build);
    return state || pair;
}

/* Whether launches behind this one are due, so that none may be passed over. */
static bool settle_moment(const struct pipeline *pipeline, const struct ticket *ticket)
{
    const struct kernel_spec *spec = ticket->kernel->spec;
    bool state = spec->plan->state && caches_settle(pipeline->caches);
    bool pair = spec->contract && pairs_settle(pipeline->pairs, spec);
    return state || pair;
}

void pipeline_decide_state(const struct pipeline *pipeline, const struct launch *launch,
                           struct ticket *ticket)
{
    struct gate_answer *gate = &ticket->gate;
    const struct kernel_spec *spec = ticket->kernel->spec;
    if (spec->contract)
        ticket->build = launch->replayed ? launch->replayed->build
                                         : kernels_build(pipeline->kernels, launch->function);
    if (launch->replayed) { /* its replay decided that */
        if (spec->plan->state)
            caches_node(pipeline->caches, spec, launch, &ticket->state.moment);
        return;
    }
    ticket->state.follows = take_moment(pipeline, launch, ticket) && gate->result == GATE_NO;
    if (ticket->state.follows) {
        gate->result = GATE_FIRST;
        gate->skip = SKIP_NONE;
    }
    ticket->state.settles = gate->result != GATE_NO;
    if (!ticket->state.settles && settle_moment(pipeline, ticket))
        clear_pause(ticket);
}

void pipeline_settle_state(const struct pipeline *pipeline, const struct launch *launch,
                           struct ticket *ticket, enum skip skip)
{
    const struct kernel_spec *spec = ticket->kernel->spec;
    if (!ticket->state.settles)
        return;
    bool picked = !skip && !ticket->state.follows && ticket->gate.result != GATE_OUTLIER;
    if (picked && spec->plan->state)
        caches_picked(pipeline->caches, spec, &ticket->state.moment);
    if (picked && spec->contract && !launch->replayed)
        pairs_picked(pipeline->pairs, spec, launch, ticket->build);
    if (settle_moment(pipeline, ticket))
        clear_pause(ticket);
}
