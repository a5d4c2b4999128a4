/* pipeline_trace.h - what the pipeline hands to the trace. The program's thread; pipeline->trace is
 * not NULL. */
#ifndef PIPELINE_TRACE_H
#define PIPELINE_TRACE_H

#include "pipeline/pipeline.h"

/* At the end of a launch. */
void pipeline_trace(const struct pipeline *pipeline, const struct launch *launch,
                    const struct ticket *ticket, bool failed);
/* The NVTX ranges that the launch was captured in, or that the calling thread has open. */
void pipeline_trace_range(struct check *check, const struct launch *launch);
/* A launch whose API hides the kernel. */
void pipeline_trace_other(const struct pipeline *pipeline, enum skip skip);
/* Around a graph launch; nothing else of the thread is traced in between. */
void pipeline_trace_graph_begins(const struct pipeline *pipeline, const void *graph,
                                 const void *stream, const void *context);
void pipeline_trace_graph_ends(const struct pipeline *pipeline, bool failed);

/* The launch of a kernel that no entry fits begins, in a run that is recorded: where its time is
 * counted, or NULL. */
struct gpu_time *pipeline_record(const struct pipeline *pipeline, const struct launch *launch,
                                 const struct known_kernel *kernel);
/* A node of a graph with such a kernel. */
void pipeline_record_node(const struct pipeline *pipeline, const struct launch *node,
                          const struct known_kernel *kernel);

#endif
