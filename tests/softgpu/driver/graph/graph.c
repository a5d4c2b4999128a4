/* graph.c - graph templates: made, cloned, queried, joined by edges, destroyed. */
#include <string.h>
#include "driver/graph/graph_data.h"
#include "impls.h"

CUresult impl_cuGraphCreate(const struct call *call, cuGraphCreate_params *p)
{
    if (!p->phGraph || p->flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct section section;
    section_begin(&section, call->context);
    *p->phGraph = graph_new(&section, NULL)->handle;
    return section_end(&section, CUDA_SUCCESS);
}

static void note_end(struct section *section, const struct graph *graph)
{
    section_note(section, (struct hook_resource){.cbid = RESOURCE_GRAPH_DESTROY_STARTING,
                                                 .graph = graph->handle});
    for (size_t i = 0; i < graph->count; i++)
        section_note(section, (struct hook_resource){.cbid = RESOURCE_NODE_DESTROY_STARTING,
                                                     .graph = graph->handle,
                                                     .node = graph->nodes[i]->handle,
                                                     .node_type = graph->nodes[i]->type});
}

/* The callbacks come first, while the handles are good. */
CUresult impl_cuGraphDestroy(const struct call *call, cuGraphDestroy_params *p)
{
    struct section section;
    for (int step = 0; step < 2; step++) {
        section_begin(&section, call->context);
        struct graph *graph = graph_find(p->hGraph);
        if (!graph || graph->owned || graph->capturing)
            return section_end(&section, CUDA_ERROR_INVALID_VALUE);
        if (step == 0)
            note_end(&section, graph);
        else
            graph_free(&section, graph);
        section_end(&section, CUDA_SUCCESS);
    }
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphClone(const struct call *call, cuGraphClone_params *p)
{
    struct section section;
    section_begin(&section, call->context);
    const struct graph *graph = graph_find(p->originalGraph);
    if (!graph || !p->phGraphClone)
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    if (graph_has_memory_nodes(graph) || graph_has_conditions(graph))
        return section_end(&section, CUDA_ERROR_NOT_SUPPORTED);
    *p->phGraphClone = graph_copy(&section, graph)->handle;
    return section_end(&section, CUDA_SUCCESS);
}

CUresult impl_cuGraphNodeFindInClone(const struct call *call, cuGraphNodeFindInClone_params *p)
{
    struct section section;
    section_begin(&section, call->context);
    const struct graph *graph = graph_find(p->hClonedGraph);
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (!graph || !p->phNode || !p->hOriginalNode)
        return section_end(&section, result);
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i]->original == p->hOriginalNode) {
            *p->phNode = graph->nodes[i]->handle;
            result = CUDA_SUCCESS;
        }
    }
    return section_end(&section, result);
}

CUresult impl_cuGraphNodeGetType(const struct call *call, cuGraphNodeGetType_params *p)
{
    struct section section;
    section_begin(&section, call->context);
    const struct node *node = node_find(p->hNode);
    if (!node || !p->type)
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    *p->type = node->type;
    return section_end(&section, CUDA_SUCCESS);
}

/* What the list-giving calls have in common: without an array the count alone, with one as many as
 * fit, the rest of it NULL. */
struct listing {
    CUgraphNode *first, *second; /* `second` may be NULL */
    CUgraphEdgeData *data;       /* may be NULL */
    size_t room, count, written;
    bool counting, lossy;
};

static CUresult listing_start(struct listing *list, CUgraphNode *first, size_t *count)
{
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *list = (struct listing){.first = first, .room = *count, .counting = !first};
    return CUDA_SUCCESS;
}

static void listing_add(struct listing *list, const struct node *first, const struct node *second,
                        const CUgraphEdgeData *data)
{
    size_t at = list->count++;
    if (list->counting || at >= list->room)
        return;
    list->first[at] = first->handle;
    if (list->second)
        list->second[at] = second->handle;
    if (list->data)
        list->data[at] = *data;
    else if (!edge_data_is_plain(data))
        list->lossy = true;
    list->written++;
}

static CUresult listing_end(const struct listing *list, size_t *count)
{
    if (list->lossy)
        return CUDA_ERROR_LOSSY_QUERY;
    for (size_t i = list->written; !list->counting && i < list->room; i++) {
        list->first[i] = NULL;
        if (list->second)
            list->second[i] = NULL;
    }
    *count = list->counting ? list->count : list->written;
    return CUDA_SUCCESS;
}

static CUresult list_nodes(const struct call *call, CUgraph handle, bool roots, CUgraphNode *out,
                           size_t *count)
{
    struct section section;
    section_begin(&section, call->context);
    const struct graph *graph = graph_find(handle);
    struct listing list;
    CUresult result = listing_start(&list, out, count);
    if (!graph || result || (out && !*count))
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < graph->count; i++) {
        if (!roots || graph->nodes[i]->in.count == 0)
            listing_add(&list, graph->nodes[i], NULL, NULL);
    }
    return section_end(&section, listing_end(&list, count));
}

CUresult impl_cuGraphGetNodes(const struct call *call, cuGraphGetNodes_params *p)
{
    return list_nodes(call, p->hGraph, false, p->nodes, p->numNodes);
}

CUresult impl_cuGraphGetRootNodes(const struct call *call, cuGraphGetRootNodes_params *p)
{
    return list_nodes(call, p->hGraph, true, p->rootNodes, p->numRootNodes);
}

CUresult impl_cuGraphGetEdges_v2(const struct call *call, cuGraphGetEdges_v2_params *p)
{
    if (!p->from != !p->to || (p->edgeData && !p->from))
        return CUDA_ERROR_INVALID_VALUE;
    struct section section;
    section_begin(&section, call->context);
    const struct graph *graph = graph_find(p->hGraph);
    struct listing list;
    CUresult result = listing_start(&list, p->from, p->numEdges);
    if (!graph || result)
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    list.second = p->to;
    list.data = p->edgeData;
    for (size_t i = 0; i < graph->count; i++) {
        const struct edges *in = &graph->nodes[i]->in;
        for (size_t k = 0; k < in->count; k++)
            listing_add(&list, in->at[k].node, graph->nodes[i], &in->at[k].data);
    }
    return section_end(&section, listing_end(&list, p->numEdges));
}

CUresult impl_cuGraphGetEdges(const struct call *call, cuGraphGetEdges_params *p)
{
    cuGraphGetEdges_v2_params all = {p->hGraph, p->from, p->to, NULL, p->numEdges};
    return impl_cuGraphGetEdges_v2(call, &all);
}

static CUresult list_neighbours(const struct call *call, CUgraphNode handle, bool in,
                                CUgraphNode *out, CUgraphEdgeData *data, size_t *count)
{
    if (data && !out)
        return CUDA_ERROR_INVALID_VALUE;
    struct section section;
    section_begin(&section, call->context);
    const struct node *node = node_find(handle);
    struct listing list;
    CUresult result = listing_start(&list, out, count);
    if (!node || result)
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    list.data = data;
    const struct edges *edges = in ? &node->in : &node->out;
    for (size_t i = 0; i < edges->count; i++)
        listing_add(&list, edges->at[i].node, NULL, &edges->at[i].data);
    return section_end(&section, listing_end(&list, count));
}

CUresult impl_cuGraphNodeGetDependencies(const struct call *call,
                                         cuGraphNodeGetDependencies_params *p)
{
    return list_neighbours(call, p->hNode, true, p->dependencies, NULL, p->numDependencies);
}

CUresult impl_cuGraphNodeGetDependencies_v2(const struct call *call,
                                            cuGraphNodeGetDependencies_v2_params *p)
{
    return list_neighbours(call, p->hNode, true, p->dependencies, p->edgeData, p->numDependencies);
}

CUresult impl_cuGraphNodeGetDependentNodes(const struct call *call,
                                           cuGraphNodeGetDependentNodes_params *p)
{
    return list_neighbours(call, p->hNode, false, p->dependentNodes, NULL, p->numDependentNodes);
}

CUresult impl_cuGraphNodeGetDependentNodes_v2(const struct call *call,
                                              cuGraphNodeGetDependentNodes_v2_params *p)
{
    return list_neighbours(call, p->hNode, false, p->dependentNodes, p->edgeData,
                           p->numDependentNodes);
}

static bool is_repeated(const CUgraphNode *from, const CUgraphNode *to, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (from[k] == from[i] && to[k] == to[i])
            return true;
    }
    return false;
}

/* All of them, or none. */
static CUresult change_edges(const struct call *call, bool add,
                             const cuGraphAddDependencies_v2_params *p)
{
    static const CUgraphEdgeData plain;
    struct section section;
    section_begin(&section, call->context);
    const struct graph *graph = graph_find(p->hGraph);
    bool good = graph && (p->numDependencies == 0 || (p->from && p->to)) &&
                (add || !graph_has_memory_nodes(graph));
    for (size_t i = 0; good && i < p->numDependencies; i++) {
        const struct node *from = node_find(p->from[i]), *to = node_find(p->to[i]);
        const CUgraphEdgeData *data = p->edgeData ? &p->edgeData[i] : &plain;
        good = from && to && from != to && from->graph == graph && to->graph == graph &&
               !is_repeated(p->from, p->to, i);
        const struct edge *edge = good ? edge_find(from, to) : NULL;
        if (good && add)
            good = !edge && edge_data_is_valid(from, data);
        else if (good)
            good = edge && memcmp(&edge->data, data, sizeof(*data)) == 0;
    }
    for (size_t i = 0; good && i < p->numDependencies; i++) {
        struct node *from = node_find(p->from[i]), *to = node_find(p->to[i]);
        if (add) {
            edge_add(&section, from, to, p->edgeData ? &p->edgeData[i] : NULL);
        } else {
            edge_remove(&section, from, to);
            from->capture_joins = true;
        }
    }
    return section_end(&section, good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult impl_cuGraphAddDependencies_v2(const struct call *call,
                                        cuGraphAddDependencies_v2_params *p)
{
    return change_edges(call, true, p);
}

CUresult impl_cuGraphAddDependencies(const struct call *call, cuGraphAddDependencies_params *p)
{
    const cuGraphAddDependencies_v2_params all = {p->hGraph, p->from, p->to, NULL,
                                                  p->numDependencies};
    return change_edges(call, true, &all);
}

CUresult impl_cuGraphRemoveDependencies_v2(const struct call *call,
                                           cuGraphRemoveDependencies_v2_params *p)
{
    const cuGraphAddDependencies_v2_params all = {p->hGraph, p->from, p->to, p->edgeData,
                                                  p->numDependencies};
    return change_edges(call, false, &all);
}

CUresult impl_cuGraphRemoveDependencies(const struct call *call,
                                        cuGraphRemoveDependencies_params *p)
{
    const cuGraphAddDependencies_v2_params all = {p->hGraph, p->from, p->to, NULL,
                                                  p->numDependencies};
    return change_edges(call, false, &all);
}

CUresult impl_cuGraphDestroyNode(const struct call *call, cuGraphDestroyNode_params *p)
{
    struct section section;
    for (int step = 0; step < 2; step++) {
        section_begin(&section, call->context);
        struct node *node = node_find(p->hNode);
        if (!node || node->graph->capturing || graph_has_memory_nodes(node->graph))
            return section_end(&section, CUDA_ERROR_INVALID_VALUE);
        if (step == 0)
            section_note(&section, (struct hook_resource){.cbid = RESOURCE_NODE_DESTROY_STARTING,
                                                          .graph = node->graph->handle,
                                                          .node = node->handle,
                                                          .node_type = node->type});
        else
            node_free(&section, node);
        section_end(&section, CUDA_SUCCESS);
    }
    return CUDA_SUCCESS;
}
