/*
 * captured.h - library calls that the program captures into its graphs: the arguments of each call,
 * and the nodes that it adds to the graph; and the NVTX ranges in which kernels are captured.
 *
 * The nodes that a call adds lie between those that its stream waits for before the call and those
 * that it waits for behind it. A call is kept with its graph from the capture's end until the graph
 * is destroyed, and goes along where the graph is cloned or becomes a child.
 *
 * All functions are for the program's threads; none waits for anything but the others.
 */
#ifndef GRAPH_CAPTURED_H
#define GRAPH_CAPTURED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "driver/cuda_api.h"
#include "graph/node_map.h"
#include "value/launch.h"

/* A library call in a graph. */
struct captured_call {
    atomic_uint owners;
    struct known_kernel *kernel; /* of the call's name */
    const struct param_layout *layout;
    uint32_t nodes; /* that it has added */
    bool changed;   /* one of them has other parameters now, or is gone */
    size_t bytes;   /* of the arguments, at the layout's offsets */
    uint8_t argument[];
};

/* The last owner frees it. */
struct captured_call *captured_call_hold(struct captured_call *call);
void captured_call_drop(struct captured_call *call); /* may be NULL */

/* The calls of one graph, or of one child graph. */
struct captured_graph {
    CUgraph graph;
    CUgraph top;           /* that the program destroys it with: itself, or what it is a child in */
    cuuint64_t id;         /* of the capture */
    bool ended;            /* well: a capture that failed leaves no graph */
    struct node_map node;  /* the number of its call */
    struct node_map range; /* the number of its NVTX ranges in ... */
    char *const *ranges;
    struct captured_call **call;
    uint32_t calls, room;
    struct captured_graph *next;
};

struct captured;

struct captured *captured_create(void); /* NULL without memory */
void captured_destroy(struct captured *captured);

/* Whether there is any call at all; else nothing of the following is to be done. */
bool captured_any(const struct captured *captured);

/* ---- around a call ---- */

enum { CAPTURE_WAITS = 16 /* nodes that a stream waits for */ };

/* Where a capture is right before a call. */
struct capture_point {
    CUgraph graph; /* NULL: the stream is not captured, or what it waits for is not known */
    cuuint64_t id;
    size_t nodes; /* of the graph */
    size_t waits;
    CUgraphNode wait[CAPTURE_WAITS];
};

/* Whether the launch's stream is captured; a driver call of some 20 ns. */
bool captured_is(const struct launch *launch);
void captured_enter(struct capture_point *point, const struct launch *call);
/* After a call that succeeded: `call->known` is its record. */
void captured_exit(struct captured *captured, const struct capture_point *point,
                   const struct launch *call);

/* A kernel was launched inside NVTX ranges: where its stream is captured, its node keeps them. */
void captured_range(struct captured *captured, const struct launch *launch, const char *range);

/* ---- the program's graphs ---- */

/* A capture has ended well. */
void captured_ended(struct captured *captured, CUgraph graph);
/* After success: `copy` was cloned from `graph`; `top`: the graph that it is a child in, or itself.
 */
void captured_copied(struct captured *captured, CUgraph graph, CUgraph copy, CUgraph top);
/* Before the graph is destroyed. */
void captured_gone(struct captured *captured, CUgraph graph);
/* A node of a template has new parameters; or, before that, is destroyed. */
void captured_changed(struct captured *captured, CUgraphNode node);
void captured_removed(struct captured *captured, CUgraphNode node);

/* The calls of a graph that the calling thread keeps alive; NULL: none. */
const struct captured_graph *captured_find(struct captured *captured, CUgraph graph);
/* The call that has added the node; NULL: none. `calls` may be NULL. */
struct captured_call *captured_call_of(const struct captured_graph *calls, CUgraphNode node);
/* The NVTX ranges that the node was captured in, which are never freed; NULL: none. */
const char *captured_range_of(const struct captured_graph *calls, CUgraphNode node);

#endif
