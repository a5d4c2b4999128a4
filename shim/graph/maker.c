/* maker.c - twins made and freed: on the collector's thread, and with their context. */
#include "graph/graphs_state.h"

/* Device memory of an executable graph, about: of each of its nodes. */
enum { NODE_BYTES = 4096 };

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

static void make_twin(struct graphs *graphs, struct graph *graph, struct side *side)
{
    struct error err = {{0}};
    uint64_t bytes = (uint64_t)(graph->nodes + 2 * graph->subjects) * NODE_BYTES;
    if (!may_redirect(graphs, side)) {
        atomic_store(&graphs->off, true);
        graph_give_up(graphs, graph, NULL);
    } else if (atomic_load(&graphs->memory) + bytes > graphs->settings.memory) {
        graph_give_up(graphs, graph, "twins of other graphs take all of CUVET_TWINS");
    } else if (twin_make(graph, side, graphs->settings.pipeline->freivalds, &err)) {
        graph_give_up(graphs, graph, err.text);
    } else {
        graph->twin_bytes = bytes;
        atomic_fetch_add(&graphs->memory, bytes);
        atomic_store(&graph->had_twin, true);
        atomic_store_explicit(&graph->state, GRAPH_READY, memory_order_release);
    }
}

/* The next graph with a requested twin in this context, locked; NULL: none. It is not destroyed
 * meanwhile, because its state keeps it for this thread. */
static struct graph *take_wanted(struct graphs *graphs, const struct side *side)
{
    struct graph *found = NULL;
    pthread_mutex_lock(&graphs->lock);
    for (size_t i = 0; i < EXEC_TABLE && !found; i++) {
        struct graph *graph = exec_table_at(&graphs->table, i);
        if (graph && atomic_load(&graph->state) == GRAPH_WANTED && graph->side == side)
            found = graph;
    }
    pthread_mutex_unlock(&graphs->lock);
    return found;
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
    for (struct graph *graph; (graph = take_wanted(graphs, side)) != NULL;) {
        pthread_mutex_lock(&graph->lock);
        if (atomic_load(&graph->state) == GRAPH_WANTED)
            make_twin(graphs, graph, side);
        pthread_mutex_unlock(&graph->lock);
    }
    for (struct graph *graph; (graph = take_garbage(graphs, side)) != NULL;) {
        atomic_fetch_sub(&graphs->memory, graph->twin_bytes);
        graph_free(graphs, graph);
    }
}

/* Under CUPTI this runs inside the context's end, where a call that frees memory may never return:
 * there the twin goes with its context. */
static void leave_twin(struct graphs *graphs, struct graph *graph)
{
    if (graphs->direct)
        twin_destroy(graph);
    if (graphs->direct && graph->event)
        cuda.cuEventDestroy(graph->event);
    graph->twin = NULL;
    graph->event = NULL;
    graph->event_recorded = false;
    graph->last_stream = NULL;
    graph->side = NULL;
    atomic_fetch_sub(&graphs->memory, graph->twin_bytes);
    graph->twin_bytes = 0;
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
        if (!graphs->direct)
            graph->clone = NULL;
        graph_free(graphs, graph);
    }
}

struct collector_chore graphs_chore(struct graphs *graphs)
{
    return (struct collector_chore){work, graphs};
}
