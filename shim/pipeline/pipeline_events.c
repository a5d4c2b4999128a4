/*
 * pipeline_events.c - what reaches the pipeline besides launches that it may check: launches that
 * the driver refused, calls that are only counted, waits of the program, contexts that come and go.
 */
#include "system/log.h"
#include "base/uninterrupted.h"
#include "pipeline/pipeline_trace.h"

void pipeline_passed_failed(struct pipeline *pipeline, const struct launch *launch, CUresult result)
{
    pipeline->sink->launch_failed(pipeline->sink->user, launch, cuda_error_name(result));
    const struct known_kernel *kernel = kernels_find(pipeline->kernels, launch);
    bool named = kernel && (kernel->spec || kernel->skip != SKIP_UNREGISTERED);
    ledger_pass_failed(pipeline->sink, kernel ? kernel->spec : NULL,
                       named ? (enum skip)own_thread.passed_as : SKIP_UNREGISTERED);
}

void pipeline_refused(struct pipeline *pipeline, const struct launch *launch, CUresult result)
{
    const struct known_kernel *kernel =
        launch->function ? kernels_find(pipeline->kernels, launch) : NULL;
    const struct sink *sink = pipeline->sink;
    sink->launch_failed(sink->user, launch, cuda_error_name(result));
    ledger_seen(sink);
    ledger_skip(sink, kernel ? kernel->spec : NULL, SKIP_LAUNCH_FAILED);
}

void pipeline_count(struct pipeline *pipeline, enum skip skip)
{
    ledger_seen(pipeline->sink);
    ledger_skip(pipeline->sink, NULL, skip);
    if (pipeline->trace)
        pipeline_trace_other(pipeline, skip);
}

void pipeline_wait_begins(struct pipeline *pipeline, CUcontext context)
{
    struct side *side = sides_find(pipeline->sides, context);
    if (side)
        atomic_fetch_add_explicit(&side->synchronising, 1, memory_order_acq_rel);
}

void pipeline_wait_ends(struct pipeline *pipeline, CUcontext context)
{
    struct side *side = sides_find(pipeline->sides, context);
    /* Never below zero: the side may have come into being during the wait. */
    if (side && atomic_load(&side->synchronising) > 0)
        atomic_fetch_sub_explicit(&side->synchronising, 1, memory_order_acq_rel);
}

void pipeline_context_created(struct pipeline *pipeline, CUcontext context)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    struct side *side = sides_open(pipeline->sides, context);
    bool wanted = side && pipeline->eager && side_request(side);
    uninterrupted_end(&kept);
    if (wanted)
        collector_wake(pipeline->collector);
    if (!side)
        log_once(LOG_WARN, "too many contexts: launches in the later ones are not checked");
}

void pipeline_context_going(struct pipeline *pipeline, CUcontext context)
{
    struct side *side = sides_find(pipeline->sides, context);
    timing_context_going(pipeline->timing, context);
    if (!side)
        return;
    collector_let_go(pipeline->collector, side, pipeline->ready_wait_ms);
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    sides_close(pipeline->sides, side);
    uninterrupted_end(&kept);
}
