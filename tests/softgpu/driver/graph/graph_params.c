/* graph_params.c - the parameters of graph nodes in one form, and the works made of them. */
#include "driver/graph/graph_params.h"

#include <string.h>
#include "driver/context/device.h"
#include "driver/graph/graph.h"
#include "driver/module/module.h"

_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v2) == sizeof(CUDA_KERNEL_NODE_PARAMS_v3), "kernels");
_Static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v2),
               "alloc");

CUgraphNodeParams params_of_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
    CUgraphNodeParams out = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    memcpy(&out.kernel, params, sizeof(*params)); /* the same fields by another name */
    return out;
}

CUgraphNodeParams params_of_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUDA_KERNEL_NODE_PARAMS_v2 full = {0};
    memcpy(&full, params, sizeof(*params)); /* the first fields are the old ones */
    return params_of_kernel(&full);
}

CUgraphNodeParams params_of_memcpy(const CUDA_MEMCPY3D *params, CUcontext context)
{
    CUgraphNodeParams out = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    out.memcpy.copyCtx = context;
    out.memcpy.copyParams = *params;
    return out;
}

CUgraphNodeParams params_of_memset(const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
    CUgraphNodeParams out = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
    out.memset = (CUDA_MEMSET_NODE_PARAMS_v2){.dst = params->dst,
                                              .pitch = params->pitch,
                                              .value = params->value,
                                              .elementSize = params->elementSize,
                                              .width = params->width,
                                              .height = params->height,
                                              .ctx = context};
    return out;
}

CUgraphNodeParams params_of_host(const CUDA_HOST_NODE_PARAMS *params)
{
    CUgraphNodeParams out = {.type = CU_GRAPH_NODE_TYPE_HOST};
    out.host.fn = params->fn;
    out.host.userData = params->userData;
    return out;
}

CUgraphNodeParams params_of_event(CUgraphNodeType type, CUevent event)
{
    CUgraphNodeParams out = {.type = type};
    if (type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
        out.eventRecord.event = event;
    else
        out.eventWait.event = event;
    return out;
}

CUgraphNodeParams params_of_memop(const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    CUgraphNodeParams out = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
    out.memOp.ctx = params->ctx;
    out.memOp.count = params->count;
    out.memOp.paramArray = params->paramArray;
    out.memOp.flags = params->flags;
    return out;
}

bool params_are_clean(const CUgraphNodeParams *params)
{
    return !params->reserved0[0] && !params->reserved0[1] && !params->reserved0[2] &&
           !params->reserved2;
}

static CUresult choose_context(CUcontext named, struct context **context)
{
    if (named)
        *context = context_from_handle(named);
    return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult make_kernel(CUgraphNodeParams *params, struct context **context, struct work *work)
{
    CUDA_KERNEL_NODE_PARAMS_v2 kernel;
    memcpy(&kernel, &params->kernel, sizeof(kernel));
    CUresult result = choose_context(kernel.ctx, context);
    struct kernel_call *call = NULL;
    if (!result)
        result = kernel_call_create(*context, &kernel, false, &call);
    if (result)
        return result;
    kernel_call_params(call, &kernel);
    if (kernel.ctx && context_from_handle(kernel.ctx))
        *context = context_from_handle(kernel.ctx);
    *work = (struct work){&kernel_work, call};
    return CUDA_SUCCESS;
}

static CUresult make_memcpy(CUgraphNodeParams *params, struct context **context, struct work *work)
{
    if (params->memcpy.flags != 0 || params->memcpy.reserved != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = choose_context(params->memcpy.copyCtx, context);
    return result ? result : copy_work_create(*context, &params->memcpy.copyParams, work);
}

static CUresult make_memset(CUgraphNodeParams *params, struct context **context, struct work *work)
{
    const CUDA_MEMSET_NODE_PARAMS_v2 *from = &params->memset;
    const CUDA_MEMSET_NODE_PARAMS set = {.dst = from->dst,
                                         .pitch = from->pitch,
                                         .value = from->value,
                                         .elementSize = from->elementSize,
                                         .width = from->width,
                                         .height = from->height};
    CUresult result = choose_context(from->ctx, context);
    return result ? result : set_work_create(*context, &set, work);
}

static CUresult make_host(CUgraphNodeParams *params, struct context **context, struct work *work)
{
    (void)context;
    const CUDA_HOST_NODE_PARAMS host = {.fn = params->host.fn, .userData = params->host.userData};
    return host.fn ? host_work_create(&host, work) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult make_event(CUgraphNodeParams *params, struct context **context, struct work *work)
{
    bool record = params->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    struct event *event = event_hold(record ? params->eventRecord.event : params->eventWait.event);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    *context = event_context(event);
    CUresult result = event_work_create(record ? WORK_EVENT_RECORD : WORK_EVENT_WAIT, event, work);
    event_drop(event);
    return result;
}

static CUresult make_alloc(CUgraphNodeParams *params, struct context **context, struct work *work)
{
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    memcpy(&alloc, &params->alloc, sizeof(alloc));
    CUresult result = choose_context(NULL, context);
    if (!result)
        result = alloc_work_create(*context, &alloc, work);
    params->alloc.dptr = result ? 0 : alloc.dptr;
    return result;
}

static CUresult make_free(CUgraphNodeParams *params, struct context **context, struct work *work)
{
    CUresult result = choose_context(NULL, context);
    return result ? result : free_work_create(*context, params->free.dptr, work);
}

static CUresult make_memop(CUgraphNodeParams *params, struct context **context, struct work *work)
{
    CUresult result = choose_context(params->memOp.ctx, context);
    if (result)
        return result;
    return memop_work_create(*context, params->memOp.count, params->memOp.paramArray,
                             params->memOp.flags, work);
}

static CUresult make_nothing(CUgraphNodeParams *params, struct context **context, struct work *work)
{
    (void)params;
    (void)context;
    *work = (struct work){0};
    return CUDA_SUCCESS;
}

static bool show_kernel(const struct node *node, CUgraphNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS_v2 kernel = {0};
    kernel_call_params(node->work->work.data, &kernel);
    memcpy(&params->kernel, &kernel, sizeof(kernel));
    return true;
}

static bool show_memcpy(const struct node *node, CUgraphNodeParams *params)
{
    params->memcpy.copyCtx = context_handle(node->context);
    copy_work_params(node->work->work.data, &params->memcpy.copyParams);
    return true;
}

static bool show_memset(const struct node *node, CUgraphNodeParams *params)
{
    CUDA_MEMSET_NODE_PARAMS set = {0};
    set_work_params(node->work->work.data, &set);
    CUgraphNodeParams full = params_of_memset(&set, context_handle(node->context));
    params->memset = full.memset;
    return true;
}

static bool show_host(const struct node *node, CUgraphNodeParams *params)
{
    CUDA_HOST_NODE_PARAMS host = {0};
    host_work_params(node->work->work.data, &host);
    params->host.fn = host.fn;
    params->host.userData = host.userData;
    return true;
}

static bool show_child(const struct node *node, CUgraphNodeParams *params)
{
    params->graph.graph = node->child->handle;
    return true;
}

static bool show_event(const struct node *node, CUgraphNodeParams *params)
{
    *params = params_of_event(node->type, event_work_event(node->work->work.data));
    return true;
}

static bool show_alloc(const struct node *node, CUgraphNodeParams *params)
{
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {0};
    alloc_work_params(node->work->work.data, &alloc);
    memcpy(&params->alloc, &alloc, sizeof(alloc));
    return true;
}

static bool show_free(const struct node *node, CUgraphNodeParams *params)
{
    params->free.dptr = free_work_address(node->work->work.data);
    return true;
}

static bool show_memop(const struct node *node, CUgraphNodeParams *params)
{
    CUDA_BATCH_MEM_OP_NODE_PARAMS memop = {0};
    memop_work_params(node->work->work.data, &memop);
    memop.ctx = context_handle(node->context);
    *params = params_of_memop(&memop);
    return true;
}

static const struct node_kind {
    CUresult (*make)(CUgraphNodeParams *params, struct context **context, struct work *work);
    bool (*show)(const struct node *node, CUgraphNodeParams *params);
} kinds[] = {
    [CU_GRAPH_NODE_TYPE_KERNEL] = {make_kernel, show_kernel},
    [CU_GRAPH_NODE_TYPE_MEMCPY] = {make_memcpy, show_memcpy},
    [CU_GRAPH_NODE_TYPE_MEMSET] = {make_memset, show_memset},
    [CU_GRAPH_NODE_TYPE_HOST] = {make_host, show_host},
    [CU_GRAPH_NODE_TYPE_GRAPH] = {make_nothing, show_child},
    [CU_GRAPH_NODE_TYPE_EMPTY] = {make_nothing, NULL},
    [CU_GRAPH_NODE_TYPE_WAIT_EVENT] = {make_event, show_event},
    [CU_GRAPH_NODE_TYPE_EVENT_RECORD] = {make_event, show_event},
    [CU_GRAPH_NODE_TYPE_MEM_ALLOC] = {make_alloc, show_alloc},
    [CU_GRAPH_NODE_TYPE_MEM_FREE] = {make_free, show_free},
    [CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = {make_memop, show_memop},
    [CU_GRAPH_NODE_TYPE_CONDITIONAL] = {make_nothing, NULL},
};

CUresult params_make_work(CUgraphNodeParams *params, struct context **context, struct work *work)
{
    if ((size_t)params->type > CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return CUDA_ERROR_INVALID_VALUE;
    if ((size_t)params->type >= sizeof(kinds) / sizeof(*kinds) || !kinds[params->type].make)
        return CUDA_ERROR_NOT_SUPPORTED;
    return kinds[params->type].make(params, context, work);
}

bool params_of_node(const struct node *node, CUgraphNodeParams *params)
{
    *params = (CUgraphNodeParams){.type = node->type};
    return kinds[node->type].show && kinds[node->type].show(node, params);
}
