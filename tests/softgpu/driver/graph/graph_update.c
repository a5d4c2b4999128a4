/* graph_update.c - instances given new parameters: one node, or all of them from a graph of the
 * same shape. */
#include <stdlib.h>
#include "driver/graph/graph_exec.h"
#include "driver/graph/graph_params.h"
#include "impls.h"

typedef CUgraphExecUpdateResultInfo update_info;

static void refuse(update_info *info, CUgraphExecUpdateResult why, const struct node *node,
                   const struct node *from)
{
    info->result = why;
    info->errorNode = node ? node->handle : NULL;
    info->errorFromNode = from ? from->handle : NULL;
}

/* A node of the body and the one of the update that takes its place. */
struct pairing {
    struct node **queue; /* of the body: paired, their dependencies not compared yet */
    size_t done, count;
    update_info *info;
};

/* `to`: the update's node that depends on `update`, or NULL for one that nothing depends on. */
static bool pair_nodes(struct pairing *pairing, struct node *body, struct node *update,
                       const struct node *to)
{
    if (body->pair == update && update->pair == body)
        return true;
    if (body->pair || update->pair) {
        refuse(pairing->info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, to, update);
        return false;
    }
    if (body->in.count != update->in.count) {
        refuse(pairing->info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, update, NULL);
        return false;
    }
    body->pair = update;
    update->pair = body;
    pairing->queue[pairing->count++] = body;
    return true;
}

/* The k-th node on which nothing depends, or NULL. */
static struct node *next_exit(const struct graph *graph, size_t *at)
{
    while (*at < graph->count) {
        struct node *node = graph->nodes[(*at)++];
        if (node->out.count == 0)
            return node;
    }
    return NULL;
}

static bool pair_exits(struct pairing *pairing, const struct graph *body,
                       const struct graph *update)
{
    size_t body_at = 0, update_at = 0;
    for (;;) {
        struct node *of_body = next_exit(body, &body_at),
                    *of_update = next_exit(update, &update_at);
        if (!of_body || !of_update) {
            if (of_body || of_update)
                refuse(pairing->info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, of_update, NULL);
            return !of_body && !of_update;
        }
        if (!pair_nodes(pairing, of_body, of_update, NULL))
            return false;
    }
}

/* From the exits backward, along the edges in their order. */
static bool pair_shapes(struct graph *body, struct graph *update, update_info *info)
{
    if (body->count != update->count) {
        refuse(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
        return false;
    }
    for (size_t i = 0; i < body->count; i++)
        body->nodes[i]->pair = update->nodes[i]->pair = NULL;
    struct pairing pairing = {.queue = must_allocate(body->count, sizeof(struct node *)),
                              .info = info};
    bool good = pair_exits(&pairing, body, update);
    while (good && pairing.done < pairing.count) {
        const struct node *node = pairing.queue[pairing.done++];
        for (size_t i = 0; good && i < node->in.count; i++)
            good = pair_nodes(&pairing, node->in.at[i].node, node->pair->in.at[i].node, node->pair);
    }
    if (good && pairing.count < body->count) { /* a cycle in the update */
        refuse(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
        good = false;
    }
    free(pairing.queue);
    return good;
}

static CUgraphExecUpdateResult memset_may_change(const CUDA_MEMSET_NODE_PARAMS_v2 *before,
                                                 const CUDA_MEMSET_NODE_PARAMS_v2 *after)
{
    bool same_shape = before->width == after->width && before->pitch == after->pitch &&
                      before->elementSize == after->elementSize;
    bool good = before->height == after->height && (before->height <= 1 || same_shape);
    return good ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

static CUgraphExecUpdateResult may_change(const struct node *before, const struct node *after)
{
    CUgraphNodeParams old, new;
    if (before->type != after->type)
        return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (!params_of_node(before, &old) || !params_of_node(after, &new))
        return CU_GRAPH_EXEC_UPDATE_SUCCESS;
    switch (before->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return before->context == after->context
                   ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                   : CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return old.memcpy.copyParams.srcMemoryType ==
                       new.memcpy.copyParams.srcMemoryType &&old.memcpy.copyParams.dstMemoryType ==
                       new.memcpy.copyParams.dstMemoryType
                   ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                   : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return memset_may_change(&old.memset, &new.memset);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
    default:
        return CU_GRAPH_EXEC_UPDATE_SUCCESS;
    }
}

/* Pairs all nodes, those of child graphs too, or gives the reason why `update` does not fit. */
static bool pair_graphs(struct graph *body, struct graph *update, update_info *info)
{
    if (!pair_shapes(body, update, info))
        return false;
    for (size_t i = 0; i < body->count; i++) {
        const struct node *node = body->nodes[i];
        CUgraphExecUpdateResult why = may_change(node, node->pair);
        if (why) {
            refuse(info, why, node->pair, NULL);
            return false;
        }
        struct graph *inner, *pair;
        for (unsigned k = 0; (inner = node_inner(node, k)); k++) {
            pair = node_inner(node->pair, k);
            if (!pair || !pair_graphs(inner, pair, info))
                return false;
        }
    }
    return true;
}

static struct hook_resource change_event(enum resource_id id, const struct exec *exec,
                                         const struct node *node)
{
    return (struct hook_resource){.cbid = id,
                                  .graph = node->graph->handle,
                                  .node = node->handle,
                                  .original_node = node->original,
                                  .node_type = node->type,
                                  .graph_exec = exec->handle};
}

static void take_works(struct section *section, const struct exec *exec, const struct graph *body)
{
    for (size_t i = 0; i < body->count; i++) {
        struct node *node = body->nodes[i];
        struct graph *inner;
        for (unsigned k = 0; (inner = node_inner(node, k)); k++)
            take_works(section, exec, inner);
        if (node->work)
            node_set_work(section, node, node_copy_work(node->pair));
        node->context = node->pair->context;
        section_note(section, change_event(RESOURCE_NODE_UPDATED, exec, node));
    }
}

static CUresult update_exec(const struct call *call, CUgraphExec handle, CUgraph update,
                            update_info *info)
{
    *info = (update_info){.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    struct section section;
    section_begin(&section, call->context);
    struct exec *exec = exec_find(handle);
    struct graph *graph = graph_find(update);
    if (!exec || !graph || graph->owned || graph->capturing)
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    if (!pair_graphs(exec->body, graph, info))
        return section_end(&section, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    take_works(&section, exec, exec->body);
    exec_changed(&section, exec);
    info->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    return section_end(&section, CUDA_SUCCESS);
}

CUresult impl_cuGraphExecUpdate_v2(const struct call *call, cuGraphExecUpdate_v2_params *p)
{
    if (!p->resultInfo)
        return CUDA_ERROR_INVALID_VALUE;
    return update_exec(call, p->hGraphExec, p->hGraph, p->resultInfo);
}

CUresult impl_cuGraphExecUpdate(const struct call *call, cuGraphExecUpdate_params *p)
{
    update_info info;
    CUresult result = update_exec(call, p->hGraphExec, p->hGraph, &info);
    if (p->hErrorNode_out)
        *p->hErrorNode_out = info.errorNode;
    if (p->updateResult_out)
        *p->updateResult_out = info.result;
    return result;
}

/* The copies and fills that one call may put in the place of another. */
static bool is_plain(const CUgraphNodeParams *params)
{
    if (params->type == CU_GRAPH_NODE_TYPE_MEMSET)
        return params->memset.width > 0 && params->memset.height > 0;
    const CUDA_MEMCPY3D *copy = &params->memcpy.copyParams;
    return params->type != CU_GRAPH_NODE_TYPE_MEMCPY ||
           (copy->WidthInBytes > 0 && copy->Height == 1 && copy->Depth == 1);
}

static bool copy_is_flat(const struct node *node)
{
    CUgraphNodeParams params;
    return node->type != CU_GRAPH_NODE_TYPE_MEMCPY ||
           (params_of_node(node, &params) && params.memcpy.copyParams.Height <= 1 &&
            params.memcpy.copyParams.Depth <= 1);
}

/* With the lock held: a node that stands for the given parameters is put in the place of the
 * instance's. */
static CUresult replace_work(struct section *section, CUgraphExec exec_handle, CUgraphNode handle,
                             const struct node *with)
{
    struct exec *exec = exec_find(exec_handle);
    struct node *node = exec ? exec_node(exec, handle) : NULL;
    if (!node || !copy_is_flat(node) || may_change(node, with)) {
        section_drop(section, with->work);
        return CUDA_ERROR_INVALID_VALUE;
    }
    section_drop(section, node->work);
    node->work = with->work;
    node->context = with->context;
    exec_changed(section, exec);
    section_note(section, change_event(RESOURCE_NODE_SET_PARAMS, exec, node));
    return CUDA_SUCCESS;
}

static CUresult set_child(const struct call *call, CUgraphExec exec_handle, CUgraphNode handle,
                          CUgraph child)
{
    struct section section;
    section_begin(&section, call->context);
    struct exec *exec = exec_find(exec_handle);
    struct node *node = exec ? exec_node(exec, handle) : NULL;
    struct graph *graph = graph_find(child);
    update_info info;
    if (!node || !node->child || !graph || graph->capturing ||
        !pair_graphs(node->child, graph, &info))
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    take_works(&section, exec, node->child);
    exec_changed(&section, exec);
    section_note(&section, change_event(RESOURCE_NODE_SET_PARAMS, exec, node));
    return section_end(&section, CUDA_SUCCESS);
}

static CUresult set_params(const struct call *call, CUgraphExec exec_handle, CUgraphNode handle,
                           CUgraphNodeParams *params)
{
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return set_child(call, exec_handle, handle, params->graph.graph);
    if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || params->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct section section;
    section_begin(&section, call->context);
    const struct exec *exec = exec_find(exec_handle);
    const struct node *node = exec ? exec_node(exec, handle) : NULL;
    bool good = node && node->type == params->type && is_plain(params) && params_are_clean(params);
    struct context *context = node && node->context ? node->context : call->context;
    section_end(&section, CUDA_SUCCESS);
    if (!good)
        return CUDA_ERROR_INVALID_VALUE;
    struct work work;
    CUresult result = params_make_work(params, &context, &work);
    if (result || !work.type)
        return result;
    const struct node with = {
        .type = params->type, .context = context, .work = shared_work_new(work)};
    section_begin(&section, call->context);
    return section_end(&section, replace_work(&section, exec_handle, handle, &with));
}

#define SET(function, needed, converted)                                                           \
    CUresult impl_##function(const struct call *call, function##_params *p)                        \
    {                                                                                              \
        if (!(needed))                                                                             \
            return CUDA_ERROR_INVALID_VALUE;                                                       \
        CUgraphNodeParams params = (converted);                                                    \
        return set_params(call, p->hGraphExec, p->hNode, &params);                                 \
    }

SET(cuGraphExecKernelNodeSetParams, p->nodeParams, params_of_kernel_v1(p->nodeParams))
SET(cuGraphExecKernelNodeSetParams_v2, p->nodeParams, params_of_kernel(p->nodeParams))
SET(cuGraphExecMemcpyNodeSetParams, p->copyParams, params_of_memcpy(p->copyParams, p->ctx))
SET(cuGraphExecMemsetNodeSetParams, p->memsetParams, params_of_memset(p->memsetParams, p->ctx))
SET(cuGraphExecHostNodeSetParams, p->nodeParams, params_of_host(p->nodeParams))
SET(cuGraphExecBatchMemOpNodeSetParams, p->nodeParams, params_of_memop(p->nodeParams))
SET(cuGraphExecEventRecordNodeSetEvent, true,
    params_of_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, p->event))
SET(cuGraphExecEventWaitNodeSetEvent, true,
    params_of_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, p->event))
SET(cuGraphExecChildGraphNodeSetParams, true,
    ((CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = {.graph = p->childGraph}}))
SET(cuGraphExecNodeSetParams, p->nodeParams, *p->nodeParams)

/* NULL where there is none, or it cannot be switched. */
static struct node *switchable(const struct exec *exec, CUgraphNode handle)
{
    struct node *node = exec ? exec_node(exec, handle) : NULL;
    return node && (node->type == CU_GRAPH_NODE_TYPE_KERNEL ||
                    node->type == CU_GRAPH_NODE_TYPE_MEMCPY ||
                    node->type == CU_GRAPH_NODE_TYPE_MEMSET)
               ? node
               : NULL;
}

CUresult impl_cuGraphNodeSetEnabled(const struct call *call, cuGraphNodeSetEnabled_params *p)
{
    struct section section;
    section_begin(&section, call->context);
    struct exec *exec = exec_find(p->hGraphExec);
    struct node *node = switchable(exec, p->hNode);
    if (!node || p->isEnabled > 1)
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    node->enabled = p->isEnabled;
    exec_changed(&section, exec);
    return section_end(&section, CUDA_SUCCESS);
}

CUresult impl_cuGraphNodeGetEnabled(const struct call *call, cuGraphNodeGetEnabled_params *p)
{
    struct section section;
    section_begin(&section, call->context);
    const struct node *node = switchable(exec_find(p->hGraphExec), p->hNode);
    if (!node || !p->isEnabled)
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    *p->isEnabled = node->enabled;
    return section_end(&section, CUDA_SUCCESS);
}
