/* host.c - host functions and stream callbacks: the program's code on our threads. */
#include "impls.h"
#include "driver/stream/host.h"
#include "driver/graph/graph.h"

#include <stdlib.h>
#include "driver/call/call.h"
#include "driver/context/device.h"

struct callback {
    CUstream stream;
    CUstreamCallback function;
    void *user;
};

static _Thread_local unsigned depth;

bool host_function_running(void)
{
    return depth > 0;
}

static CUresult run_host(struct context *context, void *data)
{
    (void)context;
    const CUDA_HOST_NODE_PARAMS *p = data;
    depth++;
    p->fn(p->userData);
    depth--;
    return CUDA_SUCCESS;
}

static void *copy_host(const void *data)
{
    CUDA_HOST_NODE_PARAMS *twin = malloc(sizeof(*twin));
    if (twin)
        *twin = *(const CUDA_HOST_NODE_PARAMS *)data;
    return twin;
}

static const struct work_type host_work = {WORK_HOST, run_host, copy_host, free};

CUresult host_work_create(const CUDA_HOST_NODE_PARAMS *params, struct work *work)
{
    if (!params->fn)
        return CUDA_ERROR_INVALID_VALUE;
    work->type = &host_work;
    work->data = copy_host(params);
    return work->data ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void host_work_params(const void *data, CUDA_HOST_NODE_PARAMS *params)
{
    *params = *(const CUDA_HOST_NODE_PARAMS *)data;
}

static CUresult run_callback(struct context *context, void *data)
{
    const struct callback *callback = data;
    depth++;
    callback->function(callback->stream, context_sticky(context), callback->user);
    depth--;
    return CUDA_SUCCESS;
}

static void *copy_callback(const void *data)
{
    struct callback *twin = malloc(sizeof(*twin));
    if (twin)
        *twin = *(const struct callback *)data;
    return twin;
}

static const struct work_type callback_work = {WORK_OTHER, run_callback, copy_callback, free};

bool host_wants_errors(const struct work_type *type)
{
    return type == &callback_work;
}

CUresult impl_cuLaunchHostFunc(const struct call *call, cuLaunchHostFunc_params *p)
{
    struct stream *stream = stream_resolve(call, p->hStream);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    struct work work;
    CUresult error =
        host_work_create(&(CUDA_HOST_NODE_PARAMS){.fn = p->fn, .userData = p->userData}, &work);
    return error == CUDA_SUCCESS ? stream_enqueue(call, stream, work) : error;
}

CUresult impl_cuStreamAddCallback(const struct call *call, cuStreamAddCallback_params *p)
{
    struct stream *stream = stream_resolve(call, p->hStream);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!p->callback || p->flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    const struct callback callback = {p->hStream, p->callback, p->userData};
    struct work work = {&callback_work, copy_callback(&callback)};
    return work.data ? stream_enqueue(call, stream, work) : CUDA_ERROR_OUT_OF_MEMORY;
}
