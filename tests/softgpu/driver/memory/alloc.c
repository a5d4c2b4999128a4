/* alloc.c - allocation of device, pinned and managed memory, and the registration of the program's
 * own. */
#include <stdint.h>
#include "driver/context/context_life.h"
#include "driver/context/device.h"
#include "driver/memory/memory_space.h"
#include "driver/memory/pool_table.h"
#include "driver/stream/stream.h"
#include "impls.h"

enum {
    HOST_ALLOC_FLAGS =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED,
    REGISTER_FLAGS = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                     CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY,
    PITCH_UNIT = 512,
};

CUresult impl_cuMemAlloc_v2(const struct call *call, cuMemAlloc_v2_params *p)
{
    if (!p->dptr)
        return CUDA_ERROR_INVALID_VALUE;
    return memory_allocate(call->context, MEMORY_DEVICE, p->bytesize, false, p->dptr);
}

CUresult impl_cuMemAllocPitch_v2(const struct call *call, cuMemAllocPitch_v2_params *p)
{
    unsigned element = p->ElementSizeBytes;
    size_t width = p->WidthInBytes;
    if (!p->dptr || !p->pPitch || !width || !p->Height || width > SIZE_MAX - PITCH_UNIT ||
        (element != 4 && element != 8 && element != 16))
        return CUDA_ERROR_INVALID_VALUE;
    size_t pitch = (width + PITCH_UNIT - 1) / PITCH_UNIT * PITCH_UNIT;
    if (p->Height > SIZE_MAX / pitch)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result =
        memory_allocate(call->context, MEMORY_DEVICE, pitch * p->Height, false, p->dptr);
    if (!result)
        *p->pPitch = pitch;
    return result;
}

static void set_flags(struct allocation *found, const void *user)
{
    found->flags = *(const unsigned *)user;
}

CUresult impl_cuMemAllocManaged(const struct call *call, cuMemAllocManaged_params *p)
{
    if (!p->dptr || (p->flags != CU_MEM_ATTACH_GLOBAL && p->flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = memory_allocate(call->context, MEMORY_MANAGED, p->bytesize, true, p->dptr);
    if (!result)
        memory_change(*p->dptr, set_flags, &p->flags);
    return result;
}

/* What frees memory waits for the work that may use it. */
static void drain(const struct call *call, const struct allocation *found)
{
    struct context *context = found->context ? found->context : call->context;
    struct context_use use;
    if (!context_enter(&use, context))
        return;
    streams_drain(context);
    context_leave(&use);
}

static bool find_start(CUdeviceptr address, struct allocation *found)
{
    return memory_lookup(address, found) && found->piece.begin == address;
}

CUresult impl_cuMemFree_v2(const struct call *call, cuMemFree_v2_params *p)
{
    struct allocation found;
    if (!find_start(p->dptr, &found))
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)found.kind) {
    case MEMORY_DEVICE:
    case MEMORY_MANAGED:
        drain(call, &found);
        return memory_release(call->context, found.kind, p->dptr);
    case MEMORY_POOL:
        if (!pool_begin_free(p->dptr, false))
            return CUDA_ERROR_INVALID_VALUE;
        drain(call, &found);
        return pool_finish_free(p->dptr);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult allocate_pinned(const struct call *call, void **address, size_t bytes,
                                unsigned flags)
{
    CUdeviceptr at;
    if (!address || flags & ~(unsigned)HOST_ALLOC_FLAGS)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = memory_allocate(call->context, MEMORY_PINNED, bytes, true, &at);
    if (result)
        return result;
    memory_change(at, set_flags, &flags);
    *address = (void *)(uintptr_t)at;
    return CUDA_SUCCESS;
}

CUresult impl_cuMemAllocHost_v2(const struct call *call, cuMemAllocHost_v2_params *p)
{
    return allocate_pinned(call, p->pp, p->bytesize, 0);
}

CUresult impl_cuMemHostAlloc(const struct call *call, cuMemHostAlloc_params *p)
{
    return allocate_pinned(call, p->pp, p->bytesize, p->Flags);
}

CUresult impl_cuMemFreeHost(const struct call *call, cuMemFreeHost_params *p)
{
    struct allocation found;
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)p->p;
    if (!find_start(address, &found) || found.kind != MEMORY_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    drain(call, &found);
    return memory_release(call->context, MEMORY_PINNED, address);
}

CUresult impl_cuMemHostRegister_v2(const struct call *call, cuMemHostRegister_v2_params *p)
{
    uint64_t begin = (uint64_t)(uintptr_t)p->p;
    const struct allocation model = {
        .piece = {.begin = begin, .bytes = p->bytesize, .room = p->bytesize},
        .kind = MEMORY_REGISTERED,
        .context = call->context,
        .device = context_device(call->context),
        .host = p->p,
        .writable = !(p->Flags & CU_MEMHOSTREGISTER_READ_ONLY),
        .flags = p->Flags,
    };
    if (!p->p || !p->bytesize || begin + p->bytesize < begin ||
        p->Flags & ~(unsigned)REGISTER_FLAGS || memory_is_device(begin))
        return CUDA_ERROR_INVALID_VALUE;
    return memory_insert(&model);
}

CUresult impl_cuMemHostUnregister(const struct call *call, cuMemHostUnregister_params *p)
{
    struct allocation found;
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)p->p;
    if (!p->p)
        return CUDA_ERROR_INVALID_VALUE;
    if (!find_start(address, &found) || found.kind != MEMORY_REGISTERED)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    drain(call, &found);
    return memory_release(call->context, MEMORY_REGISTERED, address) ? CUDA_ERROR_INVALID_VALUE
                                                                     : CUDA_SUCCESS;
}

static bool find_host(const void *address, struct allocation *found)
{
    return memory_lookup((uint64_t)(uintptr_t)address, found) &&
           (found->kind == MEMORY_PINNED || found->kind == MEMORY_REGISTERED);
}

CUresult impl_cuMemHostGetDevicePointer_v2(const struct call *call,
                                           cuMemHostGetDevicePointer_v2_params *p)
{
    struct allocation found;
    (void)call;
    if (!p->pdptr || p->Flags || !find_host(p->p, &found))
        return CUDA_ERROR_INVALID_VALUE;
    *p->pdptr = (CUdeviceptr)(uintptr_t)p->p;
    return CUDA_SUCCESS;
}

CUresult impl_cuMemHostGetFlags(const struct call *call, cuMemHostGetFlags_params *p)
{
    struct allocation found;
    (void)call;
    if (!p->pFlags || !find_host(p->p, &found))
        return CUDA_ERROR_INVALID_VALUE;
    *p->pFlags = found.flags;
    return CUDA_SUCCESS;
}

CUresult impl_cuMemGetInfo_v2(const struct call *call, cuMemGetInfo_v2_params *p)
{
    if (!p->free || !p->total)
        return CUDA_ERROR_INVALID_VALUE;
    memory_info(context_device(call->context), p->free, p->total);
    return CUDA_SUCCESS;
}

CUresult impl_cuMemGetAddressRange_v2(const struct call *call, cuMemGetAddressRange_v2_params *p)
{
    struct allocation found;
    (void)call;
    if (!memory_lookup(p->dptr, &found))
        return CUDA_ERROR_NOT_FOUND;
    if (p->pbase)
        *p->pbase = found.piece.begin;
    if (p->psize)
        *p->psize = found.piece.bytes;
    return CUDA_SUCCESS;
}
