/* graphs_state.h - the state of all graphs together; internal to this folder. */
#ifndef GRAPH_GRAPHS_STATE_H
#define GRAPH_GRAPHS_STATE_H

#include "gate/budget.h"
#include "graph/bodies.h"
#include "graph/captured.h"
#include "graph/exec_table.h"
#include "graph/graphs.h"

/* `lock` guards the table's writes and the lists; no thread waits for a graph's own lock inside it.
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
    _Atomic(int64_t) turns;   /* that have ended since a twin last found no room, and that no graph
                                 has tried to use */
    struct budget readings;   /* of templates of updates */
    bool crowded;             /* it was reported that twins take turns; the collector's */
    bool direct;              /* graphs_redirected() */
    enum { UNTRIED, WORKS, FAILS } trial; /* the collector's */
    atomic_bool late;  /* a twin took longer than a launch waits: no other waits */
    _Atomic(bool) off; /* no twins: launches are not redirected, or the driver is too old */
    struct exec_table table;
};

/* Its lock, which the caller releases. False: it was not to be had in time. The program's thread.
 */
bool graph_lock(struct graph *graph);

/* Its launches are counted until it is updated, and nothing else. `sentence` is reported once;
 * NULL: it is known why. Its lock is held, or could not be had in time: a twin that the collector
 * is making then is not used. */
void graph_give_up(struct graphs *graphs, struct graph *graph, const char *sentence);

/* A warning; of a program with very many graphs the first ones are reported. */
void graph_report(struct graphs *graphs, struct graph *graph, enum skip skip, const char *sentence);

/* Its twin is destroyed, and its turn is over. Its lock is held, or no other thread may use it any
 * longer. */
void twin_release(struct graphs *graphs, struct graph *graph);
/* The twin is launched with something armed; its lock is held. */
void twin_served(struct graphs *graphs, struct graph *graph);
/* A replay of the graph is picked: whether its twin may be requested. Not where there was no room
 * for it, until another's turn is over. The program's thread. */
bool twin_has_turn(struct graphs *graphs, struct graph *graph);
/* Whether the budget pays for its next twin: not for the first, unless that found no room before.
 */
static inline bool twin_is_paid(const struct graph *graph)
{
    return atomic_load(&graph->had_twin) || atomic_load(&graph->no_room);
}

/* No other thread may use the graph any longer. */
void graph_free(struct graphs *graphs, struct graph *graph);

/* ---- updates.c: templates read; the graph's lock is held, but at the first ---- */

void updates_open(struct graphs *graphs);
struct graph_knowledge updates_knowledge(const struct graphs *graphs);
/* The template of a new graph is read at once. */
void updates_first(struct graphs *graphs, struct graph *graph, CUgraph template);
/* The graph was updated from a template, which may be gone behind this call. */
void updates_arrived(struct graphs *graphs, struct graph *graph, CUgraph template);
/* Whether a template of the graph may be cloned or read now. `wanted`: for checks. Any thread,
 * without the lock. */
bool updates_are_paid(const struct graphs *graphs, const struct graph *graph, bool wanted);
/* The last update of a stale graph is read, if it was kept. */
void updates_read(struct graphs *graphs, struct graph *graph);
/* A replay of a stale graph is picked, and its last update was not kept; without the lock. */
void updates_missed(struct graphs *graphs, struct graph *graph);
/* A node changes: whether it can be found, which it cannot behind an update that is not read. Then
 * the graph is stale until its next update, and `sentence` is reported. */
bool updates_settle(struct graphs *graphs, struct graph *graph, const char *sentence);
/* Destroys what is kept of the last update. */
void updates_drop(struct graphs *graphs, struct graph *graph);
/* The same without a call of the driver: it goes with its context. */
void updates_leave(struct graphs *graphs, struct graph *graph);

#endif
