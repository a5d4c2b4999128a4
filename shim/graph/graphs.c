/*
 * graphs.c - the program's executable graphs, by handle: what happens to each, and its launches.
 */
#include "graph/graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/clock.h"
#include "system/log.h"
#include "base/thread.h"
#include "base/uninterrupted.h"
#include "gates/gates.h"
#include "graph/graphs_state.h"
#include "gate/own.h"
#include "gate/passing.h"
#include "state/caches.h"

enum {
    LOCK_WAIT_MS = 200,  /* the program's thread, for a twin that is being made */
    TWIN_WAIT_MS = 1000, /* a launch, for a twin */
    MOST_REPORTED = 8,
};

struct graphs *graphs_create(const struct graphs_settings *settings)
{
    struct graphs *graphs = calloc(1, sizeof(*graphs));
    if (!graphs)
        return NULL;
    graphs->settings = *settings;
    graphs->captured = captured_create();
    graphs->bodies = bodies_create();
    if (!graphs->captured || !graphs->bodies) {
        captured_destroy(graphs->captured);
        bodies_destroy(graphs->bodies);
        free(graphs);
        return NULL;
    }
    pthread_mutex_init(&graphs->lock, NULL);
    updates_open(graphs);
    atomic_init(&graphs->off, !trial_driver_serves() || !settings->memory);
    return graphs;
}

void graphs_redirected(struct graphs *graphs)
{
    graphs->direct = true;
}

void graph_free(struct graphs *graphs, struct graph *graph)
{
    updates_drop(graphs, graph);
    twin_destroy(graph);
    if (graph->event)
        cuda.cuEventDestroy(graph->event);
    graph_drop(graph);
    free(graph->ticket);
    free(graph->armed);
    pthread_mutex_destroy(&graph->lock);
    free(graph);
}

void graphs_destroy(struct graphs *graphs)
{
    if (!graphs)
        return;
    for (size_t i = 0; i < EXEC_TABLE; i++) {
        struct graph *graph = exec_table_at(&graphs->table, i);
        if (graph)
            graph_free(graphs, graph);
    }
    while (graphs->garbage) {
        struct graph *graph = graphs->garbage;
        graphs->garbage = graph->next;
        graph_free(graphs, graph);
    }
    captured_destroy(graphs->captured);
    bodies_destroy(graphs->bodies);
    pthread_mutex_destroy(&graphs->lock);
    free(graphs);
}

struct captured *graphs_captured(struct graphs *graphs)
{
    return graphs->captured;
}

struct bodies *graphs_bodies(struct graphs *graphs)
{
    return graphs->bodies;
}

/* ---- locks that the program's thread takes ---- */

bool graph_lock(struct graph *graph)
{
    if (!pthread_mutex_trylock(&graph->lock))
        return true;
    const struct timespec until = thread_deadline(LOCK_WAIT_MS);
    return !pthread_mutex_timedlock(&graph->lock, &until);
}

void graph_report(struct graphs *graphs, struct graph *graph, enum skip skip, const char *sentence)
{
    const struct sink *sink = graphs->settings.pipeline->sink;
    char name[32];
    if (!sentence || atomic_exchange(&graph->reported, true) ||
        atomic_fetch_add(&graphs->reported, 1) >= MOST_REPORTED)
        return;
    snprintf(name, sizeof(name), "CUDA graph %u", graph->number);
    sink->warned(sink->user, name, skip, sentence);
}

void graph_give_up(struct graphs *graphs, struct graph *graph, const char *sentence)
{
    atomic_store(&graph->state, GRAPH_COUNTED);
    graph_report(graphs, graph, SKIP_GRAPH, sentence);
}

/* ---- instantiated, updated, destroyed ---- */

static struct graph *new_graph(struct graphs *graphs, CUgraphExec exec, uint64_t flags)
{
    struct graph *graph = calloc(1, sizeof(*graph));
    if (!graph)
        return NULL;
    graph->exec = exec;
    graph->flags = flags;
    pthread_mutex_init(&graph->lock, NULL);
    pthread_mutex_lock(&graphs->lock);
    graph->number = ++graphs->numbers;
    pthread_mutex_unlock(&graphs->lock);
    return graph;
}

void graphs_made(struct graphs *graphs, CUgraphExec exec, CUgraph template, uint64_t flags)
{
    struct uninterrupted kept;
    if (!cuda.cuGraphGetNodes || !cuda.cuGraphKernelNodeGetParams_v2 || !cuda.cuFuncGetName ||
        !cuda.cuKernelGetName)
        return;
    uninterrupted_begin(&kept);
    struct graph *graph = new_graph(graphs, exec, flags);
    if (graph) {
        updates_first(graphs, graph, template);
        pthread_mutex_lock(&graphs->lock);
        bool added = exec_table_add(&graphs->table, graph);
        pthread_mutex_unlock(&graphs->lock);
        if (!added)
            graph_free(graphs, graph);
        if (!added)
            log_once(LOG_WARN, "too many CUDA graphs: kernels of later ones are not checked");
    }
    uninterrupted_end(&kept);
}

/* What the collector's thread may be at work on is left to it. */
static void discard(struct graphs *graphs, struct graph *graph)
{
    if (!graph->side) {
        graph_free(graphs, graph);
        return;
    }
    pthread_mutex_lock(&graphs->lock);
    graph->next = graphs->garbage;
    graphs->garbage = graph;
    pthread_mutex_unlock(&graphs->lock);
    atomic_store(&graph->side->chore, true);
    collector_wake(graphs->settings.pipeline->collector);
}

void graphs_gone(struct graphs *graphs, CUgraphExec exec)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    pthread_mutex_lock(&graphs->lock);
    struct graph *graph = exec_table_remove(&graphs->table, exec);
    pthread_mutex_unlock(&graphs->lock);
    if (graph)
        discard(graphs, graph);
    uninterrupted_end(&kept);
}

void graphs_updated(struct graphs *graphs, CUgraphExec exec, CUgraph template)
{
    struct uninterrupted kept;
    struct graph *graph = exec_table_find(&graphs->table, exec);
    if (!graph)
        return;
    uninterrupted_begin(&kept);
    if (graph_lock(graph)) {
        updates_arrived(graphs, graph, template);
        pthread_mutex_unlock(&graph->lock);
    } else {
        graph_give_up(graphs, graph, "it was updated while its twin was being made");
    }
    uninterrupted_end(&kept);
}

/* ---- launches ---- */

/* Of the launch under way on the calling thread. */
static _Thread_local struct under_way {
    struct graph *graph; /* NULL: not known */
    const void *stream;
    uint64_t order; /* the stream's number, where it is known */
    bool open, locked;
    bool chosen; /* some registered kernels were chosen: graph_count.chosen, ... */
    bool armed;  /* ... each of which was counted by its own gates; else they are counted as ... */
    enum skip chosen_skip;
    enum skip skip; /* of the other registered kernels, but ... */
    bool unprobed;  /* ... "budget" of those that the outlier gate would have probed */
    bool twin;      /* the twin is launched */
    struct timing_pair timed;
} under_way;

static bool is_stale(const struct graph *graph)
{
    return atomic_load_explicit(&graph->state, memory_order_relaxed) == GRAPH_STALE;
}

/* Waits for the collector, which makes the twin; not at all once a wait has timed out. */
static void await_twin(struct graphs *graphs, struct graph *graph)
{
    const struct timespec nap = {.tv_nsec = 50000};
    int64_t end = clock_ns() + TWIN_WAIT_MS * 1000000ll;
    while (atomic_load(&graph->state) == GRAPH_WANTED && !atomic_load(&graphs->late)) {
        if (clock_ns() >= end)
            atomic_store(&graphs->late, true);
        nanosleep(&nap, NULL);
    }
}

/* The decision of the gates on a replay. */
struct pick {
    uint64_t replay;
    bool off;
    bool drawn;  /* some checks are due, or drawn */
    bool probes; /* outlier probes may be paid */
    bool forced; /* one was picked before, when there was nothing to check it by */
};

static struct pick make_pick(struct graph *graph, const struct pipeline *pipeline)
{
    struct pick pick = {
        .replay = atomic_fetch_add_explicit(&graph->replays, 1, memory_order_relaxed),
        .off = atomic_load_explicit(&passing.off, memory_order_relaxed),
        .forced = atomic_load_explicit(&graph->pending, memory_order_relaxed),
    };
    enum graph_state state = atomic_load_explicit(&graph->state, memory_order_relaxed);
    bool current = state == GRAPH_CLONED || state == GRAPH_READY;
    pick.drawn = !pick.off && (pick.forced || replay_is_picked(graph, pipeline, pick.replay));
    if (graph->detects && current && !pick.off) {
        pick.probes = replay_may_probe(graph, clock_ns());
        under_way.unprobed = !pick.probes;
    }
    return pick;
}

/* Requests a twin, and the context's set-up before that. The first twin is a cost of the process,
 * once, which no budget pays for. */
static void request_twin(struct graphs *graphs, struct graph *graph, CUcontext context)
{
    enum graph_state cloned = GRAPH_CLONED;
    struct pipeline *pipeline = graphs->settings.pipeline;
    struct side *side = sides_find(pipeline->sides, context);
    int64_t began = clock_ns();
    if (!side) { /* its creation was not seen */
        pipeline_context_created(pipeline, context);
        side = sides_find(pipeline->sides, context);
    }
    if (!side)
        return;
    if (side_request(side))
        collector_wake(pipeline->collector);
    if (!side_wait_ready(side, pipeline->ready_wait_ms))
        return;
    bool paid = twin_is_paid(graph);
    if ((paid && !budget_allows(&side->budget, NULL, began)) || !twin_has_turn(graphs, graph))
        return;
    graph->side = side;
    if (atomic_compare_exchange_strong(&graph->state, &cloned, GRAPH_WANTED)) {
        atomic_store(&side->chore, true);
        collector_wake(pipeline->collector);
        await_twin(graphs, graph);
    }
    const struct account account = {.budget = paid ? &side->budget : NULL};
    int64_t now = clock_ns();
    ledger_time(pipeline->sink, &account, now, now - began);
}

/* Whether the budget allows the checks; those of subjects that are new are made in any case. */
static bool checks_are_paid(const struct graph *graph, const struct pipeline *pipeline,
                            uint64_t replay)
{
    return graph->all_first != gate_generation(pipeline->gate) || replay_follows(graph, replay) ||
           budget_allows(&graph->side->budget, NULL, clock_ns());
}

/* Its nodes as the replay needs them; charged, like all that a twin costs beside its checks. */
static bool prepare_twin(struct graphs *graphs, struct graph *graph)
{
    struct error err = {{0}};
    const struct account account = {.budget = &graph->side->budget};
    int64_t began = clock_ns();
    if (twin_prepare(graph, &err)) {
        graph_give_up(graphs, graph, err.text);
        return false;
    }
    int64_t now = clock_ns();
    ledger_time(graphs->settings.pipeline->sink, &account, now, now - began);
    return true;
}

/* The replay is picked, and the graph has a twin; lock held. Whether the twin is launched: where
 * something is checked or probed. */
static bool run_twin(struct graphs *graphs, struct graph *graph, CUcontext context,
                     const struct pick *pick)
{
    struct pipeline *pipeline = graphs->settings.pipeline;
    under_way.chosen_skip = SKIP_BUDGET;
    if (!pick->probes && !checks_are_paid(graph, pipeline, pick->replay)) {
        replay_estimate(graph, pipeline, pick->replay);
        under_way.chosen = true;
        return false;
    }
    under_way.chosen = replay_choose(graph, pipeline, pick->replay, pick->forced, pick->probes) > 0;
    if (!under_way.chosen)
        return false;
    under_way.chosen_skip = SKIP_GRAPH;
    if (!prepare_twin(graphs, graph))
        return false;
    under_way.armed = true;
    replay_arm(graph, pipeline, under_way.stream, context, pick->replay);
    if (graph->lacks_nodes)
        atomic_store(&graph->state, GRAPH_CLONED);
    if (graph->armed_count)
        twin_served(graphs, graph);
    return graph->armed_count > 0;
}

/* What is launched for a graph that has a twin, or had one. */
static CUgraphExec launch_either(struct graphs *graphs, struct graph *graph, CUcontext context,
                                 const struct pick *pick)
{
    bool ordered = order_follow(graph, under_way.order, under_way.stream);
    if (atomic_load_explicit(&graph->stuck, memory_order_relaxed) || !graph_lock(graph)) {
        atomic_store(&graph->stuck, true);
        under_way.skip = SKIP_GRAPH;
        return graph->exec;
    }
    under_way.locked = true;
    bool ready = atomic_load(&graph->state) == GRAPH_READY && !graph->behind &&
                 graph->side->context == context;
    if ((pick->drawn || pick->probes) && ready && ordered)
        under_way.twin = run_twin(graphs, graph, context, pick);
    else if (pick->drawn)
        under_way.skip = SKIP_GRAPH;
    return under_way.twin ? graph->twin : graph->exec;
}

/* Whether the launch is captured into another graph instead of run. */
static enum skip capture_skip(const void *stream)
{
    struct error why;
    enum skip skip = gates_captures(&(struct launch){.stream = stream}, &why);
    if (skip == SKIP_DRIVER)
        log_once(LOG_WARN, "kernels of a CUDA graph go unchecked: %s", why.text);
    return skip;
}

/* The next replay of a graph whose last update is not read: that is read, where it is paid. */
static void read_update(struct graphs *graphs, struct graph *graph)
{
    struct uninterrupted kept;
    uint64_t replay = atomic_load_explicit(&graph->replays, memory_order_relaxed);
    if (!graph->kept || atomic_load_explicit(&graph->stuck, memory_order_relaxed))
        return;
    bool picked = !atomic_load_explicit(&passing.off, memory_order_relaxed) &&
                  (atomic_load_explicit(&graph->pending, memory_order_relaxed) ||
                   replay_is_picked(graph, graphs->settings.pipeline, replay));
    if (!updates_are_paid(graphs, graph, picked))
        return;
    uninterrupted_begin(&kept);
    if (graph_lock(graph)) {
        updates_read(graphs, graph);
        pthread_mutex_unlock(&graph->lock);
    } else {
        atomic_store(&graph->stuck, true);
    }
    uninterrupted_end(&kept);
}

/* A replay is picked, but some nodes were set while none could be: reported where not all of them
 * are set again before the next. */
static void report_behind(struct graphs *graphs, struct graph *graph)
{
    struct uninterrupted kept;
    if (!atomic_load_explicit(&graph->pending, memory_order_relaxed))
        return;
    uninterrupted_begin(&kept);
    graph_report(graphs, graph, SKIP_GRAPH,
                 "parameters of its nodes were set while nothing was to be checked: it is checked "
                 "when they are set again");
    uninterrupted_end(&kept);
}

/* A replay is picked: there has to be a twin of the graph as it is now. */
static void follow_pick(struct graphs *graphs, struct graph *graph, CUcontext context)
{
    enum graph_state state = atomic_load_explicit(&graph->state, memory_order_acquire);
    bool stale = state == GRAPH_STALE;
    bool behind = (state == GRAPH_CLONED || state == GRAPH_READY) && graph->behind;
    atomic_fetch_add_explicit(&graphs->picks, 1, memory_order_relaxed);
    if (state == GRAPH_CLONED && !behind)
        request_twin(graphs, graph, context);
    if (stale && !graph->kept)
        updates_missed(graphs, graph);
    if (behind)
        report_behind(graphs, graph);
    if (atomic_load_explicit(&graph->pending, memory_order_relaxed) != (stale || behind))
        atomic_store(&graph->pending, stale || behind);
}

CUgraphExec graphs_launch_enter(struct graphs *graphs, CUgraphExec exec, const void *stream,
                                CUcontext context)
{
    struct graph *graph = exec_table_find(&graphs->table, exec);
    under_way = (struct under_way){.open = true,
                                   .graph = graph,
                                   .skip = SKIP_NOT_SAMPLED,
                                   .stream = stream,
                                   .order = ORDER_UNKNOWN};
    if (!graph)
        return exec;
    bool had_twin = atomic_load_explicit(&graph->had_twin, memory_order_acquire);
    enum skip captured = graph->subjects || had_twin ? capture_skip(stream) : SKIP_NONE;
    if (!captured && UNUSUAL(is_stale(graph)))
        read_update(graphs, graph);
    timing_replay_begin(graphs->settings.pipeline->timing, graph->time, context, stream,
                        &under_way.timed);
    if (captured)
        under_way.skip = captured;
    if (captured || (!graph->subjects && !had_twin))
        return exec;
    under_way.order = order_number(stream);
    if (!graph->subjects) { /* an update took them: the last launch may be the twin's */
        order_follow(graph, under_way.order, stream);
        return exec;
    }
    if (graph->has_states)
        caches_replay(graphs->settings.pipeline->caches);
    struct pick pick = make_pick(graph, graphs->settings.pipeline);
    if (pick.off)
        under_way.skip = SKIP_OFF;
    else if (pick.drawn || pick.probes)
        follow_pick(graphs, graph, context);
    if (atomic_load_explicit(&graph->had_twin, memory_order_acquire))
        return launch_either(graphs, graph, context, &pick);
    if (pick.drawn)
        under_way.skip = SKIP_GRAPH;
    return exec;
}

/* Of a launch that nothing was chosen for. */
static enum skip skip_of_rest(const struct graph_count *count)
{
    bool unprobed = under_way.unprobed && count->detects && under_way.skip == SKIP_NOT_SAMPLED;
    return count->skip ? count->skip : unprobed ? SKIP_BUDGET : under_way.skip;
}

/* Updates change its kernels, and the last one is not read: only their number is known. */
static bool is_unnamed(const struct graph *graph)
{
    return UNUSUAL(is_stale(graph)) && graph->renamed;
}

static void count_unnamed(const struct graphs *graphs, const struct graph *graph, CUresult result)
{
    const struct sink *sink = graphs->settings.pipeline->sink;
    uint64_t kernels = 0;
    for (uint32_t i = 0; i < graph->counts; i++)
        kernels += graph->count[i].nodes;
    if (kernels)
        ledger_count(sink, NULL, result ? SKIP_LAUNCH_FAILED : SKIP_GRAPH, kernels);
}

/* Launches that were not checked, by kernel. Those of a twin that were chosen are counted one by
 * one. */
static void count_rest(const struct graphs *graphs, const struct graph *graph, CUresult result)
{
    const struct sink *sink = graphs->settings.pipeline->sink;
    for (uint32_t i = 0; i < graph->counts; i++) {
        const struct graph_count *count = &graph->count[i];
        uint32_t chosen = under_way.chosen ? count->chosen : 0, rest = count->nodes - chosen;
        enum skip skip = skip_of_rest(count);
        if (result)
            skip = SKIP_LAUNCH_FAILED;
        if (rest)
            ledger_count(sink, count->spec, skip, rest);
        if (chosen && !under_way.armed)
            ledger_count(sink, count->spec, result ? skip : under_way.chosen_skip, chosen);
        if (count->spec)
            atomic_fetch_add_explicit(&count->kernel->launches,
                                      under_way.armed ? rest : count->nodes, memory_order_relaxed);
    }
}

void graphs_launch_exit(struct graphs *graphs, CUresult result)
{
    struct pipeline *pipeline = graphs->settings.pipeline;
    struct graph *graph = under_way.graph;
    under_way.open = false;
    if (!graph) {
        const struct sink *sink = pipeline->sink;
        ledger_count(sink, NULL, result ? SKIP_LAUNCH_FAILED : SKIP_GRAPH, 1);
        return;
    }
    timing_replay_end(pipeline->timing, graph->time, under_way.stream, &under_way.timed, !result,
                      !under_way.twin);
    if (is_unnamed(graph))
        count_unnamed(graphs, graph, result);
    else
        count_rest(graphs, graph, result);
    if (!result && !order_note(graph, under_way.order, under_way.stream, under_way.twin))
        graph_give_up(graphs, graph, "an event cannot be recorded behind its twin");
    if (under_way.locked) {
        if (under_way.twin)
            replay_launched(graph, pipeline, result);
        pthread_mutex_unlock(&graph->lock);
    }
    under_way.graph = NULL;
}

size_t graphs_launch_names(const char **name, size_t most)
{
    const struct graph *graph = under_way.graph;
    return graph && !is_unnamed(graph) ? replay_names(graph, name, most) : 0;
}

bool graphs_launch_open(void)
{
    return under_way.open;
}
