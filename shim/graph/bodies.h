/*
 * bodies.h - the body graphs of the program's conditional nodes. The driver names them when the
 * node is made, and not again.
 *
 * All functions are for the program's threads; none waits for anything but the others.
 */
#ifndef GRAPH_BODIES_H
#define GRAPH_BODIES_H

#include <stdbool.h>
#include <stdint.h>
#include "driver/cuda_api.h"

struct bodies;

struct bodies *bodies_create(void); /* NULL without memory */
void bodies_destroy(struct bodies *bodies);

/* Whether there is any; else nothing but bodies_added is to be called. */
bool bodies_any(const struct bodies *bodies);

/* A conditional node of `graph` was made. Without memory it is left out. */
void bodies_added(struct bodies *bodies, CUgraph graph, CUgraphNode node, const CUgraph *body,
                  uint32_t count);
/* Before the driver destroys a graph, with all in its bodies, or a node. */
void bodies_gone(struct bodies *bodies, CUgraph graph);
void bodies_removed(struct bodies *bodies, CUgraphNode node);

/* Body i of a node that the calling thread keeps alive; NULL: there is none, or it is not known. */
CUgraph bodies_find(struct bodies *bodies, CUgraphNode node, uint32_t i);

#endif
