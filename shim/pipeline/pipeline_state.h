/*
 * pipeline_state.h - what a launch does whose entry has `state` or `position`, or whose kernel has
 * a contract (state/README.md).
 */
#ifndef PIPELINE_STATE_H
#define PIPELINE_STATE_H

#include "pipeline/pipeline.h"
#include "plan/plan.h"

/* Whether launches of the entry belong together with others. */
static inline bool pipeline_has_state(const struct kernel_spec *spec)
{
    return spec->plan->state != NULL || spec->contract != NULL;
}

/* The launch after a checked one of the same cache, or contract, is checked, whatever the gates
 * decide. */
void pipeline_decide_state(const struct pipeline *pipeline, const struct launch *launch,
                           struct ticket *ticket);

/* Behind what was decided of a launch that a gate picked. SKIP_NONE: a check of it begins, which is
 * paid for, and the launches behind it are wanted. */
void pipeline_settle_state(const struct pipeline *pipeline, const struct launch *launch,
                           struct ticket *ticket, enum skip skip);

/* Rows of a cache that the launch must leave alone are copied with the others: a new plan. */
enum skip pipeline_guards(const struct pipeline *pipeline, struct ticket *ticket,
                          struct error *why);

#endif
