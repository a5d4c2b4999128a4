/* tracing.h - a trace and its file, from start to end: the interface for session.c. */
#ifndef TRACE_TRACING_H
#define TRACE_TRACING_H

#include "base/options.h"
#include "report/quota.h"
#include "trace/trace.h"

struct tracing {
    struct trace *trace; /* NULL: none is taken */
    struct trace_file *file;
};

/* Whether the options enable a trace; `alone`: without any checks. */
bool tracing_wanted(const struct options *options);
bool tracing_alone(const struct options *options);

/* Before the first launch, where the options enable a trace. NULL: none is made; a failure is
 * reported on standard error. */
struct trace *tracing_start(struct tracing *tracing, const struct options *options,
                            struct quota *quota);
/* After the last launch, once: how many have no line. */
uint64_t tracing_end(struct tracing *tracing, int wait_ms);

#endif
