/* graph_nodes.c - nodes of graph templates: adding them, reading and changing their parameters. */
#include <string.h>
#include "driver/context/device.h"
#include "driver/graph/graph_conditional.h"
#include "driver/graph/graph_params.h"
#include "impls.h"

/* Where a new node goes: the arguments that all the Add calls share. */
struct place {
    CUgraphNode *node;
    CUgraph graph;
    const CUgraphNode *dependencies;
    const CUgraphEdgeData *data;
    size_t count;
};
#define PLACE(p)                                                                                   \
    &(const struct place)                                                                          \
    {                                                                                              \
        (p)->phGraphNode, (p)->hGraph, (p)->dependencies, NULL, (p)->numDependencies               \
    }

static bool place_is_good(const struct graph *graph, const struct place *place)
{
    bool good = graph && (place->count == 0 || place->dependencies);
    for (size_t i = 0; good && i < place->count; i++) {
        const struct node *from = node_find(place->dependencies[i]);
        good = from && from->graph == graph &&
               edge_data_is_valid(from, place->data ? &place->data[i] : NULL);
        for (size_t k = 0; good && k < i; k++)
            good = place->dependencies[k] != place->dependencies[i];
    }
    return good;
}

static bool contains(const struct graph *outer, const struct graph *inner)
{
    if (outer == inner)
        return true;
    for (size_t i = 0; i < outer->count; i++) {
        if (outer->nodes[i]->child && contains(outer->nodes[i]->child, inner))
            return true;
    }
    return false;
}

/* The graph that a child graph node gets: a clone, or with "move" the program's own. */
static CUresult adopt_child(struct section *section, const struct graph *graph,
                            const CUgraphNodeParams *params, struct graph **child)
{
    struct graph *from = graph_find(params->graph.graph);
    if (!from || from->capturing)
        return CUDA_ERROR_INVALID_VALUE;
    if (CHILD_OWNERSHIP(params) == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
        if (from->owned || contains(from, graph))
            return CUDA_ERROR_INVALID_VALUE;
        *child = from;
        return CUDA_SUCCESS;
    }
    if (CHILD_OWNERSHIP(params) != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE)
        return CUDA_ERROR_INVALID_VALUE;
    if (graph_has_memory_nodes(from) || graph_has_conditions(from))
        return CUDA_ERROR_NOT_SUPPORTED;
    *child = graph_copy(section, from);
    return CUDA_SUCCESS;
}

static CUresult place_node(struct section *section, const struct place *place,
                           CUgraphNodeParams *params, struct context *context, struct work work)
{
    struct graph *graph = graph_find(place->graph), *child = NULL;
    struct conditional *conditional = NULL;
    CUresult result = place_is_good(graph, place) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    bool memory =
        params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || params->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
    if (!result && memory && graph->owned && !graph->capturing)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (!result && params->type == CU_GRAPH_NODE_TYPE_GRAPH)
        result = adopt_child(section, graph, params, &child);
    if (!result && params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        conditional = conditional_new(section, &params->conditional);
        result = conditional ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    if (result) {
        if (work.type)
            section_drop(section, shared_work_new(work));
        return result;
    }
    struct node *node = node_new(section, graph, params->type, context, work, child);
    node->conditional = conditional;
    if (conditional)
        params->conditional.phGraph_out = conditional->handle;
    for (size_t i = 0; i < place->count; i++)
        edge_add(section, node_find(place->dependencies[i]), node,
                 place->data ? &place->data[i] : NULL);
    *place->node = node->handle;
    return CUDA_SUCCESS;
}

static CUresult add_node(const struct call *call, const struct place *place,
                         CUgraphNodeParams *params)
{
    if (!place->node || !params_are_clean(params))
        return CUDA_ERROR_INVALID_VALUE;
    struct context *context = call->context;
    struct work work;
    CUresult result = params_make_work(params, &context, &work);
    if (result)
        return result;
    struct section section;
    section_begin(&section, call->context);
    return section_end(&section, place_node(&section, place, params, context, work));
}

/* A call that adds a node of one type: it needs its parameters, and brings them into the general
 * form. */
#define ADD(function, needed, converted)                                                           \
    CUresult impl_##function(const struct call *call, function##_params *p)                        \
    {                                                                                              \
        if (!(needed))                                                                             \
            return CUDA_ERROR_INVALID_VALUE;                                                       \
        CUgraphNodeParams params = (converted);                                                    \
        return add_node(call, PLACE(p), &params);                                                  \
    }

ADD(cuGraphAddKernelNode, p->nodeParams, params_of_kernel_v1(p->nodeParams))
ADD(cuGraphAddKernelNode_v2, p->nodeParams, params_of_kernel(p->nodeParams))
ADD(cuGraphAddMemcpyNode, p->copyParams, params_of_memcpy(p->copyParams, p->ctx))
ADD(cuGraphAddMemsetNode, p->memsetParams, params_of_memset(p->memsetParams, p->ctx))
ADD(cuGraphAddHostNode, p->nodeParams, params_of_host(p->nodeParams))
ADD(cuGraphAddBatchMemOpNode, p->nodeParams, params_of_memop(p->nodeParams))
ADD(cuGraphAddEmptyNode, true, ((CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_EMPTY}))
ADD(cuGraphAddEventRecordNode, true, params_of_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, p->event))
ADD(cuGraphAddEventWaitNode, true, params_of_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, p->event))
ADD(cuGraphAddChildGraphNode, true,
    ((CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = {.graph = p->childGraph}}))
ADD(cuGraphAddMemFreeNode, true,
    ((CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = {.dptr = p->dptr}}))

CUresult impl_cuGraphAddMemAllocNode(const struct call *call, cuGraphAddMemAllocNode_params *p)
{
    if (!p->nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    memcpy(&params.alloc, p->nodeParams, sizeof(*p->nodeParams));
    CUresult result = add_node(call, PLACE(p), &params);
    p->nodeParams->dptr = params.alloc.dptr;
    return result;
}

CUresult impl_cuGraphAddNode_v2(const struct call *call, cuGraphAddNode_v2_params *p)
{
    if (!p->nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    const struct place place = {p->phGraphNode, p->hGraph, p->dependencies, p->dependencyData,
                                p->numDependencies};
    return add_node(call, &place, p->nodeParams);
}

CUresult impl_cuGraphAddNode(const struct call *call, cuGraphAddNode_params *p)
{
    return p->nodeParams ? add_node(call, PLACE(p), p->nodeParams) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult show(const struct call *call, CUgraphNode handle, CUgraphNodeType type,
                     const void *out, CUgraphNodeParams *params)
{
    struct section section;
    section_begin(&section, call->context);
    const struct node *node = node_find(handle);
    bool good = out && node && node->type == type && params_of_node(node, params);
    return section_end(&section, good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* A call that gives the parameters of a node of one type: `out` is its parameter for them. */
#define SHOW(function, node_type, out, copied)                                                     \
    CUresult impl_##function(const struct call *call, function##_params *p)                        \
    {                                                                                              \
        CUgraphNodeParams params;                                                                  \
        CUresult result = show(call, p->hNode, node_type, p->out, &params);                        \
        if (!result) {                                                                             \
            copied;                                                                                \
        }                                                                                          \
        return result;                                                                             \
    }

SHOW(cuGraphKernelNodeGetParams, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams,
     memcpy(p->nodeParams, &params.kernel, sizeof(*p->nodeParams)))
SHOW(cuGraphKernelNodeGetParams_v2, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams,
     memcpy(p->nodeParams, &params.kernel, sizeof(*p->nodeParams)))
SHOW(cuGraphMemcpyNodeGetParams, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams,
     *p->nodeParams = params.memcpy.copyParams)
SHOW(cuGraphMemsetNodeGetParams, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams,
     memcpy(p->nodeParams, &params.memset, sizeof(*p->nodeParams)))
SHOW(cuGraphHostNodeGetParams, CU_GRAPH_NODE_TYPE_HOST, nodeParams,
     memcpy(p->nodeParams, &params.host, sizeof(*p->nodeParams)))
SHOW(cuGraphChildGraphNodeGetGraph, CU_GRAPH_NODE_TYPE_GRAPH, phGraph,
     *p->phGraph = params.graph.graph)
SHOW(cuGraphEventRecordNodeGetEvent, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out,
     *p->event_out = params.eventRecord.event)
SHOW(cuGraphEventWaitNodeGetEvent, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out,
     *p->event_out = params.eventWait.event)
SHOW(cuGraphMemAllocNodeGetParams, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params_out,
     memcpy(p->params_out, &params.alloc, sizeof(*p->params_out)))
SHOW(cuGraphMemFreeNodeGetParams, CU_GRAPH_NODE_TYPE_MEM_FREE, dptr_out,
     *p->dptr_out = params.free.dptr)
SHOW(cuGraphBatchMemOpNodeGetParams, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams_out,
     memcpy(p->nodeParams_out, &params.memOp, sizeof(*p->nodeParams_out)))

/* The one attribute that is known here: whether the device may update the node. */
CUresult impl_cuGraphKernelNodeGetAttribute(const struct call *call,
                                            cuGraphKernelNodeGetAttribute_params *p)
{
    struct section section;
    section_begin(&section, call->context);
    const struct node *node = node_find(p->hNode);
    if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL || !p->value_out)
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    if (p->attr != CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)
        return section_end(&section, CUDA_ERROR_NOT_SUPPORTED);
    memset(p->value_out, 0, sizeof(*p->value_out));
    p->value_out->deviceUpdatableKernelNode.deviceUpdatable = node->updatable;
    return section_end(&section, CUDA_SUCCESS);
}

CUresult impl_cuGraphKernelNodeSetAttribute(const struct call *call,
                                            cuGraphKernelNodeSetAttribute_params *p)
{
    struct section section;
    section_begin(&section, call->context);
    struct node *node = node_find(p->hNode);
    if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL || !p->value)
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    if (p->attr != CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)
        return section_end(&section, CUDA_ERROR_NOT_SUPPORTED);
    if (p->value->deviceUpdatableKernelNode.deviceUpdatable != 1)
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    node->updatable = true;
    return section_end(&section, CUDA_SUCCESS);
}

/* Child graphs and memory nodes are not changed here: the real driver does not, either. */
static CUresult set_params(const struct call *call, CUgraphNode handle, CUgraphNodeParams *params)
{
    if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
        params->type == CU_GRAPH_NODE_TYPE_MEM_FREE || params->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct section section;
    section_begin(&section, call->context);
    struct node *node = node_find(handle);
    struct context *context = node && node->context ? node->context : call->context;
    bool good = node && node->type == params->type && params_are_clean(params);
    if (section_end(&section, !good))
        return CUDA_ERROR_INVALID_VALUE;

    struct work work;
    CUresult result = params_make_work(params, &context, &work);
    if (result || !work.type)
        return result;
    section_begin(&section, call->context);
    node = node_find(handle);
    if (node) {
        node->context = context;
        node_set_work(&section, node, work);
    } else {
        section_drop(&section, shared_work_new(work));
    }
    return section_end(&section, node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

#define SET(function, needed, converted)                                                           \
    CUresult impl_##function(const struct call *call, function##_params *p)                        \
    {                                                                                              \
        if (!(needed))                                                                             \
            return CUDA_ERROR_INVALID_VALUE;                                                       \
        CUgraphNodeParams params = (converted);                                                    \
        return set_params(call, p->hNode, &params);                                                \
    }

SET(cuGraphKernelNodeSetParams, p->nodeParams, params_of_kernel_v1(p->nodeParams))
SET(cuGraphKernelNodeSetParams_v2, p->nodeParams, params_of_kernel(p->nodeParams))
SET(cuGraphMemcpyNodeSetParams, p->nodeParams, params_of_memcpy(p->nodeParams, NULL))
SET(cuGraphMemsetNodeSetParams, p->nodeParams, params_of_memset(p->nodeParams, NULL))
SET(cuGraphHostNodeSetParams, p->nodeParams, params_of_host(p->nodeParams))
SET(cuGraphBatchMemOpNodeSetParams, p->nodeParams, params_of_memop(p->nodeParams))
SET(cuGraphEventRecordNodeSetEvent, true,
    params_of_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, p->event))
SET(cuGraphEventWaitNodeSetEvent, true, params_of_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, p->event))
SET(cuGraphNodeSetParams, p->nodeParams, *p->nodeParams)
