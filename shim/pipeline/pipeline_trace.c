/* pipeline_trace.c - writes each launch of the pipeline to the trace, where one is recorded. */
#include "pipeline/pipeline_trace.h"
#include <stdio.h>
#include "base/clock.h"
#include "base/hot.h"
#include "context/enqueue.h"
#include "trace/ranges.h"
#include "discover/recorder.h"
#include "trace/trace.h"

void pipeline_trace(const struct pipeline *pipeline, const struct launch *launch,
                    const struct ticket *ticket, bool failed)
{
    const struct known_kernel *kernel = ticket->kernel;
    const struct kernel_spec *spec = kernel ? kernel->spec : NULL;
    if (spec && !ticket->skip && ticket->spec)
        spec = ticket->spec; /* of the types that the launch decided */
    int64_t ended = clock_ns();
    struct trace_record *record = trace_begin(pipeline->trace);
    if (!record)
        return;
    bool numbered = spec && ticket->skip != SKIP_OFF;
    record->began = ticket->began;
    record->ended = ended;
    record->symbol = kernel ? kernel->symbol : NULL;
    record->launch = numbered ? ticket->number : UINT64_MAX;
    record->skip = (uint8_t)ticket->skip;
    record->failed = failed;
    record->gate = gate_text(ticket->gate.result);
    trace_note_launch(record, launch, failed ? NULL : spec, spec ? &kernel->layout : NULL);
    trace_commit(pipeline->trace);
}

void pipeline_trace_range(struct check *check, const struct launch *launch)
{
    const char *captured = launch->replayed ? launch->replayed->range : NULL;
    const char *range = captured ? captured : ranges_open();
    check->range[0] = '\0';
    if (UNUSUAL(*range))
        snprintf(check->range, sizeof(check->range), "%s", range);
}

void pipeline_trace_other(const struct pipeline *pipeline, enum skip skip)
{
    struct trace_record *record = trace_begin(pipeline->trace);
    if (!record)
        return;
    record->began = record->ended = clock_ns();
    record->mode = skip == SKIP_GRAPH ? TRACE_GRAPH : TRACE_LEGACY;
    record->skip = (uint8_t)skip;
    trace_commit(pipeline->trace);
}

static __thread struct trace_record *graph_record;

void pipeline_trace_graph_begins(const struct pipeline *pipeline, const void *graph,
                                 const void *stream, const void *context)
{
    graph_record = trace_begin(pipeline->trace);
    if (!graph_record)
        return;
    graph_record->mode = TRACE_GRAPH;
    graph_record->graph = (uint64_t)(uintptr_t)graph;
    graph_record->stream = (uint64_t)(uintptr_t)stream;
    graph_record->context = (uint64_t)(uintptr_t)context;
    trace_note_range(graph_record);
    graph_record->began = clock_ns();
}

void pipeline_trace_graph_ends(const struct pipeline *pipeline, bool failed)
{
    if (!graph_record)
        return;
    graph_record->ended = clock_ns();
    graph_record->failed = failed;
    graph_record = NULL;
    trace_commit(pipeline->trace);
}

struct gpu_time *pipeline_record(const struct pipeline *pipeline, const struct launch *launch,
                                 const struct known_kernel *kernel)
{
    return recorder_begin(pipeline->recorder, launch, kernel ? kernel->symbol : NULL);
}

void pipeline_record_node(const struct pipeline *pipeline, const struct launch *node,
                          const struct known_kernel *kernel)
{
    recorder_node(pipeline->recorder, node, kernel->symbol);
}
