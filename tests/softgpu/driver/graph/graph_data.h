/*
 * graph_data.h - graphs as data: nodes, edges, handles, and the lock that guards them all. Private
 * to graph*.c and capture.c.
 *
 * Lock: one for all graphs, instances and captures, held between section_begin() and section_end().
 * Everything below needs it held, unless noted otherwise. What must not happen under it (the
 * subscriber's resource callbacks, the dropping of works) is collected and done, in order, by
 * section_end(); so a callback finds the graph as the call leaves it, and may query it.
 *
 * Graphs: the same structure serves templates, the clones inside child graph nodes, and the bodies
 * of instances. Errors: running out of the host's memory ends the process with a sentence.
 */
#ifndef SOFTGPU_GRAPH_DATA_H
#define SOFTGPU_GRAPH_DATA_H

#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include "driver/call/hooks.h"
#include "driver/base/resource_ids.h"
#include "driver/stream/stream.h"

struct conditional;
struct graph;
struct exec;

/* A work with an owner count, never changed once it is a node's: new parameters come as a new one,
 * so that launches under way keep theirs. */
struct shared_work {
    atomic_uint owners;
    struct work work;
};

struct edge {
    struct node *node; /* the other end */
    CUgraphEdgeData data;
};

struct edges {
    struct edge *at;
    size_t count, room;
};

struct node {
    CUgraphNode handle;
    CUgraphNode original; /* the node that this one was cloned from; NULL */
    CUgraphNodeType type;
    struct graph *graph;
    struct context *context;
    struct shared_work *work;        /* NULL for empty and child graph nodes */
    struct graph *child;             /* of a child graph node */
    struct conditional *conditional; /* of a conditional node */
    bool updatable;                  /* from the device */
    struct edges in, out;
    bool enabled;       /* in the body of an instance */
    bool capture_joins; /* need not be joined: taken out of a capture's dependencies by hand */
    size_t index;       /* its place in graph->nodes */
    struct node *pair;  /* between two graphs that are compared */
    bool mark;          /* of one walk */
};

struct graph {
    CUgraph handle;
    CUgraph original;    /* cloned from; NULL */
    struct node **nodes; /* in the order of creation */
    size_t count, room;
    bool owned;         /* by a node, an instance or a capture: the program cannot destroy it */
    bool capturing;     /* a capture adds to it */
    unsigned instances; /* living ones */
};

struct section {
    CUcontext context; /* for the callbacks */
    struct hook_resource *notices;
    size_t notice_count, notice_room;
    struct shared_work **drops;
    size_t drop_count, drop_room;
};

/* `context` may be NULL. */
void section_begin(struct section *section, struct context *context);
/* Leaves the lock, sends, drops; returns `result`. */
CUresult section_end(struct section *section, CUresult result);
/* Waits for `condition` for some milliseconds with the lock given up; for threads that have a
 * section open. */
void section_wait(pthread_cond_t *condition);
void section_note(struct section *section, struct hook_resource event);
/* May be NULL. */
void section_drop(struct section *section, struct shared_work *work);

/* NULL: not a living one. */
struct graph *graph_find(CUgraph handle);
struct node *node_find(CUgraphNode handle);
struct exec *exec_find(CUgraphExec handle);
CUgraphExec exec_handle_add(struct exec *exec);
void exec_handle_remove(CUgraphExec handle);

/* `original` is what the graph is about to become a clone of, or NULL. */
struct graph *graph_new(struct section *section, const struct graph *original);
/* With all that it holds; sends nothing. */
void graph_free(struct section *section, struct graph *graph);
/* A clone with its own works and its own child graphs. */
struct graph *graph_copy(struct section *section, const struct graph *from);
/* The graphs inside of a node, its child or its bodies, by number; NULL behind the last. */
struct graph *node_inner(const struct node *node, unsigned i);
/* An alloc or free node, in child graphs too. */
bool graph_has_memory_nodes(const struct graph *graph);
/* A conditional node, which keeps the graph from being cloned. */
bool graph_has_conditions(const struct graph *graph);
/* Any of them, or one that the device updates: only one instance may exist. */
bool graph_is_single(const struct graph *graph);
/* Marks all nodes from which `from` can be reached, itself included. */
void graph_mark_ancestors(struct node *from);
void graph_unmark(struct graph *graph);
/* Puts the nodes into `order` (room for all), each behind what it depends on; false where there is
 * a cycle. */
bool graph_sort(const struct graph *graph, struct node **order);

/* Takes over `work` (its type NULL: none) and `child`. */
struct node *node_new(struct section *section, struct graph *graph, CUgraphNodeType type,
                      struct context *context, struct work work, struct graph *child);
void node_free(struct section *section, struct node *node);
/* Its type NULL where the node has none. */
struct work node_copy_work(const struct node *node);
void node_set_work(struct section *section, struct node *node, struct work work);
/* There is at most one between two nodes. */
struct edge *edge_find(const struct node *from, const struct node *to);
void edge_add(struct section *section, struct node *from, struct node *to,
              const CUgraphEdgeData *data);
void edge_remove(struct section *section, struct node *from, struct node *to);

/* No lock needed. */
struct shared_work *shared_work_new(struct work work);
struct shared_work *shared_work_hold(struct shared_work *work);
void shared_work_drop(struct shared_work *work);
CUgraphNodeType node_type_of_work(enum work_kind kind);
/* NULL stands for plain edges; only kernels have ports. */
bool edge_data_is_valid(const struct node *from, const CUgraphEdgeData *data);
bool edge_data_is_plain(const CUgraphEdgeData *data);
/* Zeroed; never NULL. */
void *must_allocate(size_t count, size_t size);
/* The array, with room for one more item of that size. */
void *must_grow(void *items, size_t count, size_t *room, size_t size);

#endif
