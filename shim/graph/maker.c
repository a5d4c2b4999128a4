/*
 * maker.c - twins made and freed: on the collector's thread, and with their context.
 *
 * Where the twins of all graphs would take more than CUVET_TWINS they take turns: a twin is
 * destroyed for another's once it was launched TURN times, or if it is idle; the one that was not
 * used for longest first. A graph that finds no room tries again when some turn is over, and at
 * each TURN-th of its picked replays.
 */
#include "base/clock.h"
#include "gate/ledger.h"
#include "graph/graphs_state.h"

enum {
    NODE_BYTES = 4096, /* device memory of an executable graph, about: of each of its nodes */
    TURN = 16,
    /* A twin is idle if it was not launched while so many replays were picked, of each living graph
     * on average ... */
    IDLE_EACH = 4,
    IDLE_LEAST = 64, /* ... but of all together not less */
};

/* Once, before the first twin. */
static bool may_redirect(struct graphs *graphs, struct side *side)
{
    const struct sink *sink = graphs->settings.pipeline->sink;
    struct error err = {{0}};
    if (graphs->trial == UNTRIED) {
        graphs->trial = trial_run(side, graphs->direct, &err) ? WORKS : FAILS;
        if (graphs->trial == FAILS)
            sink->warned(sink->user, "CUDA graphs", SKIP_GRAPH, err.text);
    }
    return graphs->trial == WORKS;
}

/* ---- turns ---- */

/* The room is another's, or for its next twin. */
static void release_graph(struct graphs *graphs, struct graph *graph)
{
    twin_destroy(graph);
    atomic_fetch_sub(&graphs->memory, graph->twin_bytes);
    graph->twin_bytes = 0;
}

/* A turn counts once: as soon as it is served. */
void twin_release(struct graphs *graphs, struct graph *graph)
{
    if (graph->twin_bytes && graph->served < TURN)
        atomic_fetch_add(&graphs->turns, 1);
    release_graph(graphs, graph);
}

void twin_served(struct graphs *graphs, struct graph *graph)
{
    graph->used = atomic_load_explicit(&graphs->picks, memory_order_relaxed);
    if (++graph->served == TURN)
        atomic_fetch_add(&graphs->turns, 1);
}

bool twin_has_turn(struct graphs *graphs, struct graph *graph)
{
    int64_t turns = atomic_load(&graphs->turns);
    if (!atomic_load(&graph->no_room) || ++graph->waited % TURN == 0)
        return true;
    while (turns > 0) {
        if (atomic_compare_exchange_weak(&graphs->turns, &turns, turns - 1))
            return true;
    }
    return false;
}

/* The last launch of its twin is over: its event lies behind that, or a later launch. */
static bool is_over(const struct graph *graph)
{
    return !graph->event || !cuda.cuEventQuery(graph->event);
}

/* Its lock is held. `idle`: so many replays of others make it idle. A twin that is not launched any
 * more, since its graph was given up or updated, may always go. */
static bool may_evict(const struct graphs *graphs, const struct graph *graph, uint64_t idle)
{
    uint64_t since = atomic_load(&graphs->picks) - graph->used;
    bool ended = atomic_load(&graph->state) != GRAPH_READY || graph->served >= TURN ||
                 since >= idle || !replay_may_pick(graph, graphs->settings.pipeline);
    return ended && is_over(graph);
}

/* How many replays of others make a twin idle. */
static uint64_t idle_after(struct graphs *graphs)
{
    pthread_mutex_lock(&graphs->lock);
    uint64_t replays = (uint64_t)graphs->table.living * IDLE_EACH;
    pthread_mutex_unlock(&graphs->lock);
    return replays < IDLE_LEAST ? IDLE_LEAST : replays;
}

/* The next graph, from the place `at` on, that belongs to this context; NULL: none. It stays valid
 * without a lock, since this thread alone destroys graphs of the context. */
static struct graph *next_graph(struct graphs *graphs, const struct side *side, size_t *at)
{
    struct graph *found = NULL;
    pthread_mutex_lock(&graphs->lock);
    for (; *at < EXEC_TABLE && !found; ++*at) {
        struct graph *graph = exec_table_at(&graphs->table, *at);
        if (graph && graph->side == side)
            found = graph;
    }
    pthread_mutex_unlock(&graphs->lock);
    return found;
}

/* Takes the lock of a graph with a twin that may be destroyed. False: it has none, and no lock is
 * taken. */
static bool take_idle(struct graphs *graphs, struct graph *graph, uint64_t idle)
{
    if (atomic_load(&graph->state) == GRAPH_WANTED || pthread_mutex_trylock(&graph->lock))
        return false;
    bool may = graph->twin && may_evict(graphs, graph, idle);
    if (!may)
        pthread_mutex_unlock(&graph->lock);
    return may;
}

struct idle {
    struct graph *graph; /* NULL: there is none */
    uint64_t used;       /* its graph.used */
    uint64_t bytes;      /* of all twins that may go */
};

/* The twin in this context that was not used for longest, of those whose turn is over. */
static struct idle find_idle(struct graphs *graphs, const struct side *side, uint64_t replays)
{
    struct idle idle = {NULL, 0, 0};
    struct graph *graph;
    for (size_t at = 0; (graph = next_graph(graphs, side, &at)) != NULL;) {
        if (!take_idle(graphs, graph, replays))
            continue;
        idle.bytes += graph->twin_bytes;
        if (!idle.graph || graph->used < idle.used) {
            idle.graph = graph;
            idle.used = graph->used;
        }
        pthread_mutex_unlock(&graph->lock);
    }
    return idle;
}

/* The next picked replay of the graph may have a twin made again, when it has its turn. Its lock is
 * released. */
static void evict(struct graphs *graphs, struct graph *graph)
{
    enum graph_state ready = GRAPH_READY;
    release_graph(graphs, graph);
    atomic_store(&graph->no_room, true);
    atomic_compare_exchange_strong(&graph->state, &ready, GRAPH_CLONED);
    pthread_mutex_unlock(&graph->lock);
}

static bool make_room_for(struct graphs *graphs, const struct side *side, uint64_t bytes)
{
    const uint64_t replays = idle_after(graphs);
    while (atomic_load(&graphs->memory) + bytes > graphs->settings.memory) {
        struct idle idle = find_idle(graphs, side, replays);
        bool enough = atomic_load(&graphs->memory) + bytes <= graphs->settings.memory + idle.bytes;
        if (!idle.graph || !enough || !take_idle(graphs, idle.graph, replays))
            return false;
        evict(graphs, idle.graph);
    }
    return true;
}

/* ---- made ---- */

/* Turns that ended before are used up: no twin may go. */
static void wait_for_room(struct graphs *graphs, struct graph *graph)
{
    enum graph_state wanted = GRAPH_WANTED;
    if (!graphs->crowded)
        graph_report(graphs, graph, SKIP_GRAPH,
                     "twins of other graphs take all of CUVET_TWINS: they take turns");
    graphs->crowded = true;
    atomic_store(&graphs->turns, 0);
    atomic_store(&graph->no_room, true);
    atomic_compare_exchange_strong(&graph->state, &wanted, GRAPH_CLONED);
}

/* A graph that was given up meanwhile has changed: its twin is of no use. */
static void note_made(struct graphs *graphs, struct graph *graph, uint64_t bytes)
{
    enum graph_state wanted = GRAPH_WANTED;
    graph->twin_bytes = bytes;
    graph->served = 0;
    graph->used = atomic_load(&graphs->picks);
    atomic_fetch_add(&graphs->memory, bytes);
    atomic_store(&graph->no_room, false);
    atomic_store(&graph->had_twin, true);
    if (!atomic_compare_exchange_strong(&graph->state, &wanted, GRAPH_READY))
        twin_release(graphs, graph);
}

static void make_twin(struct graphs *graphs, struct graph *graph, struct side *side)
{
    struct error err = {{0}};
    uint64_t bytes = (uint64_t)(graph->nodes + 2 * graph->subjects) * NODE_BYTES;
    release_graph(graphs, graph);
    if (!may_redirect(graphs, side)) {
        atomic_store(&graphs->off, true);
        graph_give_up(graphs, graph, NULL);
    } else if (bytes > graphs->settings.memory) {
        graph_give_up(graphs, graph, "its twin alone would take more than CUVET_TWINS");
    } else if (!make_room_for(graphs, side, bytes)) {
        wait_for_room(graphs, graph);
    } else if (twin_make(graph, side, graphs->settings.pipeline->freivalds, &err)) {
        graph_give_up(graphs, graph, err.text);
    } else {
        note_made(graphs, graph, bytes);
    }
}

/* A twin that the budget pays for is paid by the launch that waits for it; by this thread where
 * none does. */
static void make_wanted(struct graphs *graphs, struct graph *graph, struct side *side)
{
    int64_t began = clock_ns();
    bool paid = twin_is_paid(graph);
    make_twin(graphs, graph, side);
    if (paid && atomic_load(&graphs->late))
        ledger_add(&side->budget, began, clock_ns() - began);
}

/* A graph with a requested twin in this context; NULL: none. */
static struct graph *find_wanted(struct graphs *graphs, const struct side *side)
{
    struct graph *graph;
    size_t at = 0;
    do
        graph = next_graph(graphs, side, &at);
    while (graph && atomic_load(&graph->state) != GRAPH_WANTED);
    return graph;
}

/* A graph that was destroyed, with a twin in this context; NULL: none. */
static struct graph *take_garbage(struct graphs *graphs, const struct side *side)
{
    pthread_mutex_lock(&graphs->lock);
    struct graph **link = &graphs->garbage;
    while (*link && (*link)->side != side)
        link = &(*link)->next;
    struct graph *graph = *link;
    if (graph)
        *link = graph->next;
    pthread_mutex_unlock(&graphs->lock);
    return graph;
}

static void work(void *user, struct side *side)
{
    struct graphs *graphs = user;
    for (struct graph *graph; (graph = take_garbage(graphs, side)) != NULL;) {
        twin_release(graphs, graph);
        graph_free(graphs, graph);
    }
    for (struct graph *graph; (graph = find_wanted(graphs, side)) != NULL;) {
        pthread_mutex_lock(&graph->lock);
        if (atomic_load(&graph->state) == GRAPH_WANTED)
            make_wanted(graphs, graph, side);
        pthread_mutex_unlock(&graph->lock);
    }
}

/* Under CUPTI this runs inside the context's end, where a call that frees memory may never return:
 * there the twin goes with its context. */
static void leave_twin(struct graphs *graphs, struct graph *graph)
{
    if (!graphs->direct)
        graph->twin = NULL;
    twin_release(graphs, graph);
    if (graphs->direct && graph->event)
        cuda.cuEventDestroy(graph->event);
    graph->event = NULL;
    graph->event_recorded = false;
    atomic_store(&graph->last_stream, 0);
    graph->side = NULL;
    atomic_store(&graph->had_twin, false);
}

void graphs_context_going(struct graphs *graphs, const struct side *side)
{
    pthread_mutex_lock(&graphs->lock);
    for (size_t i = 0; i < EXEC_TABLE; i++) {
        struct graph *graph = exec_table_at(&graphs->table, i);
        if (!graph || graph->side != side || pthread_mutex_trylock(&graph->lock))
            continue;
        leave_twin(graphs, graph);
        atomic_store(&graph->state, GRAPH_COUNTED); /* the program's graph ends here, too */
        pthread_mutex_unlock(&graph->lock);
    }
    pthread_mutex_unlock(&graphs->lock);
    for (struct graph *graph; (graph = take_garbage(graphs, side)) != NULL;) {
        leave_twin(graphs, graph);
        if (!graphs->direct) {
            updates_leave(graphs, graph);
            graph->clone = NULL;
        }
        graph_free(graphs, graph);
    }
}

struct collector_chore graphs_chore(struct graphs *graphs)
{
    return (struct collector_chore){work, graphs};
}
