/*
 * timing_graph.c - graphs: each replay counts, some are timed as a whole.
 *
 * The time of all replays is split among the graph's kernels when the process ends: in the ratio of
 * what their launches outside of graphs took, a kernel of which nothing is known as the mean of the
 * others.
 */
#include "timing/timing_graph.h"

#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "timing/timing.h"

enum { GRAPHS_KEPT = 4096 /* later ones are not timed */, RARE = 32 };

struct timed_graph {
    struct timed_graph *next;
    struct gpu_time time;
    _Atomic(uint64_t) replays;
    uint32_t parts;
    struct timed_part part[];
};

/* A graph stays when it has ended: results may still come. */
static _Atomic(struct timed_graph *) graphs;
static _Atomic(uint32_t) graphs_kept;

struct timed_graph *timing_graph(struct timing *timing, const struct timed_part *part,
                                 uint32_t parts)
{
    if (!timing || !parts || atomic_fetch_add(&graphs_kept, 1) >= GRAPHS_KEPT)
        return NULL;
    struct timed_graph *graph = calloc(1, sizeof *graph + parts * sizeof *part);
    if (!graph)
        return NULL;
    memcpy(graph->part, part, parts * sizeof *part);
    graph->parts = parts;
    graph->next = atomic_load(&graphs);
    while (!atomic_compare_exchange_weak(&graphs, &graph->next, graph))
        ;
    return graph;
}

void timing_replay_begin(struct timing *timing, struct timed_graph *graph, const void *context,
                         const void *stream, struct timing_pair *pair)
{
    pair->slot = NULL;
    if (!timing || !graph)
        return;
    /* The first one may upload the graph. */
    uint64_t replay = atomic_load_explicit(&graph->replays, memory_order_relaxed);
    if (replay > 0 && (replay < 4 || replay % RARE == 0))
        timing_begin(timing, context, stream, clock_ns(), &graph->time, pair);
}

void timing_replay_end(struct timing *timing, struct timed_graph *graph, const void *stream,
                       struct timing_pair *pair, bool ran, bool own)
{
    if (graph && ran)
        atomic_fetch_add_explicit(&graph->replays, 1, memory_order_relaxed);
    pair->began = INT64_MAX; /* the host works on a graph for longer */
    timing_end(timing, stream, pair, ran && own);
}

/* The mean of the kernels of which something is known, weighted by their nodes; 1: of none. */
static double usual(const struct timed_graph *graph)
{
    double sum = 0, nodes = 0;
    for (uint32_t i = 0; i < graph->parts; i++) {
        double mean = gpu_time_mean(graph->part[i].into);
        sum += mean * graph->part[i].nodes;
        nodes += mean > 0 ? graph->part[i].nodes : 0;
    }
    return nodes > 0 ? sum / nodes : 1;
}

static double weight(const struct timed_part *part, double other)
{
    double mean = gpu_time_mean(part->into);
    return (mean > 0 ? mean : other) * part->nodes;
}

static void split_graph_time(const struct timed_graph *graph)
{
    double other = usual(graph), all = 0;
    double replays = (double)atomic_load(&graph->replays);
    double ns = gpu_time_mean(&graph->time) * replays;
    for (uint32_t i = 0; i < graph->parts; i++)
        all += weight(&graph->part[i], other);
    if (ns <= 0 && other > 1) /* no replay was timed */
        ns = all * replays;
    for (uint32_t i = 0; i < graph->parts && all > 0; i++) {
        const struct timed_part *part = &graph->part[i];
        double share = weight(part, other) / all;
        atomic_fetch_add(&part->into->replayed, (uint64_t)(replays * part->nodes));
        atomic_fetch_add(&part->into->replayed_ns, (uint64_t)(ns * share));
    }
}

void timing_graphs_split(void)
{
    for (const struct timed_graph *graph = atomic_load(&graphs); graph; graph = graph->next)
        split_graph_time(graph);
}
