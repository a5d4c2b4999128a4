/*
 * updates.c - templates read: of a new graph at once, of an update once that is paid.
 *
 * Reading a template takes about as long as making it, and some programs update a graph before each
 * launch. So a clone of the template is kept, which costs less, and the next replay reads it. What
 * both cost is paid by an account of all graphs together, a two hundredth of the time, which may be
 * overdrawn by READ_AHEAD_NS: that is enough for the updates of a program that warms up. A replay
 * that is to be checked pays from the budget, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/uninterrupted.h"
#include "gates/gates.h"
#include "graph/graphs_state.h"
#include "plan/plan.h"

enum { MISSED_REPORTED = 100 };

#define UNREAD        "its last update could not be read"
#define READ_SHARE    0.005
#define READ_AHEAD_NS 200000000ll

void updates_open(struct graphs *graphs)
{
    budget_open(&graphs->readings, READ_SHARE);
}

static void settle_read(struct graphs *graphs, struct graph *graph, enum status status,
                        const struct error *err)
{
    const struct pipeline *pipeline = graphs->settings.pipeline;
    if (graph->no_twin)
        graph_report(graphs, graph, graph->no_twin, graph_no_twin_sentence(graph));
    bool may = !status && graph->subjects && graph->clone && !atomic_load(&graphs->off);
    atomic_store(&graph->state, may ? GRAPH_CLONED : GRAPH_COUNTED);
    if (status)
        graph_give_up(graphs, graph, err->text);
    replay_find_detectors(graph, pipeline);
    graph_record(graph, pipeline);
}

struct graph_knowledge updates_knowledge(const struct graphs *graphs)
{
    return (struct graph_knowledge){graphs->settings.pipeline->kernels, graphs->captured,
                                    graphs->bodies};
}

/* A note on each kernel whose entry declares a position that is passed by value: replays keep the
 * number of the capture, unless the program gives the node new parameters. */
static void note_positions(const struct graph *graph, struct pipeline *pipeline)
{
    char sentence[256];
    for (uint32_t i = 0; i < graph->subjects; i++) {
        const struct graph_subject *subject = &graph->subject[i];
        const struct plan_state *state = subject->kernel->spec->plan->state;
        if (!state || !state->direct)
            continue;
        snprintf(sentence, sizeof(sentence),
                 "position '%s' is passed by value to kernel node %u of CUDA graph %u: each replay "
                 "has that of the capture, unless the program sets the node's parameters",
                 state->position_name, subject->number, graph->number);
        pipeline_warn(pipeline, subject->kernel, SKIP_NONE, sentence);
    }
}

void updates_first(struct graphs *graphs, struct graph *graph, CUgraph template)
{
    struct error err = {{0}};
    const struct graph_knowledge known = updates_knowledge(graphs);
    enum status status = graph_read(graph, &known, template, &err);
    settle_read(graphs, graph, status, &err);
    note_positions(graph, graphs->settings.pipeline);
    graph_time(graph, graphs->settings.pipeline->timing);
}

/* ---- what stays of a graph that is read again ---- */

struct before {
    struct graph_count *count;
    struct first {
        const struct known_kernel *kernel;
        uint64_t when;
    } * first;
    uint32_t counts, subjects;
    uint64_t all_first;
};

static struct before take_before(struct graph *graph)
{
    struct before before = {.count = graph->count,
                            .counts = graph->counts,
                            .subjects = graph->subjects,
                            .all_first = graph->all_first};
    before.first = calloc(before.subjects + 1, sizeof(*before.first));
    for (uint32_t i = 0; before.first && i < before.subjects; i++)
        before.first[i] = (struct first){graph->subject[i].kernel, graph->subject[i].first};
    for (uint32_t i = 0; i < graph->nodes; i++) {
        if (graph->node[i].off)
            atomic_store(&graph->switched, true);
    }
    graph->count = NULL;
    graph->counts = 0;
    graph->no_twin = SKIP_NONE;
    return before;
}

/* Which nodes of the new template are off is not known. */
static void leave_switched(struct graphs *graphs, struct graph *graph)
{
    if (atomic_load(&graph->switched) && graph->subjects)
        graph_give_up(graphs, graph, "it was updated while a node of it was switched off");
}

/* A node that has its kernel still is not new. */
static void restore_first(struct graph *graph, const struct before *before)
{
    uint32_t same = 0;
    for (uint32_t i = 0;
         before->first && graph->subjects == before->subjects && i < before->subjects; i++) {
        if (graph->subject[i].kernel != before->first[i].kernel)
            continue;
        graph->subject[i].first = before->first[i].when;
        same++;
    }
    if (same == graph->subjects)
        graph->all_first = before->all_first;
}

static bool has_same_kernels(const struct graph *graph, const struct before *before)
{
    bool same = graph->counts == before->counts;
    for (uint32_t i = 0; same && i < graph->counts; i++) {
        const struct graph_count *now = &graph->count[i], *then = &before->count[i];
        same = now->kernel == then->kernel && now->skip == then->skip && now->nodes == then->nodes;
    }
    return same;
}

/* ---- updates ---- */

static bool may_have_twin(const struct graphs *graphs, const struct graph *graph)
{
    return !atomic_load(&graphs->off) && !atomic_load(&graph->switched) &&
           !atomic_load(&graph->stuck);
}

/* Checks are paid by the budget; the first update of a graph is read for them in any case. */
bool updates_are_paid(const struct graphs *graphs, const struct graph *graph, bool wanted)
{
    int64_t now = clock_ns();
    const struct side *side = graph->side;
    bool room = budget_wait(&graphs->readings, NULL, now) <= READ_AHEAD_NS / READ_SHARE;
    wanted = wanted && may_have_twin(graphs, graph);
    if (!side)
        return room || (wanted && !atomic_load(&graph->reread));
    return room || side->budget.share <= 0 || (wanted && budget_allows(&side->budget, NULL, now));
}

static void pay(struct graphs *graphs, const struct graph *graph, int64_t began)
{
    int64_t now = clock_ns();
    const struct account account = {.budget = graph->side ? &graph->side->budget : NULL};
    ledger_add(&graphs->readings, now, now - began);
    ledger_time(graphs->settings.pipeline->sink, &account, now, now - began);
}

/* A twin of the old template is of no use. `kept`: the template is the clone that was kept. */
static void read_again(struct graphs *graphs, struct graph *graph, CUgraph template, bool kept)
{
    struct error err = {{0}};
    const struct graph_knowledge known = updates_knowledge(graphs);
    struct before before = take_before(graph);
    atomic_store(&graph->reread, true);
    twin_release(graphs, graph);
    graph_drop(graph);
    enum status status = kept ? graph_read_kept(graph, &known, template, &err)
                              : graph_read(graph, &known, template, &err);
    settle_read(graphs, graph, status, &err);
    leave_switched(graphs, graph);
    restore_first(graph, &before);
    graph->recast = graph->has_new = false;
    if (!has_same_kernels(graph, &before)) {
        graph->renamed = true;
        graph_time(graph, graphs->settings.pipeline->timing);
    }
    free(before.count);
    free(before.first);
}

static void read_kept(struct graphs *graphs, struct graph *graph)
{
    int64_t began = clock_ns();
    read_again(graphs, graph, graph->kept, true);
    updates_leave(graphs, graph);
    if (!graph->subjects)
        graph_drop_clone(graph);
    pay(graphs, graph, began);
}

/* Before the clone is destroyed: a new graph may get its handle. */
void updates_leave(struct graphs *graphs, struct graph *graph)
{
    if (graph->kept && captured_any(graphs->captured))
        captured_gone(graphs->captured, graph->kept);
    graph->kept = NULL;
}

void updates_drop(struct graphs *graphs, struct graph *graph)
{
    CUgraph kept = graph->kept;
    updates_leave(graphs, graph);
    if (kept)
        cuda.cuGraphDestroy(kept);
}

/* Library calls of the template go along. */
static void keep_template(struct graphs *graphs, struct graph *graph, CUgraph template)
{
    struct error err = {{0}};
    CUgraph kept = NULL;
    if (cuda_check(&err, cuda.cuGraphClone(&kept, template), "cuGraphClone")) {
        error_prefix(&err, "%s", UNREAD);
        graph_report(graphs, graph, SKIP_GRAPH, err.text);
        return;
    }
    if (captured_any(graphs->captured))
        captured_copied(graphs->captured, template, kept, kept);
    graph->kept = kept;
}

/* Without registered kernels a graph has no use for a clone: it is read for the names alone. */
void updates_arrived(struct graphs *graphs, struct graph *graph, CUgraph template)
{
    int64_t began = clock_ns();
    updates_drop(graphs, graph);
    atomic_store(&graph->missed, 0);
    atomic_store(&graph->state, GRAPH_STALE);
    if (!updates_are_paid(graphs, graph, atomic_load(&graph->pending)))
        return;
    if (graph->subjects && cuda.cuGraphClone)
        keep_template(graphs, graph, template);
    else
        read_again(graphs, graph, template, false);
    pay(graphs, graph, began);
}

void updates_read(struct graphs *graphs, struct graph *graph)
{
    if (atomic_load(&graph->state) == GRAPH_STALE && graph->kept)
        read_kept(graphs, graph);
}

void updates_missed(struct graphs *graphs, struct graph *graph)
{
    struct uninterrupted kept;
    if (atomic_fetch_add(&graph->missed, 1) + 1 != MISSED_REPORTED)
        return;
    uninterrupted_begin(&kept);
    graph_report(graphs, graph, SKIP_GRAPH, UNREAD);
    uninterrupted_end(&kept);
}

/* Behind the reading the program's handles would not be known either. */
bool updates_settle(struct graphs *graphs, struct graph *graph, const char *sentence)
{
    if (atomic_load(&graph->state) != GRAPH_STALE)
        return true;
    updates_drop(graphs, graph);
    if (graph->subjects)
        graph_report(graphs, graph, SKIP_GRAPH, sentence);
    return false;
}
