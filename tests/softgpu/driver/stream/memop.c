/* memop.c - streams that wait for a value in memory, or write one. */
#include "impls.h"
#include "driver/memory/copy_work.h"
#include "driver/graph/graph.h"

#include <stdlib.h>
#include <string.h>
#include "driver/call/call.h"
#include "driver/context/device.h"
#include "driver/memory/memory.h"
#include "driver/stream/queue.h"

enum { MAX_OPS = 256 }; /* as in cuda.h */

struct memops {
    struct context *context;
    unsigned count, flags;
    CUstreamBatchMemOpParams ops[];
};

static bool is_wait(CUstreamBatchMemOpType operation)
{
    return operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
           operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

/* Bytes of the value; 0 for what touches none. */
static unsigned width_of(CUstreamBatchMemOpType operation)
{
    switch (operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return 4;
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return 8;
    default:
        return 0;
    }
}

/* GEQ is cyclic: the sign of the difference decides. */
static bool holds(unsigned flags, unsigned width, uint64_t have, uint64_t want)
{
    uint64_t mask = width == 4 ? UINT32_MAX : UINT64_MAX;
    switch (flags & 3) {
    case CU_STREAM_WAIT_VALUE_EQ:
        return ((have ^ want) & mask) == 0;
    case CU_STREAM_WAIT_VALUE_AND:
        return (have & want & mask) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
        return (~(have | want) & mask) != 0;
    default:
        return width == 4 ? (int32_t)(uint32_t)(have - want) >= 0 : (int64_t)(have - want) >= 0;
    }
}

static uint64_t load(const uint8_t *at, unsigned width)
{
    return width == 4 ? __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE)
                      : __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

static void store(uint8_t *at, unsigned width, uint64_t value)
{
    if (width == 4)
        __atomic_store_n((uint32_t *)(void *)at, (uint32_t)value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint64_t *)(void *)at, value, __ATOMIC_RELEASE);
}

static uint64_t value_of(const CUstreamBatchMemOpParams *op, unsigned width)
{
    return width == 4 ? op->waitValue.value : op->waitValue.value64;
}

static CUresult run_one(struct context *context, const CUstreamBatchMemOpParams *op)
{
    unsigned width = width_of(op->operation);
    if (width == 0) { /* barriers and flushes: works of a stream see each other's writes anyway */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        return CUDA_SUCCESS;
    }
    uint8_t *at = memory_view(context, op->waitValue.address, width);
    if (!at)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    uint64_t value = value_of(op, width);
    if (!is_wait(op->operation)) {
        store(at, width, value);
        return CUDA_SUCCESS;
    }
    while (!holds(op->waitValue.flags, width, load(at, width), value))
        if (!queue_pause(stream_stop_flag(context)))
            break;
    return CUDA_SUCCESS;
}

static CUresult run(struct context *context, void *data)
{
    const struct memops *memops = data;
    CUresult error = CUDA_SUCCESS;
    for (unsigned i = 0; i < memops->count && error == CUDA_SUCCESS; i++)
        error = run_one(context, &memops->ops[i]);
    return error;
}

static size_t size_of(unsigned count)
{
    return sizeof(struct memops) + count * sizeof(CUstreamBatchMemOpParams);
}

static void *duplicate(const void *data)
{
    const struct memops *memops = data;
    struct memops *twin = malloc(size_of(memops->count));
    if (twin)
        memcpy(twin, memops, size_of(memops->count));
    return twin;
}

static const struct work_type memop_work = {WORK_MEMOP, run, duplicate, free};

static bool is_valid(struct context *context, const CUstreamBatchMemOpParams *op)
{
    unsigned width = width_of(op->operation);
    if (width == 0)
        return op->operation == CU_STREAM_MEM_OP_BARRIER ||
               op->operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    unsigned known = is_wait(op->operation) ? 3u | (unsigned)CU_STREAM_WAIT_VALUE_FLUSH
                                            : (unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
    CUdeviceptr address = op->waitValue.address;
    return !(op->waitValue.flags & ~known) && address && address % width == 0 &&
           device_reaches(address, width) && memory_view(context, address, width);
}

CUresult memop_work_create(struct context *context, unsigned count,
                           const CUstreamBatchMemOpParams *ops, unsigned flags, struct work *work)
{
    if (!count || count > MAX_OPS || !ops || flags)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if (!is_valid(context, &ops[i]))
            return CUDA_ERROR_INVALID_VALUE;
    struct memops *memops = malloc(size_of(count));
    if (!memops)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memops->context = context;
    memops->count = count;
    memops->flags = flags;
    memcpy(memops->ops, ops, count * sizeof(*ops));
    work->type = &memop_work;
    work->data = memops;
    return CUDA_SUCCESS;
}

void memop_work_params(const void *data, CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    const struct memops *memops = data;
    params->ctx = context_handle(memops->context);
    params->count = memops->count;
    params->paramArray = (CUstreamBatchMemOpParams *)(uintptr_t)memops->ops;
    params->flags = memops->flags;
}

static CUresult start(const struct call *call, CUstream handle, unsigned count,
                      const CUstreamBatchMemOpParams *ops, unsigned flags)
{
    struct stream *stream = stream_resolve(call, handle);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    struct work work;
    CUresult error = memop_work_create(stream_context(stream), count, ops, flags, &work);
    return error == CUDA_SUCCESS ? stream_enqueue(call, stream, work) : error;
}

#define ONE(name, op, member, field)                                                               \
    CUresult impl_##name(const struct call *call, name##_params *p)                                \
    {                                                                                              \
        CUstreamBatchMemOpParams one = {.member = {.operation = CU_STREAM_MEM_OP_##op,             \
                                                   .address = p->addr,                             \
                                                   .field = p->value,                              \
                                                   .flags = p->flags}};                            \
        return start(call, p->stream, 1, &one, 0);                                                 \
    }

#define BATCH(name)                                                                                \
    CUresult impl_##name(const struct call *call, name##_params *p)                                \
    {                                                                                              \
        return start(call, p->stream, p->count, p->paramArray, p->flags);                          \
    }

ONE(cuStreamWaitValue32, WAIT_VALUE_32, waitValue, value)
ONE(cuStreamWaitValue32_v2, WAIT_VALUE_32, waitValue, value)
ONE(cuStreamWaitValue64, WAIT_VALUE_64, waitValue, value64)
ONE(cuStreamWaitValue64_v2, WAIT_VALUE_64, waitValue, value64)
ONE(cuStreamWriteValue32, WRITE_VALUE_32, writeValue, value)
ONE(cuStreamWriteValue32_v2, WRITE_VALUE_32, writeValue, value)
ONE(cuStreamWriteValue64, WRITE_VALUE_64, writeValue, value64)
ONE(cuStreamWriteValue64_v2, WRITE_VALUE_64, writeValue, value64)
BATCH(cuStreamBatchMemOp)
BATCH(cuStreamBatchMemOp_v2)
