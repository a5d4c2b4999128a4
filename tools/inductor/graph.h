/*
 * graph.h - the graph fragment in the comments of a kernel of Inductor, as operations of HLO.
 *
 * Values inside the fragment lie in row-major order; arrays in memory have the strides of the file.
 * Life: all of it is in the caller's arena. Not thread safe.
 */
#ifndef INDUCTOR_GRAPH_H
#define INDUCTOR_GRAPH_H

#include "tools/xla/hlo.h"

enum { GRAPH_ARRAYS = 32, GRAPH_OPERANDS = 16 };

struct graph {
    struct arena *arena;
    struct hlo_computation *of, *end; /* `of`: the fragment, and behind it what sums are by */
    struct hlo_op *last;
    struct hlo_op *in[GRAPH_ARRAYS];    /* arrays that come from outside, in their order */
    const char *returned[GRAPH_ARRAYS]; /* names of what is written, or would be */
    unsigned ins, returns, names;
    unsigned several;               /* operations with two results */
    const char *part[2];            /* the names of these results */
    unsigned parts;                 /* how many names there are */
    const char *lost;               /* why the first line without a formula has none */
    const char *into[GRAPH_ARRAYS]; /* inputs that are written over, and with which value */
    const char *with[GRAPH_ARRAYS];
    unsigned copies;
    const char *why; /* it has no formula, because of this */
};

/* A line of the fragment: "%mul : Tensor "f32[8][1]cuda:0" = call_function[target=..](args ..". */
struct graph_node {
    const char *name, *target, *kwargs;
    struct hlo_shape shape;
    bool typed; /* it has a shape */
    const char *argument[GRAPH_OPERANDS];
    unsigned arguments;
};

/* STATUS_NO_MEMORY. The text is changed. */
enum status graph_read(char *fragment, struct arena *arena, struct graph *out);

/* ---- for the files of operations; each gives NULL with `why`, or without it for no memory ---- */

/* What the node computes, in row-major order, under its own name. */
struct hlo_op *graph_operation(struct graph *g, const struct graph_node *node);

struct hlo_op *graph_refuse(struct graph *g, const char *format, const char *word);
/* The operation, under a name of its own; `b` may be NULL. */
struct hlo_op *graph_add(struct graph *g, const char *opcode, const struct hlo_shape *shape,
                         const char *attributes, const struct hlo_op *a, const struct hlo_op *b);
struct hlo_op *graph_constant(struct graph *g, const char *text);
struct hlo_op *graph_find(struct graph *g, const char *name);
/* Argument `i` of the node: a value or a number. */
struct hlo_op *graph_argument(struct graph *g, const struct graph_node *node, unsigned i);
/* The value under that name. */
struct hlo_op *graph_named(struct graph *g, const char *name, struct hlo_op *op);
/* The shape in row-major order. */
struct hlo_shape graph_shape(enum dtype dtype, unsigned rank, const int64_t *dim);

#endif
