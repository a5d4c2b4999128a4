/* stream.c - the driver functions that make, query and await streams. */
#include "impls.h"
#include "driver/stream/stream_table.h"

#include "driver/call/call.h"
#include "driver/context/device.h"
#include "driver/call/hooks.h"
#include "driver/memory/memory.h"
#include "driver/base/resource_ids.h"

static void tell_tools(unsigned cbid, struct stream *stream)
{
    hooks_resource(&(struct hook_resource){.cbid = cbid,
                                           .context = context_handle(stream_context(stream)),
                                           .stream = stream_handle(stream)});
}

static CUresult create(const struct call *call, CUstream *out, unsigned flags, int priority,
                       bool asked)
{
    if (!out || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
        return CUDA_ERROR_INVALID_VALUE;
    if (priority > STREAM_PRIORITY_LEAST)
        priority = STREAM_PRIORITY_LEAST;
    if (priority < STREAM_PRIORITY_GREATEST)
        priority = STREAM_PRIORITY_GREATEST;
    struct stream *stream = stream_create(call->context, flags, priority, asked);
    if (!stream)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = stream_handle(stream);
    tell_tools(RESOURCE_STREAM_CREATED, stream);
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamCreate(const struct call *call, cuStreamCreate_params *p)
{
    return create(call, p->phStream, p->Flags, 0, false);
}

CUresult impl_cuStreamCreateWithPriority(const struct call *call,
                                         cuStreamCreateWithPriority_params *p)
{
    return create(call, p->phStream, p->flags, p->priority, true);
}

CUresult impl_cuCtxGetStreamPriorityRange(const struct call *call,
                                          cuCtxGetStreamPriorityRange_params *p)
{
    (void)call;
    if (p->leastPriority)
        *p->leastPriority = STREAM_PRIORITY_LEAST;
    if (p->greatestPriority)
        *p->greatestPriority = STREAM_PRIORITY_GREATEST;
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamDestroy_v2(const struct call *call, cuStreamDestroy_v2_params *p)
{
    struct stream *stream = stream_resolve(call, p->hStream);
    if (!stream || stream_origin(stream) != STREAM_CREATED)
        return CUDA_ERROR_INVALID_HANDLE;
    tell_tools(RESOURCE_STREAM_DESTROY_STARTING, stream);
    return stream_destroy(p->hStream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* What query and synchronise have in common: the stream, and whether it may be queried. */
static CUresult begin_wait(const struct call *call, CUstream handle, struct stream **stream)
{
    *stream = stream_resolve(call, handle);
    if (!*stream)
        return CUDA_ERROR_INVALID_HANDLE;
    return stream_is_capturing(*stream) ? capture_refuse(*stream) : stream_admit(*stream);
}

static CUresult end_wait(const struct stream *stream)
{
    return streams_ended() ? CUDA_ERROR_DEINITIALIZED : context_sticky(stream_context(stream));
}

CUresult impl_cuStreamQuery(const struct call *call, cuStreamQuery_params *p)
{
    struct stream *stream;
    CUresult error = begin_wait(call, p->hStream, &stream);
    if (error != CUDA_SUCCESS)
        return error;
    bool idle = queue_is_idle(stream_queue(stream));
    error = end_wait(stream);
    return error == CUDA_SUCCESS && !idle ? CUDA_ERROR_NOT_READY : error;
}

CUresult impl_cuStreamSynchronize(const struct call *call, cuStreamSynchronize_params *p)
{
    struct stream *stream;
    CUresult error = begin_wait(call, p->hStream, &stream);
    if (error != CUDA_SUCCESS)
        return error;
    queue_wait(stream_queue(stream));
    return end_wait(stream);
}

/* The questions about a stream differ in one expression only. */
#define ASK(name, out, value)                                                                      \
    CUresult impl_##name(const struct call *call, name##_params *p)                                \
    {                                                                                              \
        struct stream *stream = stream_resolve(call, p->hStream);                                  \
        if (!stream)                                                                               \
            return CUDA_ERROR_INVALID_HANDLE;                                                      \
        if (!p->out)                                                                               \
            return CUDA_ERROR_INVALID_VALUE;                                                       \
        *p->out = value;                                                                           \
        return CUDA_SUCCESS;                                                                       \
    }

ASK(cuStreamGetPriority, priority, stream_priority(stream))
ASK(cuStreamGetFlags, flags, stream_flags(stream))
ASK(cuStreamGetId, streamId, stream_id(stream))
#ifdef HAVE_cuStreamGetDevice
ASK(cuStreamGetDevice, device, device_ordinal(context_device(stream_context(stream))))
#endif
ASK(cuStreamGetCtx, pctx, context_handle(stream_context(stream)))

#ifdef HAVE_cuStreamGetCtx_v2
CUresult impl_cuStreamGetCtx_v2(const struct call *call, cuStreamGetCtx_v2_params *p)
{
    struct stream *stream = stream_resolve(call, p->hStream);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!p->pCtx)
        return CUDA_ERROR_INVALID_VALUE;
    *p->pCtx = context_handle(stream_context(stream));
    if (p->pGreenCtx)
        *p->pGreenCtx = NULL;
    return CUDA_SUCCESS;
}
#endif

/* All streams have all managed memory at any time here, so only the arguments are checked. */
CUresult impl_cuStreamAttachMemAsync(const struct call *call, cuStreamAttachMemAsync_params *p)
{
    struct stream *stream = stream_resolve(call, p->hStream);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    bool known = p->flags == CU_MEM_ATTACH_GLOBAL || p->flags == CU_MEM_ATTACH_HOST ||
                 p->flags == CU_MEM_ATTACH_SINGLE;
    if (!known || !p->dptr || !memory_view(call->context, p->dptr, p->length))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetAttribute(const struct call *call, cuStreamGetAttribute_params *p)
{
    struct stream *stream = stream_resolve(call, p->hStream);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    return p->value && stream_attribute(stream, p->attr, p->value, false)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuStreamSetAttribute(const struct call *call, cuStreamSetAttribute_params *p)
{
    struct stream *stream = stream_resolve(call, p->hStream);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    CUstreamAttrValue value;
    if (!p->param || p->attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        return CUDA_ERROR_INVALID_VALUE;
    value = *p->param;
    return stream_attribute(stream, p->attr, &value, true) ? CUDA_SUCCESS
                                                           : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuStreamCopyAttributes(const struct call *call, cuStreamCopyAttributes_params *p)
{
    static const CUstreamAttrID copied[] = {
        CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
        CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN};
    struct stream *to = stream_resolve(call, p->dstStream);
    struct stream *from = stream_resolve(call, p->srcStream);
    if (!to || !from)
        return CUDA_ERROR_INVALID_HANDLE;
    for (unsigned i = 0; i < sizeof(copied) / sizeof(*copied); i++) {
        CUstreamAttrValue value;
        if (!stream_attribute(from, copied[i], &value, false) ||
            !stream_attribute(to, copied[i], &value, true))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}
