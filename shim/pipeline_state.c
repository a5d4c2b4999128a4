#include "pipeline_state.h"

#include "gate/gate_table.h"
#include "plan/plan.h"
#include "state/caches.h"
#include "state/guard.h"

enum skip pipeline_guards(const struct pipeline *pipeline, struct ticket *ticket, struct error *why)
{
    const struct binding_plan *plan = ticket->kernel->spec->plan;
    struct binding *binding = &ticket->binding;
    int64_t rows = 0;
    if (!plan->state || binding->subset.dim)
        return SKIP_NONE;
    if (plan->state->rows && !expr_eval(plan->state->rows, binding->slot, &rows))
        rows = 0;
    guard_add(plan, binding, rows, ticket->side->device,
              gate_seed_of(pipeline->gate, ticket->kernel->key, ticket->number));
    return snapshot_plan_make(binding, &ticket->plan, why);
}

/* No launch of the signature is passed over on account of this one. */
static void clear_pause(struct ticket *ticket)
{
    struct gate_note *note = ticket->note;
    if (note) {
        note->rest += note->left;
        note->paused -= note->left < note->paused ? note->left : note->paused;
        note->left = 0;
    }
    ticket->note = NULL;
}

void pipeline_decide_state(const struct pipeline *pipeline, const struct launch *launch,
                           struct gate_answer *answer, struct ticket *ticket)
{
    const struct kernel_spec *spec = ticket->kernel->spec;
    if (launch->replayed) { /* its replay decided that */
        caches_node(pipeline->caches, spec, launch, &ticket->moment);
        return;
    }
    ticket->follows =
        caches_launch(pipeline->caches, spec, launch, &ticket->moment) && answer->result == GATE_NO;
    if (ticket->follows) {
        answer->result = GATE_FIRST;
        answer->skip = SKIP_NONE;
    }
    ticket->note = answer->note;
    ticket->settles = answer->result != GATE_NO;
    if (!ticket->settles && caches_settle(pipeline->caches))
        clear_pause(ticket);
    answer->note = ticket->note;
}

void pipeline_settle_state(const struct pipeline *pipeline, struct ticket *ticket, enum skip skip)
{
    if (!ticket->settles)
        return;
    if (!skip && !ticket->follows && ticket->gate != GATE_OUTLIER)
        caches_picked(pipeline->caches, ticket->kernel->spec, &ticket->moment);
    if (caches_settle(pipeline->caches))
        clear_pause(ticket);
}
