#include "hook/graph_calls.h"

#include "core/core.h"
#include "hook/launch_decode.h"

/* The parameters of most of these APIs begin alike: executable graph, node or template, what is
 * set. CUPTI's structs of the versions of one API are the same as far as they are read here. */
struct exec_params {
    CUgraphExec exec;
    void *what; /* CUgraphNode or CUgraph */
    const void *params;
    CUcontext context;
};

static void on_made(const void *params, enum graph_event event)
{
    const cuGraphInstantiateWithFlags_params *made = params;
    const cuGraphInstantiateWithParams_params *with = params;
    uint64_t flags = 0;
    if (event == GRAPH_EVENT_MADE_FLAGS)
        flags = made->flags;
    else if (event == GRAPH_EVENT_MADE_PARAMS)
        flags = with->instantiateParams->flags;
    core_graph_made(*made->phGraphExec, made->hGraph, flags);
}

static void on_set(const struct exec_params *p, enum graph_event event)
{
    static const enum core_node kinds[] = {
        [GRAPH_EVENT_SET_KERNEL_OLD] = CORE_NODE_KERNEL_OLD,
        [GRAPH_EVENT_SET_KERNEL] = CORE_NODE_KERNEL,
        [GRAPH_EVENT_SET_MEMCPY] = CORE_NODE_MEMCPY,
        [GRAPH_EVENT_SET_MEMSET] = CORE_NODE_MEMSET,
        [GRAPH_EVENT_SET_HOST] = CORE_NODE_HOST,
        [GRAPH_EVENT_SET_EVENT_RECORD] = CORE_NODE_EVENT_RECORD,
        [GRAPH_EVENT_SET_EVENT_WAIT] = CORE_NODE_EVENT_WAIT,
        [GRAPH_EVENT_SET_MEMOPS] = CORE_NODE_MEMOPS,
        [GRAPH_EVENT_SET_ANY] = CORE_NODE_ANY,
        [GRAPH_EVENT_SET_CHILD] = CORE_NODE_CHILD,
        [GRAPH_EVENT_SET_OTHER] = CORE_NODE_OTHER,
    };
    bool has_context = event == GRAPH_EVENT_SET_MEMCPY || event == GRAPH_EVENT_SET_MEMSET;
    core_graph_node_set(p->exec, p->what, kinds[event], p->params, has_context ? p->context : NULL);
}

/* A node of a template was made, by its kind's function or by the general one. */
static void on_node(const void *params, enum graph_event event)
{
    const cuGraphAddChildGraphNode_params *child = params;
    const cuGraphAddNode_params *plain = params;
    const cuGraphAddNode_v2_params *edges = params;
    const CUgraphNodeParams *node =
        event == GRAPH_EVENT_NODE_EDGES ? edges->nodeParams : plain->nodeParams;
    if (event == GRAPH_EVENT_CHILD)
        core_graph_child_added(child->hGraph, *child->phGraphNode, child->childGraph);
    else if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
        core_graph_child_added(plain->hGraph, *plain->phGraphNode, node->graph.graph);
    else if (node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        core_graph_bodies_added(plain->hGraph, *plain->phGraphNode, node->conditional.phGraph_out,
                                node->conditional.size);
}

/* ENTER of what ends a template or a node of it, EXIT of the others. */
static void on_template(const CUpti_CallbackData *data, enum graph_event event)
{
    const void *params = data->functionParams;
    const cuGraphClone_params *clone = params;
    bool enter = data->callbackSite == CUPTI_API_ENTER;
    if (event == GRAPH_EVENT_DESTROYED && enter)
        core_graph_destroyed(((const cuGraphDestroy_params *)params)->hGraph);
    else if (event == GRAPH_EVENT_NODE_DESTROYED && enter)
        core_graph_node_destroyed(((const cuGraphDestroyNode_params *)params)->hNode);
    if (enter || *(const CUresult *)data->functionReturnValue != CUDA_SUCCESS)
        return;
    if (event == GRAPH_EVENT_CAPTURED)
        core_capture_ended(*((const cuStreamEndCapture_params *)params)->phGraph);
    else if (event == GRAPH_EVENT_CLONED)
        core_graph_cloned(clone->originalGraph, *clone->phGraphClone);
    else if (event == GRAPH_EVENT_NODE_CHANGED)
        core_graph_node_changed(((const cuGraphMemsetNodeSetParams_params *)params)->hNode);
    else if (event >= GRAPH_EVENT_CHILD && event <= GRAPH_EVENT_NODE_EDGES)
        on_node(params, event);
}

void graph_call(const CUpti_CallbackData *data, enum graph_event event)
{
    if (event >= GRAPH_EVENT_CAPTURED) {
        on_template(data, event);
        return;
    }
    const struct exec_params *p = data->functionParams;
    bool enter = data->callbackSite == CUPTI_API_ENTER;
    if (event == GRAPH_EVENT_GONE && enter)
        core_graph_gone(p->exec);
    if (enter || event == GRAPH_EVENT_GONE ||
        *(const CUresult *)data->functionReturnValue != CUDA_SUCCESS)
        return;
    if (event <= GRAPH_EVENT_MADE_PARAMS)
        on_made(p, event);
    else if (event == GRAPH_EVENT_UPDATED)
        core_graph_updated(p->exec, p->what);
    else if (event == GRAPH_EVENT_ENABLED)
        core_graph_node_enabled(p->exec, p->what,
                                ((const cuGraphNodeSetEnabled_params *)(const void *)p)->isEnabled);
    else
        on_set(p, event);
}

static cuGraphLaunch_params *launch_params(const CUpti_CallbackData *data)
{
    return (cuGraphLaunch_params *)(uintptr_t)data->functionParams;
}

void graph_call_launch(const CUpti_CallbackData *data, bool per_thread)
{
    cuGraphLaunch_params *p = launch_params(data);
    if (data->callbackSite == CUPTI_API_ENTER)
        p->hGraph = core_graph_launch_enter(p->hGraph, launch_stream(p->hStream, per_thread),
                                            data->context);
    else
        core_graph_launch_exit(*(const CUresult *)data->functionReturnValue);
}

void graph_call_trial(const CUpti_CallbackData *data)
{
    cuGraphLaunch_params *p = launch_params(data);
    if (data->callbackSite == CUPTI_API_ENTER)
        p->hGraph = core_graph_trial(p->hGraph);
}
