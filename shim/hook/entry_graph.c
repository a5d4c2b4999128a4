/* entry_graph.c - wrappers of the driver functions that make, change and destroy executable graphs.
 */
#include "hook/entry_table.h"

/* ---- made, updated, destroyed ---- */

#define MADE(flags)                                                                                \
    if (!result)                                                                                   \
    core_graph_made(*exec, graph, flags)

ENTRY_CALL(cuGraphInstantiate,
           (CUgraphExec * exec, CUgraph graph, CUgraphNode *node, char *text, size_t bytes),
           (exec, graph, node, text, bytes), (void)0, MADE(0))
ENTRY_CALL(cuGraphInstantiate_v2,
           (CUgraphExec * exec, CUgraph graph, CUgraphNode *node, char *text, size_t bytes),
           (exec, graph, node, text, bytes), (void)0, MADE(0))
ENTRY_CALL(cuGraphInstantiateWithFlags,
           (CUgraphExec * exec, CUgraph graph, unsigned long long flags), (exec, graph, flags),
           (void)0, MADE(flags))
ENTRY_CALL(cuGraphInstantiateWithParams,
           (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *with),
           (exec, graph, with), (void)0, MADE(with->flags))
ENTRY_CALL(cuGraphInstantiateWithParams_ptsz,
           (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *with),
           (exec, graph, with), (void)0, MADE(with->flags))

#define UPDATED                                                                                    \
    if (!result)                                                                                   \
    core_graph_updated(exec, graph)

ENTRY_CALL(cuGraphExecUpdate,
           (CUgraphExec exec, CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *update),
           (exec, graph, node, update), (void)0, UPDATED)
ENTRY_CALL(cuGraphExecUpdate_v2,
           (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info),
           (exec, graph, info), (void)0, UPDATED)

ENTRY_CALL(cuGraphExecDestroy, (CUgraphExec exec), (exec), core_graph_gone(exec), (void)0)

/* ---- nodes ---- */

#define NODE_SET(kind, params, context)                                                            \
    if (!result)                                                                                   \
    core_graph_node_set(exec, node, CORE_NODE_##kind, params, context)

/* A node's new parameters; in the context too, where the function takes one. */
#define ENTRY_NODE(symbol, type, kind)                                                             \
    ENTRY_CALL(symbol, (CUgraphExec exec, CUgraphNode node, type params), (exec, node, params),    \
               (void)0, NODE_SET(kind, params, NULL))
#define ENTRY_NODE_IN(symbol, type, kind)                                                          \
    ENTRY_CALL(symbol, (CUgraphExec exec, CUgraphNode node, type params, CUcontext context),       \
               (exec, node, params, context), (void)0, NODE_SET(kind, params, context))

ENTRY_NODE(cuGraphExecKernelNodeSetParams, const void *, KERNEL_OLD)
ENTRY_NODE(cuGraphExecKernelNodeSetParams_v2, const void *, KERNEL)
ENTRY_NODE_IN(cuGraphExecMemcpyNodeSetParams, const void *, MEMCPY)
ENTRY_NODE_IN(cuGraphExecMemsetNodeSetParams, const void *, MEMSET)
ENTRY_NODE(cuGraphExecHostNodeSetParams, const void *, HOST)
ENTRY_NODE(cuGraphExecChildGraphNodeSetParams, CUgraph, CHILD)
ENTRY_NODE(cuGraphExecEventRecordNodeSetEvent, CUevent, EVENT_RECORD)
ENTRY_NODE(cuGraphExecEventWaitNodeSetEvent, CUevent, EVENT_WAIT)
ENTRY_NODE(cuGraphExecExternalSemaphoresSignalNodeSetParams, const void *, OTHER)
ENTRY_NODE(cuGraphExecExternalSemaphoresWaitNodeSetParams, const void *, OTHER)
ENTRY_NODE(cuGraphExecBatchMemOpNodeSetParams, const void *, MEMOPS)
ENTRY_NODE(cuGraphExecNodeSetParams, void *, ANY)

ENTRY_CALL(cuGraphNodeSetEnabled, (CUgraphExec exec, CUgraphNode node, unsigned enabled),
           (exec, node, enabled), (void)0,
           if (!result) core_graph_node_enabled(exec, node, enabled != 0))

/* ---- templates ---- */

#define CAPTURED                                                                                   \
    if (!result)                                                                                   \
    core_capture_ended(*graph)

ENTRY_CALL(cuStreamEndCapture, (CUstream stream, CUgraph *graph), (stream, graph), (void)0,
           CAPTURED)
ENTRY_CALL(cuStreamEndCapture_ptsz, (CUstream stream, CUgraph *graph), (stream, graph), (void)0,
           CAPTURED)

ENTRY_CALL(cuGraphDestroy, (CUgraph graph), (graph), core_graph_destroyed(graph), (void)0)
ENTRY_CALL(cuGraphClone, (CUgraph * clone, CUgraph graph), (clone, graph), (void)0,
           if (!result) core_graph_cloned(graph, *clone))
ENTRY_CALL(cuGraphDestroyNode, (CUgraphNode node), (node), core_graph_node_destroyed(node), (void)0)

ENTRY_CALL(cuGraphAddChildGraphNode,
           (CUgraphNode * node, CUgraph graph, const CUgraphNode *wait, size_t waits,
            CUgraph child),
           (node, graph, wait, waits, child), (void)0,
           if (!result) core_graph_child_added(graph, *node, child))

/* What is made is a child graph's node, a conditional one, or another. */
static void node_added(CUgraph graph, CUgraphNode node, const CUgraphNodeParams *params,
                       CUgraph child)
{
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
        core_graph_child_added(graph, node, child);
    else if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        core_graph_bodies_added(graph, node, params->conditional.phGraph_out,
                                params->conditional.size);
}

#define NODE_ADDED                                                                                 \
    if (!result)                                                                                   \
    node_added(graph, *node, params, child)
#define NODE_CHILD                                                                                 \
    CUgraph child = params && params->type == CU_GRAPH_NODE_TYPE_GRAPH ? params->graph.graph : NULL

ENTRY_CALL(cuGraphAddNode,
           (CUgraphNode * node, CUgraph graph, const CUgraphNode *wait, size_t waits,
            CUgraphNodeParams *params),
           (node, graph, wait, waits, params), NODE_CHILD, NODE_ADDED)
ENTRY_CALL(cuGraphAddNode_v2,
           (CUgraphNode * node, CUgraph graph, const CUgraphNode *wait, const CUgraphEdgeData *edge,
            size_t waits, CUgraphNodeParams *params),
           (node, graph, wait, edge, waits, params), NODE_CHILD, NODE_ADDED)

#define ENTRY_TEMPLATE_NODE(symbol, type)                                                          \
    ENTRY_CALL(symbol, (CUgraphNode node, type params), (node, params), (void)0,                   \
               if (!result) core_graph_node_changed(node))

ENTRY_TEMPLATE_NODE(cuGraphKernelNodeSetParams, const void *)
ENTRY_TEMPLATE_NODE(cuGraphKernelNodeSetParams_v2, const void *)
ENTRY_TEMPLATE_NODE(cuGraphMemcpyNodeSetParams, const void *)
ENTRY_TEMPLATE_NODE(cuGraphMemsetNodeSetParams, const void *)
ENTRY_TEMPLATE_NODE(cuGraphNodeSetParams, void *)
