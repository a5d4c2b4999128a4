/* graphs_state.h - the state of all graphs together; internal to this folder. */
#ifndef GRAPH_GRAPHS_STATE_H
#define GRAPH_GRAPHS_STATE_H

#include "gate/budget.h"
#include "graph/bodies.h"
#include "graph/captured.h"
#include "graph/exec_table.h"
#include "graph/graphs.h"

/* `lock` guards the table's writes and the lists; a graph's own lock is not taken inside it.
 * Launches find their graph without a lock. */
struct graphs {
    struct graphs_settings settings;
    struct captured *captured; /* library calls in the program's templates */
    struct bodies *bodies;     /* of conditional nodes in them */
    pthread_mutex_t lock;
    uint32_t numbers;
    atomic_uint reported;     /* graphs of which it was reported why they go unchecked */
    struct graph *garbage;    /* what only the collector's thread may free */
    _Atomic(uint64_t) memory; /* of twins, by estimate */
    _Atomic(uint64_t) picks;  /* replays that were picked, of all graphs */
    _Atomic(int64_t) turns;   /* that have ended: twins that may be made where there was no room */
    struct budget readings;   /* of templates of updates */
    bool crowded;             /* it was reported that twins take turns; the collector's */
    bool direct;              /* graphs_redirected() */
    enum { UNTRIED, WORKS, FAILS } trial; /* the collector's */
    atomic_bool late;  /* a twin took longer than a launch waits: no other waits */
    _Atomic(bool) off; /* no twins: launches are not redirected, or the driver is too old */
    struct exec_table table;
};

/* Its launches are counted from now on, and nothing else. `sentence` is reported once; NULL: it is
 * known why. Its lock is held. */
void graph_give_up(struct graphs *graphs, struct graph *graph, const char *sentence);

/* A warning; of a program with very many graphs the first ones are reported. */
void graph_report(struct graphs *graphs, struct graph *graph, enum skip skip, const char *sentence);

/* Its twin is destroyed, and the room is free for others. Its lock is held, or no other thread may
 * use it any longer. */
void twin_release(struct graphs *graphs, struct graph *graph);
/* The twin is launched with something armed; its lock is held. */
void twin_served(struct graphs *graphs, struct graph *graph);
/* A replay of the graph is picked: whether its twin may be requested. Not where there was no room
 * for it, until another's turn is over. The program's thread. */
bool twin_has_turn(struct graphs *graphs, struct graph *graph);

/* No other thread may use the graph any longer. */
void graph_free(struct graphs *graphs, struct graph *graph);

/* ---- updates.c: templates read; the graph's lock is held, but at the first ---- */

void updates_open(struct graphs *graphs);
struct graph_knowledge updates_knowledge(const struct graphs *graphs);
/* The template of a new graph is read at once. */
void updates_first(struct graphs *graphs, struct graph *graph, CUgraph template);
/* The graph was updated from a template, which may be gone behind this call. */
void updates_arrived(struct graphs *graphs, struct graph *graph, CUgraph template);
/* A replay of a stale graph begins: its last update is read, where that is paid. `picked`: some of
 * its kernels are to be checked. */
void updates_read(struct graphs *graphs, struct graph *graph, bool picked);
/* A node changes: whether the graph as it was updated last is known, read at once if need be. If
 * not, it stays unknown. */
bool updates_settle(struct graphs *graphs, struct graph *graph);
/* What is kept of the last update. */
void updates_drop(struct graphs *graphs, struct graph *graph);

#endif
