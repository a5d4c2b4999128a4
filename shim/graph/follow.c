/* follow.c - what the program changes in a node of its executable graph is changed in the clone,
 * and in the twin. */
#include "graph/follow.h"

#include <string.h>

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

const char *follow_params(struct graph *graph, CUgraphNode program,
                          const struct graph_new_params *new)
{
    struct graph_node *node = graph_find_node(graph, program);
    bool is_kernel = node && node->count >= 0;
    if (!node || !node->own || !changes_call(graph, node) || set_own(node->own, new) ||
        (graph->twin && !is_kernel && set_twin(graph->twin, node->own, new)))
        return "new parameters of one of its nodes cannot be followed";
    node->changed |= is_kernel;
    graph->changed |= is_kernel;
    return NULL;
}

const char *follow_switch(struct graph *graph, CUgraphNode program, bool enabled)
{
    struct graph_node *node = graph_find_node(graph, program);
    if (!node || node->off == !enabled)
        return NULL;
    if (!changes_call(graph, node))
        return "one of its nodes cannot be switched";
    node->off = !enabled;
    if (node->count >= 0)
        graph->count[node->count].nodes += enabled ? 1 : -1u;
    if (graph->twin && cuda.cuGraphNodeSetEnabled(graph->twin, node->own, enabled))
        return "one of its nodes cannot be switched";
    return NULL;
}
