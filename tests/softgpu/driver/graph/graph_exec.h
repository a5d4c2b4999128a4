/*
 * graph_exec.h - instances of graphs. Private to graph_*.c and capture.c.
 *
 * An instance owns a clone of its template, the body; the program (what a launch runs) is made from
 * it when the first launch after a change needs it, and is never changed, so launches under way
 * keep what they began with. A launch is one work of its stream. Its nodes run one after the other
 * on the stream's thread, each behind all that it depends on: first come, first served, or drawn by
 * SOFTGPU_SEED. So nodes must not wait for each other by memory. Launches of one instance run in
 * the order of the calls, never two at once, whatever their streams.
 */
#ifndef SOFTGPU_GRAPH_EXEC_H
#define SOFTGPU_GRAPH_EXEC_H

#include <cuda.h>
#include <pthread.h>
#include "driver/graph/graph_data.h"

struct program;
struct launch;

struct exec {
    CUgraphExec handle;
    CUgraph template;
    unsigned long long flags;
    struct graph *body;
    struct program *program;     /* NULL: to be made again */
    size_t owners;               /* the handle and the launches */
    struct launch *first, *last; /* launches not ended, in order */
    pthread_cond_t turn;
};

/* With the lock held; the body must have no cycle. */
struct program *program_new(const struct graph *body);
struct program *program_hold(struct program *program);
/* With or without the lock: what it holds of works goes to `section`. */
void program_drop(struct section *section, struct program *program);
/* Without the lock. `context` is for nodes that have none of their own. */
CUresult program_run(const struct program *program, struct context *context);

/* With the lock held: the body's node that stands for a node of the template, in child graphs too;
 * NULL. */
struct node *exec_node(const struct exec *exec, CUgraphNode original);
void exec_changed(struct section *section, struct exec *exec);

#endif
