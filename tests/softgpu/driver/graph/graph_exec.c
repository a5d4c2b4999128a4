/* graph_exec.c - instances of graphs: made, launched, destroyed. */
#include "driver/graph/graph_exec.h"

#include <stdlib.h>
#include "driver/stream/capture.h"
#include "driver/context/device.h"
#include "driver/graph/graph.h"
#include "impls.h"

/* One launch, from the call to its end. */
struct launch {
    struct exec *exec;
    struct program *program;
    struct launch *next;
};

#define INSTANTIATE_FLAGS                                                                          \
    (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |        \
     CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

void exec_changed(struct section *section, struct exec *exec)
{
    program_drop(section, exec->program);
    exec->program = NULL;
}

static struct node *find_copy(const struct graph *graph, CUgraphNode original)
{
    struct node *found = NULL;
    for (size_t i = 0; i < graph->count && !found; i++) {
        struct node *node = graph->nodes[i];
        struct graph *inner;
        if (node->original == original)
            found = node;
        for (unsigned k = 0; !found && (inner = node_inner(node, k)); k++)
            found = find_copy(inner, original);
    }
    return found;
}

struct node *exec_node(const struct exec *exec, CUgraphNode original)
{
    return original && node_find(original) ? find_copy(exec->body, original) : NULL;
}

static void exec_unref(struct section *section, struct exec *exec)
{
    if (--exec->owners > 0)
        return;
    exec_changed(section, exec);
    graph_free(section, exec->body);
    pthread_cond_destroy(&exec->turn);
    free(exec);
}

/* Whether an instance can be made at all; on a cycle, *offender is a node that lies on or behind
 * it. */
static CUgraphInstantiateResult check_structure(const struct graph *graph, struct node **offender)
{
    CUgraphInstantiateResult result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    struct node **order = must_allocate(graph->count, sizeof(*order));
    if (!graph_sort(graph, order)) {
        result = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
        for (size_t i = 0; i < graph->count; i++) {
            size_t at = 0;
            while (at < graph->count && order[at] != graph->nodes[i])
                at++;
            if (at == graph->count)
                *offender = graph->nodes[i];
        }
    }
    free(order);
    for (size_t i = 0; i < graph->count && !result; i++) {
        struct graph *inner;
        for (unsigned k = 0; !result && (inner = node_inner(graph->nodes[i], k)); k++)
            result = check_structure(inner, offender);
    }
    return result;
}

static struct exec *exec_new(struct section *section, struct graph *graph, unsigned long long flags)
{
    struct exec *exec = must_allocate(1, sizeof(*exec));
    exec->template = graph->handle;
    exec->flags = flags & ~(unsigned long long)CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    exec->owners = 1;
    pthread_cond_init(&exec->turn, NULL);
    section_note(section, (struct hook_resource){.cbid = RESOURCE_EXEC_CREATE_STARTING,
                                                 .graph = graph->handle});
    exec->body = graph_copy(section, graph);
    exec->body->owned = true;
    exec->handle = exec_handle_add(exec);
    graph->instances++;
    section_note(section, (struct hook_resource){.cbid = RESOURCE_EXEC_CREATED,
                                                 .graph = exec->body->handle,
                                                 .original_graph = graph->handle,
                                                 .graph_exec = exec->handle});
    return exec;
}

/* `*why` and `*offender`: reason and node of a CUDA_ERROR_INVALID_VALUE. */
static CUresult instantiate(const struct call *call, CUgraph handle, unsigned long long flags,
                            CUgraphExec *out, CUgraphInstantiateResult *why, CUgraphNode *offender)
{
    *why = CUDA_GRAPH_INSTANTIATE_ERROR;
    *offender = NULL;
    if (!out || (flags & ~(unsigned long long)INSTANTIATE_FLAGS))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct section section;
    section_begin(&section, call->context);
    struct graph *graph = graph_find(handle);
    if (!graph || graph->owned || graph->capturing ||
        (graph->instances > 0 && graph_is_single(graph)))
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    struct node *bad = NULL;
    *why = check_structure(graph, &bad);
    if (*why) {
        *offender = bad->handle;
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    }
    *out = exec_new(&section, graph, flags)->handle;
    return section_end(&section, CUDA_SUCCESS);
}

CUresult impl_cuGraphInstantiateWithFlags(const struct call *call,
                                          cuGraphInstantiateWithFlags_params *p)
{
    CUgraphInstantiateResult why;
    CUgraphNode offender;
    if (p->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
        return CUDA_ERROR_INVALID_VALUE;
    return instantiate(call, p->hGraph, p->flags, p->phGraphExec, &why, &offender);
}

/* Of the first two forms, which return errors in a text. */
static CUresult instantiate_with_log(const struct call *call, const cuGraphInstantiate_v2_params *p)
{
    CUgraphInstantiateResult why;
    CUgraphNode offender;
    CUresult result = instantiate(call, p->hGraph, 0, p->phGraphExec, &why, &offender);
    if (p->phErrorNode)
        *p->phErrorNode = offender;
    if (p->logBuffer && p->bufferSize > 0)
        p->logBuffer[0] = '\0';
    return result;
}

CUresult impl_cuGraphInstantiate_v2(const struct call *call, cuGraphInstantiate_v2_params *p)
{
    return instantiate_with_log(call, p);
}

CUresult impl_cuGraphInstantiate(const struct call *call, cuGraphInstantiate_params *p)
{
    const cuGraphInstantiate_v2_params same = {p->phGraphExec, p->hGraph, p->phErrorNode,
                                               p->logBuffer, p->bufferSize};
    return instantiate_with_log(call, &same);
}

static CUresult check_upload(const struct call *call, CUstream handle)
{
    struct stream *stream = stream_resolve(call, handle);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    return stream_is_capturing(stream) ? capture_refuse(stream) : CUDA_SUCCESS;
}

CUresult impl_cuGraphInstantiateWithParams(const struct call *call,
                                           cuGraphInstantiateWithParams_params *p)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS *params = p->instantiateParams;
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    params->hErrNode_out = NULL;
    params->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    if (params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) {
        CUresult result = check_upload(call, params->hUploadStream);
        if (result)
            return result;
    }
    return instantiate(call, p->hGraph, params->flags, p->phGraphExec, &params->result_out,
                       &params->hErrNode_out);
}

CUresult impl_cuGraphExecDestroy(const struct call *call, cuGraphExecDestroy_params *p)
{
    struct section section;
    for (int step = 0; step < 2; step++) {
        section_begin(&section, call->context);
        struct exec *exec = exec_find(p->hGraphExec);
        if (!exec)
            return section_end(&section, CUDA_ERROR_INVALID_VALUE);
        if (step == 0) {
            section_note(&section, (struct hook_resource){.cbid = RESOURCE_EXEC_DESTROY_STARTING,
                                                          .graph = exec->body->handle,
                                                          .graph_exec = exec->handle});
        } else {
            struct graph *graph = graph_find(exec->template);
            if (graph)
                graph->instances--;
            exec_handle_remove(exec->handle);
            exec_unref(&section, exec);
        }
        section_end(&section, CUDA_SUCCESS);
    }
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphExecGetFlags(const struct call *call, cuGraphExecGetFlags_params *p)
{
    struct section section;
    section_begin(&section, call->context);
    const struct exec *exec = exec_find(p->hGraphExec);
    if (!exec || !p->flags)
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    *p->flags = exec->flags;
    return section_end(&section, CUDA_SUCCESS);
}

/* With the lock held: the launch is over, run or not. */
static void leave_line(struct launch *launch)
{
    struct exec *exec = launch->exec;
    struct launch *before = NULL, *at = exec->first;
    while (at && at != launch) {
        before = at;
        at = at->next;
    }
    if (!at)
        return;
    if (before)
        before->next = launch->next;
    else
        exec->first = launch->next;
    if (exec->last == launch)
        exec->last = before;
    pthread_cond_broadcast(&exec->turn);
}

static CUresult launch_run(struct context *context, void *data)
{
    struct launch *launch = data;
    struct section section;
    section_begin(&section, NULL);
    const atomic_bool *stop = stream_stop_flag(context);
    while (launch->exec->first != launch && !atomic_load(stop))
        section_wait(&launch->exec->turn);
    bool go = launch->exec->first == launch;
    section_end(&section, CUDA_SUCCESS);
    CUresult result = CUDA_SUCCESS;
    if (go)
        result = program_run(launch->program, context);
    section_begin(&section, NULL);
    leave_line(launch);
    return section_end(&section, result);
}

static void launch_drop(void *data)
{
    struct launch *launch = data;
    struct section section;
    section_begin(&section, NULL);
    leave_line(launch);
    program_drop(&section, launch->program);
    exec_unref(&section, launch->exec);
    section_end(&section, CUDA_SUCCESS);
    free(launch);
}

/* A launch is never copied: in a capture it becomes a child graph node before it is one. */
static const struct work_type launch_work = {
    .kind = WORK_OTHER, .run = launch_run, .drop = launch_drop};

/* The launch takes its place in the line; with the lock held. */
static struct work line_up(struct exec *exec)
{
    struct launch *launch = must_allocate(1, sizeof(*launch));
    if (!exec->program)
        exec->program = program_new(exec->body);
    launch->exec = exec;
    launch->program = program_hold(exec->program);
    exec->owners++;
    if (exec->last)
        exec->last->next = launch;
    else
        exec->first = launch;
    exec->last = launch;
    return (struct work){&launch_work, launch};
}

static CUdeviceptr node_address(const struct node *node)
{
    const void *data = node->work->work.data;
    if (node->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        return free_work_address(data);
    CUDA_MEM_ALLOC_NODE_PARAMS params = {0};
    alloc_work_params(data, &params);
    return params.dptr;
}

/* Whether a node of the graph allocates or frees, by `type`, at that address. */
static bool has_memory_node(const struct graph *graph, CUgraphNodeType type, CUdeviceptr address)
{
    for (size_t i = 0; i < graph->count; i++) {
        const struct node *node = graph->nodes[i];
        if (node->child && has_memory_node(node->child, type, address))
            return true;
        if (node->type == type && node_address(node) == address)
            return true;
    }
    return false;
}

/* The memory nodes whose partner lies outside the graph: what a launch leaves allocated, and what
 * it frees of others. Both hold from the call on, not only once the launch is run; what a launch
 * both allocates and frees is never the program's. */
struct open_ends {
    struct shared_work **works;
    size_t count, room;
    bool live; /* some of what would be allocated is so already */
};

static void find_open_ends(const struct graph *body, const struct graph *graph,
                           struct open_ends *ends)
{
    for (size_t i = 0; i < graph->count; i++) {
        const struct node *node = graph->nodes[i];
        bool alloc = node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
        if (node->child)
            find_open_ends(body, node->child, ends);
        if (!alloc && node->type != CU_GRAPH_NODE_TYPE_MEM_FREE)
            continue;
        if (has_memory_node(body,
                            alloc ? CU_GRAPH_NODE_TYPE_MEM_FREE : CU_GRAPH_NODE_TYPE_MEM_ALLOC,
                            node_address(node)))
            continue;
        ends->works =
            must_grow(ends->works, ends->count, &ends->room, sizeof(struct shared_work *));
        ends->works[ends->count++] = shared_work_hold(node->work);
        ends->live |= alloc && alloc_work_is_live(node->work->work.data);
    }
}

static void close_open_ends(struct open_ends *ends, bool launched)
{
    for (size_t i = 0; i < ends->count; i++) {
        const struct work *work = &ends->works[i]->work;
        if (launched && work->type->kind == WORK_ALLOC)
            alloc_work_set_live(work->data);
        else if (launched)
            free_work_launched(work->data);
        shared_work_drop(ends->works[i]);
    }
    free(ends->works);
}

/* Two threads may launch at once: their works enter shared streams in the order of the launches. */
static pthread_mutex_t launch_order = PTHREAD_MUTEX_INITIALIZER;

static CUresult launch(const struct call *call, struct stream *stream, CUgraphExec handle)
{
    struct section section;
    section_begin(&section, call->context);
    struct exec *exec = exec_find(handle);
    if (!exec)
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    if (stream_is_capturing(stream))
        return section_end(&section, capture_launch_graph(stream));
    struct open_ends ends = {0};
    find_open_ends(exec->body, exec->body, &ends);
    CUresult result = CUDA_SUCCESS;
    if (ends.live && !(exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
        result = CUDA_ERROR_INVALID_VALUE;
    struct work work = {0};
    if (!result)
        work = line_up(exec);
    section_end(&section, CUDA_SUCCESS);
    if (!result)
        result = stream_enqueue(call, stream, work);
    close_open_ends(&ends, !result);
    return result;
}

CUresult impl_cuGraphLaunch(const struct call *call, cuGraphLaunch_params *p)
{
    struct stream *stream = stream_resolve(call, p->hStream);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    bool in_line = !stream_is_capturing(stream);
    if (in_line)
        pthread_mutex_lock(&launch_order);
    CUresult result = launch(call, stream, p->hGraph);
    if (in_line)
        pthread_mutex_unlock(&launch_order);
    return result;
}

CUresult impl_cuGraphUpload(const struct call *call, cuGraphUpload_params *p)
{
    struct section section;
    section_begin(&section, call->context);
    bool living = exec_find(p->hGraph) != NULL;
    section_end(&section, CUDA_SUCCESS);
    return living ? check_upload(call, p->hStream) : CUDA_ERROR_INVALID_VALUE;
}
