/* twin.c - the instrumented twin of a graph: made from the clone, kept like the original, armed. */
#include <stdlib.h>
#include <string.h>
#include "graph/graph.h"
#include "plan/plan.h"
#include "lang/signature.h"

enum { MOST_NEXT = 256 }; /* nodes that depend on one, which are read at once */

/* ---- the nodes for the copies ---- */

/* A node that runs `side`'s copy kernel; what it copies is set when it is armed. */
static enum status add_node(CUgraph level, const struct side *side, const CUgraphNode *behind,
                            size_t count, CUgraphNode *out, struct error *err)
{
    struct snapshot_call_few nothing;
    void *params[] = {&nothing};
    CUDA_KERNEL_NODE_PARAMS_v2 node = {.func = side->kernel.snapshot_few,
                                       .gridDimX = 1,
                                       .gridDimY = 1,
                                       .gridDimZ = 1,
                                       .blockDimX = SNAPSHOT_THREADS + SNAPSHOT_CLERKS,
                                       .blockDimY = 1,
                                       .blockDimZ = 1,
                                       .kernelParams = params};
    memset(&nothing, 0, sizeof(nothing));
    return cuda_check(err, cuda.cuGraphAddKernelNode_v2(out, level, behind, count, &node),
                      "cuGraphAddKernelNode");
}

/* Those that depend on a node, or on which it depends. */
struct neighbours {
    CUgraphNode node[MOST_NEXT];
    CUgraphEdgeData edge[MOST_NEXT];
    size_t count;
};

typedef CUresult (*neighbours_fn)(CUgraphNode, CUgraphNode *, CUgraphEdgeData *, size_t *);

static enum status find_neighbours(neighbours_fn query, CUgraphNode node, struct neighbours *found,
                                   struct error *err)
{
    found->count = 0;
    if (cuda_check(err, query(node, NULL, NULL, &found->count), "dependencies of a graph's node"))
        return STATUS_DRIVER;
    if (found->count > MOST_NEXT)
        return error_set(err, STATUS_UNSUPPORTED, "a kernel has %zu neighbours, more than %d",
                         found->count, MOST_NEXT);
    return found->count ? cuda_check(err, query(node, found->node, found->edge, &found->count),
                                     "dependencies of a graph's node")
                        : STATUS_OK;
}

static bool is_part(const struct graph *graph, const struct graph_subject *subject, CUgraphNode own)
{
    for (uint32_t i = 0; i < subject->parts; i++) {
        if (graph->node[subject_part(subject, i)].own == own)
            return true;
    }
    return false;
}

/* The node, unless it is there. False: there are too many. */
static bool note_neighbour(struct neighbours *into, CUgraphNode node)
{
    for (size_t i = 0; i < into->count; i++) {
        if (into->node[i] == node)
            return true;
    }
    if (into->count == MOST_NEXT)
        return false;
    into->node[into->count++] = node;
    return true;
}

/* The subject's edges in one direction: the nodes at which it ends there, and those beyond. */
struct border {
    struct neighbours inner, outer;
};

static enum status find_border(const struct graph *graph, const struct graph_subject *subject,
                               neighbours_fn query, struct border *border, struct error *err)
{
    border->inner.count = border->outer.count = 0;
    for (uint32_t i = 0; i < subject->parts; i++) {
        CUgraphNode own = graph->node[subject_part(subject, i)].own;
        struct neighbours beyond;
        bool within = false, outside = false, kept = true;
        enum status status = find_neighbours(query, own, &beyond, err);
        for (size_t n = 0; n < beyond.count && kept && !status; n++) {
            bool part = is_part(graph, subject, beyond.node[n]);
            within |= part;
            outside |= !part;
            kept = part || note_neighbour(&border->outer, beyond.node[n]);
        }
        if (!status && kept && (outside || !within))
            kept = note_neighbour(&border->inner, own);
        if (status || !kept)
            return status ? status
                          : error_set(err, STATUS_UNSUPPORTED,
                                      "a library call has more than %d neighbours", MOST_NEXT);
    }
    return STATUS_OK;
}

static enum status add_edges(CUgraph level, CUgraphNode from, const struct neighbours *to,
                             struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < to->count && !status; i++)
        status =
            cuda_check(err, cuda.cuGraphAddDependencies_v2(level, &from, &to->node[i], NULL, 1),
                       "cuGraphAddDependencies");
    return status;
}

/* Everything that waits for the subject waits for the copies behind it, too. */
static enum status splice_after(struct graph *graph, const struct side *side,
                                struct graph_subject *subject, struct error *err)
{
    CUgraphNode *beside = subject->beside[TWIN_AFTER];
    int count = subject->nodes[TWIN_AFTER];
    struct border border = {.inner = {.count = 0}};
    enum status status;
    if (count) {
        border.inner.node[border.inner.count++] = beside[count - 1];
        status = find_neighbours(cuda.cuGraphNodeGetDependentNodes_v2, beside[count - 1],
                                 &border.outer, err);
    } else {
        status = find_border(graph, subject, cuda.cuGraphNodeGetDependentNodes_v2, &border, err);
    }
    if (!status)
        status = add_node(subject->level, side, border.inner.node, border.inner.count,
                          &beside[count], err);
    return status ? status : add_edges(subject->level, beside[count], &border.outer, err);
}

/* The copies before the subject wait for all that it waits for. */
static enum status splice_before(struct graph *graph, const struct side *side,
                                 struct graph_subject *subject, struct error *err)
{
    CUgraphNode *added = &subject->beside[TWIN_BEFORE][subject->nodes[TWIN_BEFORE]];
    struct border border;
    enum status status =
        find_border(graph, subject, cuda.cuGraphNodeGetDependencies_v2, &border, err);
    if (!status)
        status = add_node(subject->level, side, border.outer.node, border.outer.count, added, err);
    return status ? status : add_edges(subject->level, *added, &border.inner, err);
}

/* Counts the nodes that the entry needs. Where pointers overlap at a launch there is one more
 * before it, which arming finds out to be missing. */
static void count_nodes(struct graph_subject *subject, double freivalds)
{
    const struct kernel_spec *spec = subject->kernel->spec;
    const double share = spec->freivalds >= 0 ? spec->freivalds : freivalds;
    bool projected = spec->plan->formals->has_product && share > 0, writes_over = false;
    for (size_t i = 0; i < spec->signature->items; i++) {
        enum role role = spec->signature->item[i].role;
        writes_over |= role == ROLE_INOUT || role == ROLE_ACC;
    }
    uint8_t before = (uint8_t)(writes_over + (writes_over && projected));
    uint8_t after = projected ? 3 : 1;
    if (subject->needs[TWIN_BEFORE] < before)
        subject->needs[TWIN_BEFORE] = before;
    if (subject->needs[TWIN_AFTER] < after)
        subject->needs[TWIN_AFTER] = after;
}

static enum status splice(struct graph *graph, const struct side *side, double freivalds,
                          struct error *err)
{
    enum status status = STATUS_OK;
    graph->spliced = 0;
    for (uint32_t i = 0; i < graph->subjects && !status; i++) {
        struct graph_subject *subject = &graph->subject[i];
        count_nodes(subject, freivalds);
        for (int part = 0; part < TWIN_PARTS; part++) {
            for (; subject->nodes[part] < subject->needs[part] && !status; subject->nodes[part]++)
                status = part == TWIN_BEFORE ? splice_before(graph, side, subject, err)
                                             : splice_after(graph, side, subject, err);
            graph->spliced += subject->nodes[part];
        }
    }
    return status;
}

static enum status disable(struct graph *graph, CUgraphNode node, struct error *err)
{
    return cuda_check(err, cuda.cuGraphNodeSetEnabled(graph->twin, node, 0),
                      "cuGraphNodeSetEnabled");
}

/* ---- its life ---- */

void twin_destroy(struct graph *graph)
{
    if (graph->twin)
        cuda.cuGraphExecDestroy(graph->twin);
    graph->twin = NULL;
}

/* All nodes for the subject's copies. */
static enum status disable_beside(struct graph *graph, struct graph_subject *subject,
                                  struct error *err)
{
    enum status status = STATUS_OK;
    for (int part = 0; part < TWIN_PARTS; part++) {
        for (int i = 0; i < subject->nodes[part] && !status; i++)
            status = disable(graph, subject->beside[part][i], err);
        subject->armed[part] = 0;
    }
    return status;
}

/* What the program has set so far in its own: nodes that it disabled. Parameters are the clone's.
 */
static enum status disable_nodes(struct graph *graph, struct error *err)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < graph->nodes && !status; i++) {
        graph->node[i].changed = false;
        if (graph->node[i].off)
            status = disable(graph, graph->node[i].own, err);
    }
    for (uint32_t i = 0; i < graph->subjects && !status; i++)
        status = disable_beside(graph, &graph->subject[i], err);
    return status;
}

/* Room for one replay. */
static enum status reserve_nodes(struct graph *graph, struct error *err)
{
    if (!graph->ticket)
        graph->ticket = calloc(1, sizeof(*graph->ticket));
    free(graph->armed);
    graph->armed = calloc(graph->subjects, sizeof(*graph->armed));
    if (!graph->ticket || !graph->armed)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    return graph->event
               ? STATUS_OK
               : cuda_check(err, cuda.cuEventCreate(&graph->event, CU_EVENT_DISABLE_TIMING),
                            "cuEventCreate");
}

enum status twin_make(struct graph *graph, struct side *side, double freivalds, struct error *err)
{
    /* Its first launch uploads it; what is launched from the device is not the program's. */
    const uint64_t flags = graph->flags & (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                           CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
    enum status status = splice(graph, side, freivalds, err);
    if (!status)
        status =
            cuda_check(err, cuda.cuGraphInstantiateWithFlags(&graph->twin, graph->clone, flags),
                       "cuGraphInstantiate");
    if (!status)
        status = disable_nodes(graph, err);
    if (!status)
        status = reserve_nodes(graph, err);
    graph->changed = graph->lacks_nodes = false;
    if (status)
        twin_destroy(graph);
    return status;
}

/* ---- one replay ---- */

static enum status follow_into_twin(struct graph *graph, struct graph_node *node, struct error *err)
{
    CUDA_KERNEL_NODE_PARAMS_v2 params = {0};
    if (cuda_check(err, cuda.cuGraphKernelNodeGetParams_v2(node->own, &params),
                   "cuGraphKernelNodeGetParams") ||
        cuda_check(err, cuda.cuGraphExecKernelNodeSetParams_v2(graph->twin, node->own, &params),
                   "cuGraphExecKernelNodeSetParams"))
        return STATUS_DRIVER;
    node->changed = false;
    return STATUS_OK;
}

void twin_disarm(struct graph *graph, struct graph_subject *subject)
{
    for (int part = 0; part < TWIN_PARTS; part++) {
        uint8_t *armed = &subject->armed[part];
        while (*armed && !disable(graph, subject->beside[part][*armed - 1], NULL))
            --*armed;
    }
}

enum status twin_prepare(struct graph *graph, struct error *err)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < graph->nodes && graph->changed && !status; i++) {
        if (graph->node[i].changed)
            status = follow_into_twin(graph, &graph->node[i], err);
    }
    graph->changed = graph->changed && status;
    for (uint32_t i = 0; i < graph->subjects && !status; i++) {
        struct graph_subject *subject = &graph->subject[i];
        twin_disarm(graph, subject);
        if (subject->armed[TWIN_BEFORE] || subject->armed[TWIN_AFTER])
            status = error_set(err, STATUS_DRIVER, "a node cannot be disabled again");
    }
    return status;
}

static enum status put_own_kernel(struct replayed *replayed, const struct own_kernel *kernel,
                                  void **params, struct error *err)
{
    struct twin_place *place = (struct twin_place *)replayed;
    struct graph_subject *subject = place->subject;
    uint8_t *armed = &subject->armed[place->part];
    CUgraphExec twin = place->graph->twin;
    CUDA_KERNEL_NODE_PARAMS_v2 what = {.func = kernel->function,
                                       .gridDimX = kernel->blocks,
                                       .gridDimY = 1,
                                       .gridDimZ = 1,
                                       .blockDimX = kernel->threads,
                                       .blockDimY = 1,
                                       .blockDimZ = 1,
                                       .kernelParams = params};
    if (*armed == subject->nodes[place->part]) {
        place->lacked = true;
        if (*armed < TWIN_NODES)
            subject->needs[place->part] = (uint8_t)(*armed + 1);
        return STATUS_UNSUPPORTED; /* no warning: the twin is made again, with one more */
    }
    CUgraphNode node = subject->beside[place->part][*armed];
    if (cuda_check(err, cuda.cuGraphExecKernelNodeSetParams_v2(twin, node, &what), kernel->doing) ||
        cuda_check(err, cuda.cuGraphNodeSetEnabled(twin, node, 1), "cuGraphNodeSetEnabled"))
        return STATUS_DRIVER;
    ++*armed;
    return STATUS_OK;
}

void twin_place_open(struct twin_place *place, struct graph *graph, struct graph_subject *subject,
                     uint64_t replay)
{
    *place = (struct twin_place){
        .replayed = {.place = {.graph = graph->number, .node = subject->number, .replay = replay},
                     .build = subject->build,
                     .whole = graph->whole,
                     .range = graph->node[subject->node].range,
                     .put = put_own_kernel},
        .graph = graph,
        .subject = subject};
}

/* ---- launches in their order ---- */

/* Without the driver's numbers (before 12.0) a stream is known by its handle, which a later one may
 * have again. */
uint64_t order_number(const void *stream)
{
    unsigned long long id;
    if (cuda.cuStreamGetId)
        return cuda.cuStreamGetId((CUstream)(uintptr_t)stream, &id) ? ORDER_UNKNOWN : id + 1;
    bool own = stream == (const void *)CU_STREAM_PER_THREAD;
    return own ? (uint64_t)pthread_self() : (uint64_t)(uintptr_t)stream;
}

/* Where the last launch has no number, by the handles: default streams of several threads have the
 * same. */
static bool is_same_stream(const struct graph *graph, uint64_t number, const void *stream)
{
    uint64_t last = atomic_load_explicit(&graph->last_stream, memory_order_relaxed);
    if (last != ORDER_UNKNOWN)
        return last == number;
    return stream != (const void *)CU_STREAM_PER_THREAD &&
           stream == atomic_load_explicit(&graph->last_handle, memory_order_relaxed);
}

bool order_follow(struct graph *graph, uint64_t number, const void *stream)
{
    uint64_t last = atomic_load_explicit(&graph->last_stream, memory_order_relaxed);
    if (!last || is_same_stream(graph, number, stream))
        return true;
    graph->streams = graph->streams || last != ORDER_UNKNOWN;
    return graph->event_recorded &&
           !cuda.cuStreamWaitEvent((CUstream)(uintptr_t)stream, graph->event, 0);
}

bool order_note(struct graph *graph, uint64_t number, const void *stream, bool twin)
{
    atomic_store_explicit(&graph->last_stream, number, memory_order_relaxed);
    atomic_store_explicit(&graph->last_handle, stream, memory_order_relaxed);
    if (!atomic_load_explicit(&graph->had_twin, memory_order_acquire))
        return true; /* there is no event yet */
    graph->event_recorded =
        (twin || graph->streams) && !cuda.cuEventRecord(graph->event, (CUstream)(uintptr_t)stream);
    return graph->event_recorded || !twin;
}
