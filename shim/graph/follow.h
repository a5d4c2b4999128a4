/* follow.h - changes of single nodes of an executable graph. The graph's lock is held. */
#ifndef GRAPH_FOLLOW_H
#define GRAPH_FOLLOW_H

#include "graph/graph.h"
#include "graph/graphs.h"

/* Each gives NULL, or why the graph cannot be followed any longer. */
const char *follow_params(struct graph *graph, struct captured *captured, CUgraphNode program,
                          const struct graph_new_params *new);
const char *follow_switch(struct graph *graph, CUgraphNode program, bool enabled);

#endif
