/*
 * graphs.h - kernels inside CUDA graphs: what the hook passes on of the program's graphs, and which
 * executable graph a launch of one is to run.
 *
 * The program's graph is never changed. Of each executable graph with registered kernels a clone of
 * its template is kept; the first replay that is picked has a twin made of it, on the collector's
 * thread, and waits for that: the same nodes, and beside each registered kernel nodes for the
 * copies, disabled. A replay that is picked launches the twin in the original's place, on the same
 * stream, with the copies of the kernels that are to be checked enabled. From there a check goes
 * the way of any other.
 */
#ifndef GRAPH_GRAPHS_H
#define GRAPH_GRAPHS_H

#include <stdbool.h>
#include <stdint.h>
#include "driver/cuda_api.h"
#include "pipeline/pipeline.h"

struct bodies;
struct captured;
struct graphs;
struct side;

struct graphs_settings {
    struct pipeline *pipeline;
    uint64_t memory; /* device memory that twins may take together, by estimate */
};

struct graphs *graphs_create(const struct graphs_settings *settings); /* NULL without memory */
void graphs_destroy(struct graphs *graphs);

/* Declares that the graph that graphs_launch_enter() returns is the one that is launched. Without
 * this call a launch of test graphs shows it before the first twin; the hook passes that launch to
 * graphs_trial_enter(). Before the first launch. */
void graphs_redirected(struct graphs *graphs);

/* The library calls that were captured into the program's graphs. */
struct captured *graphs_captured(struct graphs *graphs);

/* The bodies of conditional nodes in the program's graphs. */
struct bodies *graphs_bodies(struct graphs *graphs);

/* For collector_settings.chore. */
struct collector_chore graphs_chore(struct graphs *graphs);

/* ---- on the program's thread; each after the call has succeeded, unless noted otherwise ---- */

/* `flags`: of the instantiation. */
void graphs_made(struct graphs *graphs, CUgraphExec exec, CUgraph template, uint64_t flags);
void graphs_updated(struct graphs *graphs, CUgraphExec exec, CUgraph template);
/* Before the call: its handle may be another's right behind it. */
void graphs_gone(struct graphs *graphs, CUgraphExec exec);

/* The context ends, and the collector is at work there no longer: twins in it are given up. */
void graphs_context_going(struct graphs *graphs, const struct side *side);

/* New parameters of one node of the executable graph. */
enum graph_change {
    GRAPH_KERNEL_OLD, /* CUDA_KERNEL_NODE_PARAMS_v1 */
    GRAPH_KERNEL,     /* CUDA_KERNEL_NODE_PARAMS_v2 */
    GRAPH_MEMCPY,
    GRAPH_MEMSET,
    GRAPH_HOST,
    GRAPH_EVENT_RECORD,
    GRAPH_EVENT_WAIT,
    GRAPH_MEMOPS,
    GRAPH_ANY,   /* CUgraphNodeParams */
    GRAPH_CHILD, /* those of all nodes of a child graph */
    GRAPH_OTHER, /* of a kind that is not followed: semaphores */
};
struct graph_new_params {
    enum graph_change change;
    const void *params; /* for events the CUevent, for child graphs the CUgraph */
    CUcontext context;  /* of copies and sets */
};
void graphs_node_set(struct graphs *graphs, CUgraphExec exec, CUgraphNode node,
                     const struct graph_new_params *params);
void graphs_node_enabled(struct graphs *graphs, CUgraphExec exec, CUgraphNode node, bool enabled);

/* Around a launch: enter gives what is to be launched. `stream` is explicit: legacy and per-thread
 * are spelt out. */
CUgraphExec graphs_launch_enter(struct graphs *graphs, CUgraphExec exec, const void *stream,
                                CUcontext context);
void graphs_launch_exit(struct graphs *graphs, CUresult result);
/* Whether the calling thread is between the two. */
bool graphs_launch_open(void);
/* The kernels of the graph that is being launched, each once, up to `most`, and how many; none
 * where an update that is not read may have changed them. Before graphs_launch_exit. */
size_t graphs_launch_names(const char **name, size_t most);

/* What a launch of ours, which the hook ignores otherwise, is to run: another graph during a trial.
 */
CUgraphExec graphs_trial_enter(CUgraphExec exec);

#endif
