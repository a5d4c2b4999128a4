/* gates_context.c - gates by the launch's context: what is set up there, and whether the launch
 * runs. */
#include "gates/gates_list.h"

#include "lifted/side_lift.h"
#include "gates/paying.h"

enum { REFERENCE_WAIT_MS = 1000 /* for one that is in the cache */ };

/* On the legacy stream beside a capture the query fails, and nothing may be enqueued. */
enum skip gates_captures(const struct launch *launch, struct error *why)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = cuda.cuStreamIsCapturing((CUstream)(uintptr_t)launch->stream, &status);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        return SKIP_CAPTURED;
    if (cuda_check(why, result, "cuStreamIsCapturing"))
        return SKIP_DRIVER;
    return status == CU_STREAM_CAPTURE_STATUS_NONE ? SKIP_NONE : SKIP_CAPTURED;
}

/* Has the context set up and waits for it. A launch that is captured needs no set-up, as it is not
 * checked. */
static enum skip request_side(const struct gate_query *query)
{
    struct ticket *ticket = query->ticket;
    enum skip skip = gates_captures(query->launch, query->why);
    if (skip)
        return skip == SKIP_CAPTURED && ticket->gate.result == GATE_NO ? SKIP_NOT_SAMPLED : skip;
    if (side_request(ticket->side))
        collector_wake(query->pipeline->collector);
    bool ready = side_wait_ready(ticket->side, query->pipeline->ready_wait_ms);
    paying_waited(query->pipeline, ticket);
    return ready ? SKIP_NONE : SKIP_NOT_READY;
}

enum skip gates_context(const struct gate_query *query)
{
    struct sides *sides = query->pipeline->sides;
    CUcontext context = (CUcontext)(uintptr_t)query->launch->context;
    struct side *side = sides_find(sides, context);
    if (!side && context)
        side = sides_open_unseen(sides, context);
    query->ticket->side = side;
    if (!side)
        return SKIP_NOT_READY;
    if (atomic_load_explicit(&side->state, memory_order_acquire) == SIDE_READY)
        return SKIP_NONE;
    return request_side(query);
}

/* A reference of the registry's own is requested by the first launch that is to be checked. */
enum skip gates_reference(const struct gate_query *query)
{
    const struct kernel_spec *spec = query->ticket->kernel->spec;
    struct collector *collector = query->pipeline->collector;
    struct side *side = query->ticket->side;
    bool wake;
    if (spec->lift) {
        enum skip skip = side_lift_request(side, spec, &wake);
        if (wake)
            collector_wake(collector);
        return skip;
    }
    if (side_users_ready(side, spec->reference))
        return SKIP_NONE;
    if (side_users_request(side, spec->reference))
        collector_wake(collector);
    bool ready = side_users_await(side, spec->reference, REFERENCE_WAIT_MS);
    return ready ? SKIP_NONE : SKIP_NOT_COMPILED;
}

/* What a graph takes up cannot be read by the outlier gate. */
enum skip gates_capture(const struct gate_query *query)
{
    const struct ticket *ticket = query->ticket;
    enum skip skip = gates_captures(query->launch, query->why);
    return skip == SKIP_CAPTURED && ticket->gate.result == GATE_OUTLIER ? ticket->otherwise : skip;
}
