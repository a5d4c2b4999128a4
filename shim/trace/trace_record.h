/*
 * trace_record.h - one launch as the program's thread notes it for the trace: plain data. What it
 * points at lives as long as the process.
 */
#ifndef TRACE_TRACE_RECORD_H
#define TRACE_TRACE_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include "value/kernel_spec.h"
#include "value/launch.h"
#include "value/skip.h"

enum { TRACE_PARAMS = 256, TRACE_BUFFERS = 12, TRACE_RANGE = 160 };

enum trace_mode { TRACE_EAGER, TRACE_CAPTURED, TRACE_GRAPH, TRACE_LEGACY };

/* Where an array argument points. */
struct trace_buffer {
    uint64_t address, id, offset; /* id: the allocation's, 0: memory unknown to the driver */
};

struct trace_record {
    uint64_t number;      /* of the launch in the process, in the order in which threads came */
    int64_t began, ended; /* clock_ns() around the launch API */
    const char *symbol;   /* NULL: a graph, or a kernel without a name */
    const struct kernel_spec *spec;    /* NULL: no entry names it; then it has no arguments */
    const struct param_layout *layout; /* of its parameters */
    uint64_t launch;                   /* number among those of its kernel, where there is a spec */
    uint64_t stream, context, graph;   /* handles; graph 0: none */
    uint32_t grid[3], block[3], cluster[3], shared_bytes;
    uint32_t thread;       /* of the process, from 0 */
    uint8_t mode;          /* enum trace_mode */
    uint8_t skip;          /* enum skip; SKIP_NONE: checked */
    bool failed;           /* the driver refused it */
    const char *gate;      /* of a checked launch */
    uint32_t params_bytes; /* 0: unknown, or too many */
    uint8_t params[TRACE_PARAMS];
    struct trace_buffer buffer[TRACE_BUFFERS]; /* of the signature's arrays, by their number */
    char range[TRACE_RANGE];                   /* ranges.h; "": none */
};

#endif
