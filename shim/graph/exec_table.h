/*
 * exec_table.h - the program's executable graphs by handle. Found without a lock; added and removed
 * by one thread at a time.
 */
#ifndef GRAPH_EXEC_TABLE_H
#define GRAPH_EXEC_TABLE_H

#include "graph/graph.h"

enum { EXEC_TABLE = 1 << 14, EXEC_MOST = EXEC_TABLE / 2 };

/* All zero at first. */
struct exec_table {
    uint32_t living;
    struct exec_entry {
        _Atomic(CUgraphExec) exec;
        _Atomic(struct graph *) graph;
    } entry[EXEC_TABLE];
};

/* By graph->exec. False: there are too many. */
bool exec_table_add(struct exec_table *table, struct graph *graph);
/* NULL: not there. */
struct graph *exec_table_find(struct exec_table *table, CUgraphExec exec);
struct graph *exec_table_remove(struct exec_table *table, CUgraphExec exec);
/* The one at place `at`, or NULL. */
struct graph *exec_table_at(struct exec_table *table, size_t at);

#endif
