/* gates_bind.c - gates by the launch's arguments. */
#include "gates/gates_list.h"

#include "bind/extent.h"
#include "extra/digest.h"
#include "extra/outlier_launch.h"
#include "lifted/lift_params.h"
#include "lifted/side_lift.h"
#include "plan/plan.h"

/* Whether the kernel before this one has the parameter list of `after`. */
static bool binding_fits(struct known_kernel *kernel, const struct known_kernel *earlier,
                         struct error *why)
{
    if (atomic_load_explicit(&kernel->fitting, memory_order_relaxed) == earlier)
        return true;
    if (signature_fits(kernel->spec->signature->earlier, &earlier->layout, why)) {
        error_prefix(why, "after: %.200s", earlier->symbol);
        return false;
    }
    atomic_store_explicit(&kernel->fitting, earlier, memory_order_relaxed);
    return true;
}

/* What the entry's picks are drawn by. With digests, by which other processes' launches are held
 * against this one, it is the same for the launch of that number in all of them. */
static uint64_t seed_of_picks(const struct gate_query *query)
{
    const struct ticket *ticket = query->ticket;
    if (digest_all)
        return digest_mix(digest_mix(0, ticket->kernel->key), ticket->executed);
    return gate_seed_of(query->pipeline->gate, ticket->kernel->key, ticket->number);
}

/* Arrays behind tensor maps. */
static enum skip bind_described(struct ticket *ticket, struct launch launch, struct error *why)
{
    struct lift_params params;
    enum skip skip =
        lift_params_make(&params, ticket->spec->lift, &launch, &ticket->kernel->layout, why);
    launch.params = params.param;
    return skip ? skip : binding_make(ticket->spec, &launch, &ticket->binding, why);
}

static enum skip bind(const struct gate_query *query)
{
    struct ticket *ticket = query->ticket;
    const struct kernel_spec *spec = ticket->kernel->spec;
    const struct launch *launch = query->launch;
    struct error *why = query->why;
    struct launch seeded = *launch;
    enum skip skip;
    ticket->spec = registry_typed(spec, launch, &skip, why);
    if (!ticket->spec)
        return skip;
    if (spec->plan->picks)
        seeded.seed = seed_of_picks(query);
    seeded.earlier = spec->after < 0 ? NULL : earlier_find(&ticket->earlier, launch);
    if (spec->after >= 0 &&
        (!seeded.earlier || !(seeded.earlier->kernel->after >> spec->after & 1)))
        return SKIP_NOT_AFTER;
    if (seeded.earlier && !binding_fits(ticket->kernel, seeded.earlier->kernel, why))
        return SKIP_LAYOUT;
    if (ticket->spec->lift && lift_has_maps(ticket->spec->lift))
        return bind_described(ticket, seeded, why);
    return binding_make(ticket->spec, &seeded, &ticket->binding, why);
}

enum skip gates_arguments(const struct gate_query *query)
{
    enum skip skip = bind(query);
    if (!skip && query->ticket->spec->lift)
        skip = side_lift_clip(query->ticket->spec->lift, &query->ticket->binding, query->launch,
                              &query->ticket->kernel->layout, query->why);
    return skip;
}

enum skip gates_extents(const struct gate_query *query)
{
    const struct binding *binding = &query->ticket->binding;
    int device = query->ticket->side->device;
    for (int i = 0; i < binding->arrays; i++) {
        const struct bound_array *array = &binding->array[i];
        if (array->rows.listed) /* see ranges.h */
            continue;
        if (extent_check(array->address, bound_reach(array), device, query->why)) {
            error_prefix(query->why, "argument '%s'", array->name);
            return SKIP_EXTENT;
        }
    }
    return SKIP_NONE;
}

/* Lays out the launch's inputs for the outlier gate's probe, where it can read them. */
enum skip gates_inputs(const struct gate_query *query)
{
    struct ticket *ticket = query->ticket;
    if (ticket->gate.result != GATE_OUTLIER ||
        outlier_plan_make(&ticket->side->outlier, &ticket->spec->outlier, &ticket->binding,
                          &ticket->outlier))
        return SKIP_NONE;
    gates_blind(ticket);
    return ticket->otherwise;
}
