/* pipeline_reference.c - whether what judges a launch is loaded. */
#include "pipeline.h"

#include "lifted/side_lift.h"

enum { REFERENCE_WAIT_MS = 1000 /* for one that is in the cache */ };

/* A reference of the registry's own is requested by the first launch that is to be checked. */
enum skip pipeline_find_reference(struct pipeline *pipeline, struct ticket *ticket)
{
    const struct ref_builtin *reference = ticket->kernel->spec->reference;
    bool wake;
    if (ticket->kernel->spec->lift) {
        enum skip skip = side_lift_request(ticket->side, ticket->kernel->spec, &wake);
        if (wake)
            collector_wake(pipeline->collector);
        return skip;
    }
    if (side_users_ready(ticket->side, reference))
        return SKIP_NONE;
    if (side_users_request(ticket->side, reference))
        collector_wake(pipeline->collector);
    return side_users_await(ticket->side, reference, REFERENCE_WAIT_MS) ? SKIP_NONE
                                                                        : SKIP_NOT_COMPILED;
}
