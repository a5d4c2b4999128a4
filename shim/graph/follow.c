/* follow.c - what the program changes in a node of its executable graph is changed in the clone,
 * and in the twin. */
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "gate/ledger.h"
#include "graph/graphs_state.h"

#define FOLLOW_NO_PARAMS "new parameters of one of its nodes cannot be followed"
#define FOLLOW_NO_SWITCH "one of its nodes cannot be switched"

static CUresult set_own(CUgraphNode node, const struct graph_new_params *new)
{
    CUDA_KERNEL_NODE_PARAMS_v2 kernel = {0};
    switch (new->change) {
    case GRAPH_KERNEL_OLD:
        memcpy(&kernel, new->params, sizeof(CUDA_KERNEL_NODE_PARAMS_v1));
        return cuda.cuGraphKernelNodeSetParams_v2(node, &kernel);
    case GRAPH_KERNEL:
        return cuda.cuGraphKernelNodeSetParams_v2(node, new->params);
    case GRAPH_MEMCPY:
        return cuda.cuGraphMemcpyNodeSetParams(node, new->params);
    case GRAPH_MEMSET:
        return cuda.cuGraphMemsetNodeSetParams(node, new->params);
    case GRAPH_HOST:
        return cuda.cuGraphHostNodeSetParams(node, new->params);
    case GRAPH_EVENT_RECORD:
        return cuda.cuGraphEventRecordNodeSetEvent(node, (CUevent)(uintptr_t) new->params);
    case GRAPH_EVENT_WAIT:
        return cuda.cuGraphEventWaitNodeSetEvent(node, (CUevent)(uintptr_t) new->params);
    case GRAPH_MEMOPS:
        return cuda.cuGraphBatchMemOpNodeSetParams(node, new->params);
    case GRAPH_ANY:
        return cuda.cuGraphNodeSetParams(node, (CUgraphNodeParams *)(uintptr_t) new->params);
    case GRAPH_CHILD:
    case GRAPH_OTHER:
        break;
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* The twin's; kernels' parameters wait until the twin is launched. */
static CUresult set_twin(CUgraphExec twin, CUgraphNode node, const struct graph_new_params *new)
{
    switch (new->change) {
    case GRAPH_MEMCPY:
        return cuda.cuGraphExecMemcpyNodeSetParams(twin, node, new->params, new->context);
    case GRAPH_MEMSET:
        return cuda.cuGraphExecMemsetNodeSetParams(twin, node, new->params, new->context);
    case GRAPH_HOST:
        return cuda.cuGraphExecHostNodeSetParams(twin, node, new->params);
    case GRAPH_EVENT_RECORD:
        return cuda.cuGraphExecEventRecordNodeSetEvent(twin, node,
                                                       (CUevent)(uintptr_t) new->params);
    case GRAPH_EVENT_WAIT:
        return cuda.cuGraphExecEventWaitNodeSetEvent(twin, node, (CUevent)(uintptr_t) new->params);
    case GRAPH_MEMOPS:
        return cuda.cuGraphExecBatchMemOpNodeSetParams(twin, node, new->params);
    case GRAPH_ANY:
        return cuda.cuGraphExecNodeSetParams(twin, node,
                                             (CUgraphNodeParams *)(uintptr_t) new->params);
    default:
        return CUDA_SUCCESS;
    }
}

/* The arguments of a library call apply to its nodes as they were captured. */
static bool changes_call(struct graph *graph, const struct graph_node *node)
{
    struct graph_subject *subject = node->subject < 0 ? NULL : &graph->subject[node->subject];
    return !subject || !subject->call || subject->changed || graph_change_call(graph, subject);
}

/* ---- another kernel ---- */

/* The kernel that new parameters name; NULL: they are not a kernel's. */
static const void *node_function(const struct graph_new_params *new)
{
    const CUDA_KERNEL_NODE_PARAMS_v2 *kernel = new->params;
    const CUgraphNodeParams *any = new->params;
    switch (new->change) {
    case GRAPH_KERNEL_OLD:
        return kernel->func;
    case GRAPH_KERNEL:
        return kernel->func ? (const void *)kernel->func : (const void *)kernel->kern;
    case GRAPH_ANY:
        return any->kernel.func ? (const void *)any->kernel.func : (const void *)any->kernel.kern;
    default:
        return NULL;
    }
}

/* False: another kernel, or the same by a handle that was not seen before. */
static bool runs_the_same(const struct graph_node *node, const struct graph_new_params *new)
{
    const void *function = node_function(new);
    return !node->function || function == node->function || function == node->given;
}

/* Whether the clone's node, which has its new parameters, runs another kernel than before. Its
 * handle may have come as a CUkernel, which reads back as a CUfunction. Kernels of library calls
 * are not known one by one. */
static bool runs_another(const struct graph_node *node, const struct graph_new_params *new)
{
    CUDA_KERNEL_NODE_PARAMS_v2 now = {0};
    if (runs_the_same(node, new))
        return false;
    if (cuda.cuGraphKernelNodeGetParams_v2(node->own, &now))
        return true;
    return (now.func ? (const void *)now.func : (const void *)now.kern) != node->function;
}

/* ---- one node ---- */

static const char *follow_node(struct graph *graph, const struct graph_knowledge *known,
                               struct graph_node *node, const struct graph_new_params *new)
{
    bool is_kernel = node->type == CU_GRAPH_NODE_TYPE_KERNEL;
    if (set_own(node->own, new) ||
        (graph->twin && !is_kernel && set_twin(graph->twin, node->own, new)))
        return FOLLOW_NO_PARAMS;
    if (is_kernel && runs_another(node, new) && !graph_change_kernel(graph, known, node))
        return "one of its nodes runs another kernel now, which is not known";
    node->given = node_function(new);
    graph->behind -= node->behind;
    node->behind = false;
    node->changed |= is_kernel;
    graph->changed |= is_kernel;
    return NULL;
}

/* ---- the nodes of a child graph ---- */

/* A node's parameters, as the functions that set them take them. */
union node_params {
    CUDA_KERNEL_NODE_PARAMS_v2 kernel;
    CUDA_MEMCPY3D copy;
    CUDA_MEMSET_NODE_PARAMS set;
    CUDA_HOST_NODE_PARAMS host;
    CUDA_BATCH_MEM_OP_NODE_PARAMS memops;
    CUevent event;
};

/* Reads them. Kinds without parameters leave GRAPH_OTHER. */
static CUresult get_params(CUgraphNode node, CUgraphNodeType type, union node_params *params,
                           struct graph_new_params *new)
{
    new->params = params;
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        new->change = GRAPH_KERNEL;
        return cuda.cuGraphKernelNodeGetParams_v2(node, &params->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        new->change = GRAPH_MEMCPY;
        return cuda.cuGraphMemcpyNodeGetParams(node, &params->copy);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        new->change = GRAPH_MEMSET;
        return cuda.cuGraphMemsetNodeGetParams(node, &params->set);
    case CU_GRAPH_NODE_TYPE_HOST:
        new->change = GRAPH_HOST;
        return cuda.cuGraphHostNodeGetParams(node, &params->host);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        new->change = GRAPH_MEMOPS;
        return cuda.cuGraphBatchMemOpNodeGetParams(node, &params->memops);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        new->change = GRAPH_EVENT_RECORD;
        return cuda.cuGraphEventRecordNodeGetEvent(node, &params->event);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        new->change = GRAPH_EVENT_WAIT;
        return cuda.cuGraphEventWaitNodeGetEvent(node, &params->event);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

/* A call that the new child graph has in the place of the node's takes over. */
static bool follow_call(struct graph *graph, const struct graph_node *node,
                        struct captured_call *call)
{
    struct graph_subject *subject = node->subject < 0 ? NULL : &graph->subject[node->subject];
    if (!subject || !subject->call || subject->changed || subject->call == call)
        return true;
    if (!call || call->changed || call->kernel != subject->call->kernel ||
        call->nodes != subject->call->nodes || node != &graph->node[subject_part(subject, 0)])
        return graph_change_call(graph, subject);
    captured_call_hold(call);
    captured_call_drop(subject->call);
    subject->call = call;
    return true;
}

/* A level of the child graph that is followed, and where in graph.node its next node is. */
struct followed {
    struct graph *graph;
    const struct graph_knowledge *known;
    uint32_t at;
};

static const char *follow_level(struct followed *followed, CUgraph level);

static const char *follow_one(struct followed *followed, const struct captured_graph *calls,
                              CUgraphNode from)
{
    static const char *const cannot = "a child graph's new parameters cannot be followed";
    struct graph *graph = followed->graph;
    struct graph_node *node = &graph->node[followed->at];
    CUgraphNodeType type;
    union node_params params = {.event = NULL};
    struct graph_new_params new = {GRAPH_OTHER, NULL, graph->side ? graph->side->context : NULL};
    CUgraph inner;
    if (followed->at++ >= graph->nodes || cuda.cuGraphNodeGetType(from, &type) ||
        type != node->type)
        return cannot;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH)
        return cuda.cuGraphChildGraphNodeGetGraph(from, &inner) ? cannot
                                                                : follow_level(followed, inner);
    if (get_params(from, type, &params, &new) ||
        !follow_call(graph, node, captured_call_of(calls, from)))
        return cannot;
    node->range = captured_range_of(calls, from);
    if (new.change == GRAPH_EVENT_RECORD || new.change == GRAPH_EVENT_WAIT)
        new.params = params.event;
    return new.change == GRAPH_OTHER ? NULL : follow_node(graph, followed->known, node, &new);
}

static const char *follow_level(struct followed *followed, CUgraph level)
{
    size_t count = 0;
    const struct captured_graph *calls = captured_find(followed->known->captured, level);
    CUgraphNode *nodes = NULL;
    const char *why = NULL;
    if (!cuda.cuGraphGetNodes(level, NULL, &count))
        nodes = calloc(count + 1, sizeof(*nodes));
    if (!nodes || (count && cuda.cuGraphGetNodes(level, nodes, &count)))
        why = "the nodes of a child graph cannot be listed";
    for (size_t i = 0; i < count && !why; i++)
        why = follow_one(followed, calls, nodes[i]);
    free(nodes);
    return why;
}

/* ---- each gives NULL, or why the graph cannot be followed any longer ---- */

static const char *follow_params(struct graph *graph, const struct graph_knowledge *known,
                                 CUgraphNode program, const struct graph_new_params *new)
{
    struct graph_node *node = graph_find_node(graph, program);
    const CUgraphNodeParams *any = new->params;
    bool is_child = new->change == GRAPH_CHILD ||
                    (new->change == GRAPH_ANY && any->type == CU_GRAPH_NODE_TYPE_GRAPH);
    if (node && node->own && is_child) {
        struct followed followed = {graph, known, (uint32_t)(node - graph->node) + 1};
        return follow_level(&followed, new->change == GRAPH_ANY ? any->graph.graph
                                                                : (CUgraph)(uintptr_t) new->params);
    }
    if (!node || !node->own || !changes_call(graph, node))
        return FOLLOW_NO_PARAMS;
    return follow_node(graph, known, node, new);
}

/* Where no replay may be picked: without a call of the driver, the node is `behind` until it is
 * followed. False: it has to be followed, since its kernel or a library call changes. */
static bool follow_leave(struct graph *graph, CUgraphNode program,
                         const struct graph_new_params *new)
{
    struct graph_node *node = graph_find_node(graph, program);
    if (!node || !node->own || node->type == CU_GRAPH_NODE_TYPE_GRAPH || !runs_the_same(node, new))
        return false;
    const struct graph_subject *subject = node->subject < 0 ? NULL : &graph->subject[node->subject];
    if (subject && subject->call && !subject->changed)
        return false;
    graph->behind += !node->behind;
    node->behind = true;
    return true;
}

/* Some node was switched, and which one is not known; without the lock. */
static void follow_lost_switch(struct graph *graph, bool enabled)
{
    if (!enabled)
        atomic_store(&graph->switched, true);
}

static const char *follow_switch(struct graph *graph, CUgraphNode program, bool enabled)
{
    struct graph_node *node = graph_find_node(graph, program);
    if (node && node->off == !enabled)
        return NULL;
    if (!node || !changes_call(graph, node)) {
        follow_lost_switch(graph, enabled);
        return node || graph->subjects ? FOLLOW_NO_SWITCH : NULL;
    }
    node->off = !enabled;
    if (node->count >= 0)
        graph->count[node->count].nodes += enabled ? 1 : -1u;
    if (graph->twin && cuda.cuGraphNodeSetEnabled(graph->twin, node->own, enabled))
        return FOLLOW_NO_SWITCH;
    return NULL;
}

/* ---- what the program calls ---- */

/* Some nodes run other kernels now. */
static void settle_recast(const struct graphs *graphs, struct graph *graph)
{
    const struct pipeline *pipeline = graphs->settings.pipeline;
    if (graph->recast) {
        replay_find_detectors(graph, pipeline);
        graph->decided = 0;
    }
    if (graph->has_new)
        graph_time(graph, pipeline->timing);
    graph->recast = graph->has_new = false;
}

/* Whether a replay may be picked; decided once between two launches. */
static bool is_followed(const struct graphs *graphs, struct graph *graph)
{
    uint64_t replay = atomic_load_explicit(&graph->replays, memory_order_relaxed);
    if (graph->decided != replay + 1) {
        graph->decided = replay + 1;
        graph->followed = graph->detects || atomic_load(&graph->pending) ||
                          replay_follows(graph, replay) ||
                          replay_may_pick(graph, graphs->settings.pipeline);
    }
    return graph->followed;
}

/* The budget pays where there is one: once the graph had a twin. */
static void charge_following(const struct graphs *graphs, const struct graph *graph, int64_t began)
{
    struct side *side = graph->side;
    const struct account account = {.budget = side ? &side->budget : NULL};
    int64_t now = clock_ns();
    ledger_time(graphs->settings.pipeline->sink, &account, now, now - began);
}

static const char *set_node(struct graphs *graphs, struct graph *graph, CUgraphNode node,
                            const struct graph_new_params *params)
{
    const struct graph_knowledge known = updates_knowledge(graphs);
    if (!updates_settle(graphs, graph, FOLLOW_NO_PARAMS))
        return NULL;
    if (!is_followed(graphs, graph) && follow_leave(graph, node, params))
        return NULL;
    int64_t began = clock_ns();
    const char *why = follow_params(graph, &known, node, params);
    settle_recast(graphs, graph);
    charge_following(graphs, graph, began);
    return why;
}

void graphs_node_set(struct graphs *graphs, CUgraphExec exec, CUgraphNode node,
                     const struct graph_new_params *params)
{
    struct graph *graph = exec_table_find(&graphs->table, exec);
    if (graph && UNUSUAL(graphs->settings.pipeline->recorder != NULL))
        graph_record_set(graph, graphs->settings.pipeline, node, params);
    if (!graph || atomic_load(&graph->state) == GRAPH_COUNTED)
        return;
    bool locked = graph_lock(graph);
    const char *why = locked ? set_node(graphs, graph, node, params)
                             : "one of its nodes was changed while its twin was being made";
    if (why)
        graph_give_up(graphs, graph, why);
    if (locked)
        pthread_mutex_unlock(&graph->lock);
}

void graphs_node_enabled(struct graphs *graphs, CUgraphExec exec, CUgraphNode node, bool enabled)
{
    const char *why = "one of its nodes was switched while its twin was being made";
    struct graph *graph = exec_table_find(&graphs->table, exec);
    if (!graph)
        return;
    bool locked = graph_lock(graph);
    bool found = locked && updates_settle(graphs, graph, FOLLOW_NO_SWITCH);
    if (locked)
        why = found ? follow_switch(graph, node, enabled) : NULL;
    if (!found)
        follow_lost_switch(graph, enabled);
    if (why)
        graph_give_up(graphs, graph, why);
    if (locked)
        pthread_mutex_unlock(&graph->lock);
}
