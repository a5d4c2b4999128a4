/* timing_graph.h - for timing.c: replays that were timed are split among their kernels. */
#ifndef TIMING_TIMING_GRAPH_H
#define TIMING_TIMING_GRAPH_H

/* All graphs, those that have ended too. Once, when no result comes any more. */
void timing_graphs_split(void);

#endif
