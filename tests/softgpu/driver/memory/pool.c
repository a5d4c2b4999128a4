/* pool.c - stream-ordered allocation, the pools behind it, and the alloc and free works of graphs.
 */
#include "impls.h"
#include "driver/graph/graph.h"
#include "driver/memory/pool_table.h"

#include <stdlib.h>
#include "driver/call/call.h"
#include "driver/context/device.h"

/* --- works --- */

struct alloc {
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    struct graph_memory *memory;
};

/* The memory is there as long as the graph is; what the program may free is known at the launch. */
static CUresult run_alloc(struct context *context, void *data)
{
    (void)context;
    (void)data;
    return CUDA_SUCCESS;
}

static void *copy_alloc(const void *data)
{
    const struct alloc *alloc = data;
    struct alloc *twin = malloc(sizeof(*twin));
    if (!twin)
        return NULL;
    *twin = *alloc;
    graph_memory_hold(twin->memory);
    return twin;
}

static void drop_alloc(void *data)
{
    struct alloc *alloc = data;
    graph_memory_drop(alloc->memory);
    free(alloc);
}

static const struct work_type alloc_work = {WORK_ALLOC, run_alloc, copy_alloc, drop_alloc};

/* The data of a free work is the address itself. */
static void *data_of(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

CUdeviceptr free_work_address(const void *data)
{
    return (CUdeviceptr)(uintptr_t)data;
}

static CUresult run_free(struct context *context, void *data)
{
    (void)context;
    return pool_finish_free(free_work_address(data));
}

static void *copy_free(const void *data)
{
    return (void *)(uintptr_t)data;
}

static void drop_free(void *data)
{
    (void)data;
}

static const struct work_type free_work = {WORK_FREE, run_free, copy_free, drop_free};

static bool is_here(const struct context *context, const CUmemLocation *location)
{
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE &&
           location->id == device_ordinal(context_device(context));
}

CUresult alloc_work_create(struct context *context, CUDA_MEM_ALLOC_NODE_PARAMS *params,
                           struct work *work)
{
    if (!params->bytesize || params->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        params->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_here(context, &params->poolProps.location))
        return CUDA_ERROR_NOT_SUPPORTED;
    struct alloc *alloc = calloc(1, sizeof(*alloc));
    if (!alloc)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult error;
    alloc->memory = graph_memory_create(context, params->bytesize, &error);
    if (!alloc->memory) {
        free(alloc);
        return error;
    }
    params->dptr = graph_memory_address(alloc->memory);
    alloc->params = *params;
    alloc->params.accessDescs = NULL; /* the caller's, gone after the call */
    alloc->params.accessDescCount = 0;
    work->type = &alloc_work;
    work->data = alloc;
    return CUDA_SUCCESS;
}

void alloc_work_params(const void *data, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    *params = ((const struct alloc *)data)->params;
}

bool alloc_work_is_live(const void *data)
{
    return graph_memory_is_live(((const struct alloc *)data)->memory);
}

void alloc_work_set_live(const void *data)
{
    graph_memory_set_live(((const struct alloc *)data)->memory);
}

CUresult free_work_create(struct context *context, CUdeviceptr address, struct work *work)
{
    (void)context;
    if (!graph_memory_is_at(address))
        return CUDA_ERROR_INVALID_VALUE;
    work->type = &free_work;
    work->data = data_of(address);
    return CUDA_SUCCESS;
}

void free_work_launched(const void *data)
{
    graph_memory_end_at(free_work_address(data));
}

/* --- allocation and free in stream order --- */

static CUresult capture_alloc(struct stream *stream, size_t bytes, CUdeviceptr *address)
{
    CUDA_MEM_ALLOC_NODE_PARAMS params = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE,
                                   .id = device_ordinal(context_device(stream_context(stream)))}},
        .bytesize = bytes,
    };
    struct work work;
    CUresult error = alloc_work_create(stream_context(stream), &params, &work);
    if (error == CUDA_SUCCESS)
        error = capture_add_work(stream, work);
    if (error == CUDA_SUCCESS)
        *address = params.dptr;
    return error;
}

/* The memory is there at once, which is earlier than the stream's order promises. */
static CUresult allocate(struct stream *stream, struct pool *pool, size_t bytes,
                         CUdeviceptr *address)
{
    if (!address || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream_is_capturing(stream))
        return capture_alloc(stream, bytes, address);
    struct context *context = stream_context(stream);
    CUdevice device = device_ordinal(context_device(context));
    CUresult error = context_sticky(context);
    if (error == CUDA_SUCCESS && stream_is_legacy(stream))
        error = capture_check_legacy(context);
    if (error != CUDA_SUCCESS)
        return error;
    if (!pool)
        pool = pool_current(device);
    if (!pool)
        return CUDA_ERROR_OUT_OF_MEMORY;
    /* Memory of one device, given in the order of another one's stream: not here. */
    if (pool_device(pool) != device)
        return CUDA_ERROR_NOT_SUPPORTED;
    return pool_allocate(pool, context, bytes, address);
}

CUresult impl_cuMemAllocAsync(const struct call *call, cuMemAllocAsync_params *p)
{
    struct stream *stream = stream_resolve(call, p->hStream);
    return stream ? allocate(stream, NULL, p->bytesize, p->dptr) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuMemAllocFromPoolAsync(const struct call *call, cuMemAllocFromPoolAsync_params *p)
{
    struct stream *stream = stream_resolve(call, p->hStream);
    struct pool *pool = pool_from_handle(p->pool);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    return pool ? allocate(stream, pool, p->bytesize, p->dptr) : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuMemFreeAsync(const struct call *call, cuMemFreeAsync_params *p)
{
    struct stream *stream = stream_resolve(call, p->hStream);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream_is_capturing(stream)) {
        struct work work;
        CUresult error = free_work_create(stream_context(stream), p->dptr, &work);
        return error == CUDA_SUCCESS ? capture_add_work(stream, work) : error;
    }
    if (!pool_begin_free(p->dptr, false))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult error = stream_enqueue(call, stream, (struct work){&free_work, data_of(p->dptr)});
    if (error != CUDA_SUCCESS)
        pool_begin_free(p->dptr, true);
    return error;
}

CUresult pool_free(struct context *context, CUdeviceptr address)
{
    if (!pool_begin_free(address, false))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult error = streams_drain(context);
    CUresult freed = pool_finish_free(address);
    return error != CUDA_SUCCESS ? error : freed;
}

/* --- which pool --- */

static CUresult give(CUmemoryPool *out, struct pool *pool)
{
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (!pool)
        return CUDA_ERROR_INVALID_DEVICE;
    *out = pool_handle(pool);
    return CUDA_SUCCESS;
}

static CUresult set_current(CUdevice device, CUmemoryPool handle)
{
    struct pool *pool = pool_from_handle(handle);
    if (!device_at(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!pool || pool_device(pool) != device)
        return CUDA_ERROR_INVALID_VALUE;
    pool_set_current(device, pool);
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetDefaultMemPool(const struct call *call,
                                        cuDeviceGetDefaultMemPool_params *p)
{
    (void)call;
    return give(p->pool_out, pool_default(p->dev));
}

CUresult impl_cuDeviceGetMemPool(const struct call *call, cuDeviceGetMemPool_params *p)
{
    (void)call;
    return give(p->pool, pool_current(p->dev));
}

CUresult impl_cuDeviceSetMemPool(const struct call *call, cuDeviceSetMemPool_params *p)
{
    (void)call;
    return set_current(p->dev, p->pool);
}

/* Pools of pinned memory of devices are the only ones here. */
static CUresult check_location(const CUmemLocation *location, CUmemAllocationType type)
{
    if (!location)
        return CUDA_ERROR_INVALID_VALUE;
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED
               ? CUDA_SUCCESS
               : CUDA_ERROR_NOT_SUPPORTED;
}

#ifdef HAVE_cuMemGetDefaultMemPool /* these three came together */
CUresult impl_cuMemGetDefaultMemPool(const struct call *call, cuMemGetDefaultMemPool_params *p)
{
    (void)call;
    CUresult error = check_location(p->location, p->type);
    return error == CUDA_SUCCESS ? give(p->pool_out, pool_default(p->location->id)) : error;
}

CUresult impl_cuMemGetMemPool(const struct call *call, cuMemGetMemPool_params *p)
{
    (void)call;
    CUresult error = check_location(p->location, p->type);
    return error == CUDA_SUCCESS ? give(p->pool, pool_current(p->location->id)) : error;
}

CUresult impl_cuMemSetMemPool(const struct call *call, cuMemSetMemPool_params *p)
{
    (void)call;
    CUresult error = check_location(p->location, p->type);
    return error == CUDA_SUCCESS ? set_current(p->location->id, p->pool) : error;
}
#endif

/* --- pools --- */

CUresult impl_cuMemPoolCreate(const struct call *call, cuMemPoolCreate_params *p)
{
    (void)call;
    if (!p->pool || !p->poolProps)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult error = check_location(&p->poolProps->location, p->poolProps->allocType);
    if (error != CUDA_SUCCESS)
        return error;
    if (p->poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!device_at(p->poolProps->location.id))
        return CUDA_ERROR_INVALID_VALUE;
    struct pool *pool = pool_create(p->poolProps->location.id, p->poolProps->maxSize);
    if (!pool)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *p->pool = pool_handle(pool);
    return CUDA_SUCCESS;
}

CUresult impl_cuMemPoolDestroy(const struct call *call, cuMemPoolDestroy_params *p)
{
    (void)call;
    struct pool *pool = pool_from_handle(p->pool);
    return pool && pool_destroy(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Nothing is kept back, so there is nothing to give up. */
CUresult impl_cuMemPoolTrimTo(const struct call *call, cuMemPoolTrimTo_params *p)
{
    (void)call;
    return pool_from_handle(p->pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuMemPoolSetAttribute(const struct call *call, cuMemPoolSetAttribute_params *p)
{
    (void)call;
    struct pool *pool = pool_from_handle(p->pool);
    return pool && p->value ? pool_set(pool, p->attr, p->value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuMemPoolGetAttribute(const struct call *call, cuMemPoolGetAttribute_params *p)
{
    (void)call;
    struct pool *pool = pool_from_handle(p->pool);
    return pool && p->value ? pool_get(pool, p->attr, p->value) : CUDA_ERROR_INVALID_VALUE;
}

static bool is_access(const struct pool *pool, const CUmemAccessDesc *access)
{
    bool own = access->location.id == pool_device(pool);
    return access->location.type == CU_MEM_LOCATION_TYPE_DEVICE && device_at(access->location.id) &&
           (access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
            (access->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE && !own));
}

CUresult impl_cuMemPoolSetAccess(const struct call *call, cuMemPoolSetAccess_params *p)
{
    (void)call;
    struct pool *pool = pool_from_handle(p->pool);
    if (!pool || (!p->map && p->count))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < p->count; i++)
        if (!is_access(pool, &p->map[i]))
            return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < p->count; i++)
        pool_set_access(pool, p->map[i].location.id, p->map[i].flags);
    return CUDA_SUCCESS;
}

CUresult impl_cuMemPoolGetAccess(const struct call *call, cuMemPoolGetAccess_params *p)
{
    (void)call;
    struct pool *pool = pool_from_handle(p->memPool);
    if (!pool || !p->flags || !p->location || p->location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !device_at(p->location->id))
        return CUDA_ERROR_INVALID_VALUE;
    *p->flags = pool_access(pool, p->location->id);
    return CUDA_SUCCESS;
}

/* --- other processes: they do not see this device --- */

#define NOT_SHARED(name)                                                                           \
    CUresult impl_##name(const struct call *call, name##_params *p)                                \
    {                                                                                              \
        (void)call;                                                                                \
        (void)p;                                                                                   \
        return CUDA_ERROR_NOT_SUPPORTED;                                                           \
    }

NOT_SHARED(cuMemPoolExportToShareableHandle)
NOT_SHARED(cuMemPoolImportFromShareableHandle)
NOT_SHARED(cuMemPoolExportPointer)
NOT_SHARED(cuMemPoolImportPointer)
