/*
 * set.c - memsets. The forms without Async wait only where the memory is the host's, as on the
 * device: a memset of device memory may be going on when the call returns.
 */
#include "impls.h"
#include "driver/memory/copy_work.h"
#include "driver/graph/graph.h"

#include <stdlib.h>
#include "driver/call/call.h"
#include "driver/memory/memory.h"
#include "driver/memory/words.h"

static CUresult run(struct context *context, void *data)
{
    const CUDA_MEMSET_NODE_PARAMS *p = data;
    size_t row = p->width * p->elementSize;
    size_t pitch = p->height > 1 ? p->pitch : row;
    uint8_t *to = memory_view(context, p->dst, (p->height - 1) * pitch + row);
    if (!to)
        return CUDA_ERROR_ILLEGAL_ADDRESS; /* freed since the call */
    for (size_t y = 0; y < p->height; y++)
        words_fill(to + y * pitch, p->value, p->elementSize, p->width);
    return CUDA_SUCCESS;
}

static void *duplicate(const void *data)
{
    CUDA_MEMSET_NODE_PARAMS *twin = malloc(sizeof(*twin));
    if (twin)
        *twin = *(const CUDA_MEMSET_NODE_PARAMS *)data;
    return twin;
}

static const struct work_type set_work = {WORK_SET, run, duplicate, free};

static bool is_valid(struct context *context, const CUDA_MEMSET_NODE_PARAMS *p)
{
    size_t row, span;
    if ((p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) || !p->width ||
        !p->height || !p->dst || p->dst % p->elementSize != 0)
        return false;
    if (__builtin_mul_overflow(p->width, (size_t)p->elementSize, &row))
        return false;
    if (p->height > 1 && (p->pitch < row || p->pitch % p->elementSize != 0))
        return false;
    size_t pitch = p->height > 1 ? p->pitch : row;
    if (__builtin_mul_overflow(p->height - 1, pitch, &span) ||
        __builtin_add_overflow(span, row, &span))
        return false;
    return device_reaches(p->dst, span) && memory_view(context, p->dst, span);
}

CUresult set_work_create(struct context *context, const CUDA_MEMSET_NODE_PARAMS *params,
                         struct work *work)
{
    if (!is_valid(context, params))
        return CUDA_ERROR_INVALID_VALUE;
    work->type = &set_work;
    work->data = duplicate(params);
    return work->data ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void set_work_params(const void *data, CUDA_MEMSET_NODE_PARAMS *params)
{
    *params = *(const CUDA_MEMSET_NODE_PARAMS *)data;
}

static CUresult set(const struct call *call, const CUDA_MEMSET_NODE_PARAMS *params, CUstream handle,
                    bool async)
{
    struct stream *stream = stream_resolve(call, handle);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!params->width || !params->height)
        return CUDA_SUCCESS;
    struct work work;
    CUresult error = set_work_create(stream_context(stream), params, &work);
    if (error != CUDA_SUCCESS)
        return error;
    bool wait = !async && (stream_is_capturing(stream) || !memory_is_device(params->dst));
    return wait ? stream_run(call, stream, work) : stream_enqueue(call, stream, work);
}

#define ROW(name, field, bytes, stream, async)                                                     \
    CUresult impl_##name(const struct call *call, name##_params *p)                                \
    {                                                                                              \
        return set(call,                                                                           \
                   &(CUDA_MEMSET_NODE_PARAMS){.dst = p->dstDevice,                                 \
                                              .value = p->field,                                   \
                                              .elementSize = bytes,                                \
                                              .width = p->N,                                       \
                                              .height = 1},                                        \
                   stream, async);                                                                 \
    }

#define PLANE(name, field, bytes, stream, async)                                                   \
    CUresult impl_##name(const struct call *call, name##_params *p)                                \
    {                                                                                              \
        return set(call,                                                                           \
                   &(CUDA_MEMSET_NODE_PARAMS){.dst = p->dstDevice,                                 \
                                              .pitch = p->dstPitch,                                \
                                              .value = p->field,                                   \
                                              .elementSize = bytes,                                \
                                              .width = p->Width,                                   \
                                              .height = p->Height},                                \
                   stream, async);                                                                 \
    }

ROW(cuMemsetD8_v2, uc, 1, NULL, false)
ROW(cuMemsetD16_v2, us, 2, NULL, false)
ROW(cuMemsetD32_v2, ui, 4, NULL, false)
PLANE(cuMemsetD2D8_v2, uc, 1, NULL, false)
PLANE(cuMemsetD2D16_v2, us, 2, NULL, false)
PLANE(cuMemsetD2D32_v2, ui, 4, NULL, false)
ROW(cuMemsetD8Async, uc, 1, p->hStream, true)
ROW(cuMemsetD16Async, us, 2, p->hStream, true)
ROW(cuMemsetD32Async, ui, 4, p->hStream, true)
PLANE(cuMemsetD2D8Async, uc, 1, p->hStream, true)
PLANE(cuMemsetD2D16Async, us, 2, p->hStream, true)
PLANE(cuMemsetD2D32Async, ui, 4, p->hStream, true)
