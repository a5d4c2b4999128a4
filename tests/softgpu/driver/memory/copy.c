/*
 * copy.c - the driver functions that copy.
 *
 * How far the host waits, as on the device: a copy to pageable memory returns when it is done; one
 * from pageable memory takes its source at the call; between pinned and device memory the forms
 * named Async return at once, the others wait, but not those that stay on the device.
 */
#include "impls.h"
#include "driver/memory/copy_work.h"
#include "driver/graph/graph.h"

#include "driver/call/call.h"
#include "driver/context/device.h"
#include "driver/memory/memory.h"

static CUresult start(const struct call *call, struct stream *stream, struct work work, bool async)
{
    bool capturing = stream_is_capturing(stream);
    enum copy_way way = copy_work_way(&work);
    if (async && !capturing && way == COPY_FROM_PAGEABLE) {
        CUresult error = copy_work_stage(stream_context(stream), &work);
        if (error != CUDA_SUCCESS) {
            work.type->drop(work.data);
            return error;
        }
    }
    bool wait = async ? !capturing && way == COPY_TO_PAGEABLE : capturing || way != COPY_ON_DEVICE;
    return wait ? stream_run(call, stream, work) : stream_enqueue(call, stream, work);
}

static CUresult copy(const struct call *call, const CUDA_MEMCPY3D *params, CUstream handle,
                     bool async)
{
    struct stream *stream = stream_resolve(call, handle);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!params->WidthInBytes || !params->Height || !params->Depth)
        return CUDA_SUCCESS;
    struct work work;
    CUresult error = copy_work_create(stream_context(stream), params, &work);
    return error == CUDA_SUCCESS ? start(call, stream, work, async) : error;
}

/* --- one row --- */

static CUresult row(const struct call *call, CUmemorytype to_type, CUdeviceptr to,
                    CUmemorytype from_type, CUdeviceptr from, size_t bytes, CUstream stream,
                    bool async)
{
    CUDA_MEMCPY3D params = {
        .srcMemoryType = from_type,
        .dstMemoryType = to_type,
        .WidthInBytes = bytes,
        .Height = 1,
        .Depth = 1,
    };
    if (from_type == CU_MEMORYTYPE_HOST)
        params.srcHost = (const void *)(uintptr_t)from;
    else
        params.srcDevice = from;
    if (to_type == CU_MEMORYTYPE_HOST)
        params.dstHost = (void *)(uintptr_t)to;
    else
        params.dstDevice = to;
    return copy(call, &params, stream, async);
}

/* name: a driver function; the types and fields of its two sides; its stream and whether it is
 * asynchronous. */
#define ROW(name, to_type, to, from_type, from, stream, async)                                     \
    CUresult impl_##name(const struct call *call, name##_params *p)                                \
    {                                                                                              \
        return row(call, CU_MEMORYTYPE_##to_type, (CUdeviceptr)p->to, CU_MEMORYTYPE_##from_type,   \
                   (CUdeviceptr)p->from, p->ByteCount, stream, async);                             \
    }

ROW(cuMemcpy, UNIFIED, dst, UNIFIED, src, NULL, false)
ROW(cuMemcpyAsync, UNIFIED, dst, UNIFIED, src, p->hStream, true)
ROW(cuMemcpyHtoD_v2, DEVICE, dstDevice, HOST, srcHost, NULL, false)
ROW(cuMemcpyHtoDAsync_v2, DEVICE, dstDevice, HOST, srcHost, p->hStream, true)
ROW(cuMemcpyDtoH_v2, HOST, dstHost, DEVICE, srcDevice, NULL, false)
ROW(cuMemcpyDtoHAsync_v2, HOST, dstHost, DEVICE, srcDevice, p->hStream, true)
ROW(cuMemcpyDtoD_v2, DEVICE, dstDevice, DEVICE, srcDevice, NULL, false)
ROW(cuMemcpyDtoDAsync_v2, DEVICE, dstDevice, DEVICE, srcDevice, p->hStream, true)

static bool are_contexts(CUcontext a, CUcontext b)
{
    return context_from_handle(a) && context_from_handle(b);
}

#define PEER(name, stream, async)                                                                  \
    CUresult impl_##name(const struct call *call, name##_params *p)                                \
    {                                                                                              \
        if (!are_contexts(p->dstContext, p->srcContext))                                           \
            return CUDA_ERROR_INVALID_CONTEXT;                                                     \
        return row(call, CU_MEMORYTYPE_DEVICE, p->dstDevice, CU_MEMORYTYPE_DEVICE, p->srcDevice,   \
                   p->ByteCount, stream, async);                                                   \
    }

PEER(cuMemcpyPeer, NULL, false)
PEER(cuMemcpyPeerAsync, p->hStream, true)

/* --- boxes --- */

static CUresult plane(const struct call *call, const CUDA_MEMCPY2D *p, CUstream stream, bool async)
{
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY3D params = {
        .srcXInBytes = p->srcXInBytes,
        .srcY = p->srcY,
        .srcMemoryType = p->srcMemoryType,
        .srcHost = p->srcHost,
        .srcDevice = p->srcDevice,
        .srcArray = p->srcArray,
        .srcPitch = p->srcPitch,
        .dstXInBytes = p->dstXInBytes,
        .dstY = p->dstY,
        .dstMemoryType = p->dstMemoryType,
        .dstHost = p->dstHost,
        .dstDevice = p->dstDevice,
        .dstArray = p->dstArray,
        .dstPitch = p->dstPitch,
        .WidthInBytes = p->WidthInBytes,
        .Height = p->Height,
        .Depth = 1,
    };
    return copy(call, &params, stream, async);
}

CUresult impl_cuMemcpy2D_v2(const struct call *call, cuMemcpy2D_v2_params *p)
{
    return plane(call, p->pCopy, NULL, false);
}

CUresult impl_cuMemcpy2DUnaligned_v2(const struct call *call, cuMemcpy2DUnaligned_v2_params *p)
{
    return plane(call, p->pCopy, NULL, false);
}

CUresult impl_cuMemcpy2DAsync_v2(const struct call *call, cuMemcpy2DAsync_v2_params *p)
{
    return plane(call, p->pCopy, p->hStream, true);
}

CUresult impl_cuMemcpy3D_v2(const struct call *call, cuMemcpy3D_v2_params *p)
{
    return p->pCopy ? copy(call, p->pCopy, NULL, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuMemcpy3DAsync_v2(const struct call *call, cuMemcpy3DAsync_v2_params *p)
{
    return p->pCopy ? copy(call, p->pCopy, p->hStream, true) : CUDA_ERROR_INVALID_VALUE;
}

/* Addresses are of one space, so the contexts only have to be there. */
static CUresult peer_box(const struct call *call, const CUDA_MEMCPY3D_PEER *p, CUstream stream,
                         bool async)
{
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    if ((p->srcMemoryType == CU_MEMORYTYPE_DEVICE && !context_from_handle(p->srcContext)) ||
        (p->dstMemoryType == CU_MEMORYTYPE_DEVICE && !context_from_handle(p->dstContext)))
        return CUDA_ERROR_INVALID_CONTEXT;
    const CUDA_MEMCPY3D params = {
        .srcXInBytes = p->srcXInBytes,
        .srcY = p->srcY,
        .srcZ = p->srcZ,
        .srcMemoryType = p->srcMemoryType,
        .srcHost = p->srcHost,
        .srcDevice = p->srcDevice,
        .srcPitch = p->srcPitch,
        .srcHeight = p->srcHeight,
        .dstXInBytes = p->dstXInBytes,
        .dstY = p->dstY,
        .dstZ = p->dstZ,
        .dstMemoryType = p->dstMemoryType,
        .dstHost = p->dstHost,
        .dstDevice = p->dstDevice,
        .dstPitch = p->dstPitch,
        .dstHeight = p->dstHeight,
        .WidthInBytes = p->WidthInBytes,
        .Height = p->Height,
        .Depth = p->Depth,
    };
    return copy(call, &params, stream, async);
}

CUresult impl_cuMemcpy3DPeer(const struct call *call, cuMemcpy3DPeer_params *p)
{
    return peer_box(call, p->pCopy, NULL, false);
}

CUresult impl_cuMemcpy3DPeerAsync(const struct call *call, cuMemcpy3DPeerAsync_params *p)
{
    return peer_box(call, p->pCopy, p->hStream, true);
}

/* --- batches: any order is allowed, so the given one will do --- */

#ifdef HAVE_cuMemcpyBatchAsync
static CUresult batch(const struct call *call, const CUdeviceptr *to, const CUdeviceptr *from,
                      const size_t *sizes, size_t count, CUstream handle, size_t *failed)
{
    if (!to || !from || !sizes || !count)
        return CUDA_ERROR_INVALID_VALUE;
    /* The default streams are refused; so is a capture. */
    struct stream *stream = stream_resolve(call, handle);
    if (!stream || handle == NULL || handle == CU_STREAM_LEGACY)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream_is_capturing(stream))
        return capture_refuse(stream);
    for (size_t i = 0; i < count; i++) {
        CUresult error = sizes[i] ? row(call, CU_MEMORYTYPE_UNIFIED, to[i], CU_MEMORYTYPE_UNIFIED,
                                        from[i], sizes[i], handle, true)
                                  : CUDA_ERROR_INVALID_VALUE;
        if (error != CUDA_SUCCESS) {
            if (failed)
                *failed = i;
            return error;
        }
    }
    return CUDA_SUCCESS;
}

CUresult impl_cuMemcpyBatchAsync(const struct call *call, cuMemcpyBatchAsync_params *p)
{
    return batch(call, p->dsts, p->srcs, p->sizes, p->count, p->hStream, p->failIdx);
}
#endif

#ifdef HAVE_cuMemcpyBatchAsync_v2
CUresult impl_cuMemcpyBatchAsync_v2(const struct call *call, cuMemcpyBatchAsync_v2_params *p)
{
    return batch(call, p->dsts, p->srcs, p->sizes, p->count, p->hStream, NULL);
}
#endif

/* --- arrays: there are none on this device --- */

#define NO_ARRAYS(name)                                                                            \
    CUresult impl_##name(const struct call *call, name##_params *p)                                \
    {                                                                                              \
        (void)call;                                                                                \
        (void)p;                                                                                   \
        return CUDA_ERROR_NOT_SUPPORTED;                                                           \
    }

NO_ARRAYS(cuMemcpyDtoA_v2)
NO_ARRAYS(cuMemcpyAtoD_v2)
NO_ARRAYS(cuMemcpyHtoA_v2)
NO_ARRAYS(cuMemcpyAtoH_v2)
NO_ARRAYS(cuMemcpyAtoA_v2)
NO_ARRAYS(cuMemcpyHtoAAsync_v2)
NO_ARRAYS(cuMemcpyAtoHAsync_v2)
