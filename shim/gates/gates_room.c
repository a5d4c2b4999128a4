/*
 * gates_room.c - the bounds of memory and queue: what of the launch is copied, and is there room
 * for it? Where the arena has none when the GPU gets to the copy, nothing is copied, and the
 * collector counts the launch as SKIP_ARENA_FULL (end_unchecked() in judge/collector.c).
 */
#include "gates/gates_list.h"

#include "base/clock.h"
#include "copy/shrink.h"
#include "pipeline/pipeline_state.h"
#include "plan/plan.h"

static enum skip too_large(const struct ticket *ticket, struct error *why)
{
    error_set(
        why, STATUS_FULL, "a snapshot of %llu bytes does not fit CUVET_MEMORY (%llu bytes for one)",
        (unsigned long long)ticket->plan.bytes, (unsigned long long)ticket->side->arena.bytes);
    return SKIP_TOO_LARGE;
}

enum { WHOLE_PART = 4 /* of CUVET_MEMORY, which a launch that is checked whole may take */ };

/*
 * The snapshot's plan. A launch that the random gate picked is checked on a subset of its items
 * where that is larger than CUVET_SUBSET; others, which were picked for being new or unusual, where
 * it takes too much of the arena. A kernel that is deterministic or has a contract is copied whole,
 * unless its entry limits that: only whole copies show that two launches had equal input.
 */
static enum skip lay_out_arrays(const struct pipeline *pipeline, struct ticket *ticket,
                                struct error *why)
{
    const struct kernel_spec *spec = ticket->kernel->spec;
    bool whole = spec->deterministic || spec->contract || spec->plan->state;
    uint64_t usual = whole ? 0 : pipeline->subset;
    uint64_t subset = spec->subset >= 0 ? (uint64_t)spec->subset : usual;
    uint64_t arena = ticket->side->arena.bytes, part = arena / WHOLE_PART;
    uint64_t bytes = ticket->plan.bytes, aim = ticket->gate.result == GATE_RANDOM ? subset : part;
    if (bytes > arena && aim > part)
        aim = part;
    if (!subset || bytes <= aim)
        return SKIP_NONE;
    struct shrink_limits limits = {.aim = aim, .most = bytes > arena ? arena : bytes / 4 * 3};
    uint64_t seed = gate_seed_of(pipeline->gate, ticket->kernel->key, ticket->number);
    if (!shrink_binding(&ticket->binding, spec->plan->formals, &ticket->plan, &limits, seed)) {
        if (bytes <= arena)
            return SKIP_NONE;
        too_large(ticket, why);
        shrink_explain(&ticket->binding, spec->plan->formals, why);
        return SKIP_TOO_LARGE;
    }
    return snapshot_plan_make(&ticket->binding, &ticket->plan, why);
}

/*
 * Whether all of the launch is to be projected, a product of which the check covers a part: each
 * that was picked for being new, a share of those that the random gate picked, for it costs as much
 * as reading the whole arrays. The decision of the outlier gate exists on the GPU alone.
 */
static void plan_projection(const struct pipeline *pipeline, struct ticket *ticket)
{
    const struct kernel_spec *spec = ticket->kernel->spec;
    double share = spec->freivalds >= 0 ? spec->freivalds : pipeline->freivalds;
    ticket->projection.wanted = false;
    if (!spec->plan->formals->has_product || share <= 0 || ticket->gate.result == GATE_OUTLIER)
        return;
    uint64_t seed = gate_seed_of(pipeline->gate, ticket->kernel->key, ticket->number);
    if (ticket->gate.result == GATE_FIRST || (double)(seed >> 11) * 0x1p-53 < share)
        project_plan_make(&ticket->projection, &ticket->binding, spec->plan->formals, &ticket->plan,
                          ~seed);
}

enum skip gates_snapshot(const struct gate_query *query)
{
    const struct pipeline *pipeline = query->pipeline;
    struct ticket *ticket = query->ticket;
    struct error *why = query->why;
    enum skip skip = snapshot_plan_make(&ticket->binding, &ticket->plan, why);
    if (skip)
        return skip;
    plan_projection(pipeline, ticket); /* while the binding is the whole launch's */
    skip = lay_out_arrays(pipeline, ticket, why);
    if (!skip)
        skip = pipeline_guards(pipeline, ticket, why);
    if (!skip)
        project_take_room(&ticket->projection, &ticket->plan, ticket->side->arena.bytes);
    return skip;
}

/* Whether the launch leaves room for one that was refused and whose turn it is. */
static bool may_take_room(const struct ticket *ticket, uint64_t bytes)
{
    struct side *side = ticket->side;
    if (!refused_any(&side->arena.refused) || ticket->gate.result == GATE_OUTLIER)
        return true;
    const struct refused_ring ring = side_ring(side);
    return refused_admits(&side->arena.refused, &ring, ticket->gate.signature, bytes, clock_ns());
}

enum skip gates_room(const struct gate_query *query)
{
    struct ticket *ticket = query->ticket;
    struct side *side = ticket->side;
    uint64_t bytes = (ticket->plan.bytes + 255) / 256 * 256;
    if (bytes > side->arena.bytes)
        return too_large(ticket, query->why);
    if (!may_take_room(ticket, bytes))
        return SKIP_ARENA_FULL;
    int slot = slots_claim(side->slot.free);
    if (slot < 0)
        return SKIP_QUEUE_FULL;
    if (ticket->gate.result == GATE_OUTLIER && (uint32_t)slot >= side->outlier.probes) {
        slots_release(side->slot.free, slot); /* the lowest free one, so more are under way */
        return SKIP_QUEUE_FULL;
    }
    ticket->check = &side->slot.check[slot];
    ticket->check->slot = (uint32_t)slot;
    ticket->check->room.bytes = bytes;
    ticket->check->room.begin = ticket->check->room.end = 0;
    side_note_unsealed(side, ticket->check, ticket->gate.result == GATE_OUTLIER ? 0 : bytes);
    atomic_fetch_add(&side->pending, 1);
    return SKIP_NONE;
}
