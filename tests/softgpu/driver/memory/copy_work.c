/* copy_work.c - a copy of a box of bytes as a work: checked, staged where need be, run. */
#include "driver/memory/copy_work.h"

#include <stdlib.h>
#include <string.h>
#include "driver/graph/graph.h"
#include "driver/memory/memory.h"
#include "driver/memory/memory_space.h"
#include "driver/memory/words.h"

/* One side of a copy: rows of `pitch` bytes, `slice` bytes from one plane to the next. */
struct side {
    CUdeviceptr start;
    size_t pitch, slice, span;
    bool device; /* the device itself touches it; else any memory of the host */
};

struct copy {
    CUDA_MEMCPY3D params; /* as in the call */
    struct side from, to;
    size_t width, height, depth;
    uint8_t *staged; /* the source as it was at the call; NULL: read when run */
};

static bool add_up(size_t a, size_t b, size_t c, size_t *sum)
{
    size_t product;
    return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(product, c, sum);
}

struct end { /* the fields of CUDA_MEMCPY3D that come twice */
    size_t x, y, z;
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    size_t pitch, rows;
};

/* From `end` to `side`: false for what no memory can hold. */
static bool lay_out(const struct copy *copy, const struct end *end, struct side *side)
{
    size_t start, rows = end->rows ? end->rows : copy->height + end->y;
    bool one_row = copy->height == 1 && copy->depth == 1 && end->y == 0 && end->z == 0;
    side->pitch = one_row && !end->pitch ? copy->width + end->x : end->pitch;
    if (copy->width + end->x < copy->width || side->pitch < copy->width + end->x)
        return false;
    if (copy->depth > 1 && rows < copy->height + end->y)
        return false;
    if (!add_up(side->pitch, rows, 0, &side->slice) ||
        !add_up(side->slice, end->z, end->x, &start) ||
        !add_up(side->pitch, end->y, start, &start) ||
        !add_up(side->slice, copy->depth - 1, copy->width, &side->span) ||
        !add_up(side->pitch, copy->height - 1, side->span, &side->span))
        return false;
    CUdeviceptr base =
        end->type == CU_MEMORYTYPE_HOST ? (CUdeviceptr)(uintptr_t)end->host : end->device;
    return base && !__builtin_add_overflow(base, start, &side->start);
}

bool device_reaches(CUdeviceptr address, size_t bytes)
{
    struct allocation found;
    return memory_is_device(address) ||
           (memory_lookup(address, &found) &&
            bytes <= found.piece.bytes - (address - found.piece.begin));
}

static bool is_pageable(const struct side *side)
{
    return !device_reaches(side->start, side->span);
}

static CUresult check_side(struct context *context, const struct copy *copy, const struct end *end,
                           struct side *side)
{
    if (end->type == CU_MEMORYTYPE_ARRAY)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (end->type != CU_MEMORYTYPE_HOST && end->type != CU_MEMORYTYPE_DEVICE &&
        end->type != CU_MEMORYTYPE_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    if (!lay_out(copy, end, side) || !memory_view(context, side->start, side->span))
        return CUDA_ERROR_INVALID_VALUE;
    side->device = memory_is_device(side->start);
    if (end->type == CU_MEMORYTYPE_DEVICE && is_pageable(side))
        return CUDA_ERROR_INVALID_VALUE;
    return end->type == CU_MEMORYTYPE_HOST && side->device ? CUDA_ERROR_INVALID_VALUE
                                                           : CUDA_SUCCESS;
}

static CUresult check(struct context *context, struct copy *copy)
{
    const CUDA_MEMCPY3D *p = &copy->params;
    const struct end from = {p->srcXInBytes, p->srcY,      p->srcZ,     p->srcMemoryType,
                             p->srcHost,     p->srcDevice, p->srcPitch, p->srcHeight};
    const struct end to = {p->dstXInBytes, p->dstY,      p->dstZ,     p->dstMemoryType,
                           p->dstHost,     p->dstDevice, p->dstPitch, p->dstHeight};
    CUresult error = check_side(context, copy, &from, &copy->from);
    return error == CUDA_SUCCESS ? check_side(context, copy, &to, &copy->to) : error;
}

/* The rows of a box, one after the other. */
static void copy_box(const struct copy *copy, uint8_t *to, const struct side *to_side,
                     const uint8_t *from, const struct side *from_side)
{
    if (copy->width == to_side->pitch && copy->width == from_side->pitch &&
        to_side->slice == from_side->slice && to_side->slice == copy->width * copy->height) {
        words_copy(to, from, copy->width * copy->height * copy->depth);
        return;
    }
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++)
            words_copy(to + z * to_side->slice + y * to_side->pitch,
                       from + z * from_side->slice + y * from_side->pitch, copy->width);
}

static struct side packed(const struct copy *copy)
{
    return (struct side){.pitch = copy->width, .slice = copy->width * copy->height};
}

static CUresult run(struct context *context, void *data)
{
    struct copy *copy = data;
    struct side side = copy->staged ? packed(copy) : copy->from;
    const uint8_t *from =
        copy->staged ? copy->staged : memory_view(context, copy->from.start, copy->from.span);
    uint8_t *to = memory_view(context, copy->to.start, copy->to.span);
    if (!from || !to)
        return CUDA_ERROR_ILLEGAL_ADDRESS; /* freed since the call */
    copy_box(copy, to, &copy->to, from, &side);
    return CUDA_SUCCESS;
}

static size_t bytes_of(const struct copy *copy)
{
    return copy->width * copy->height * copy->depth;
}

static void drop(void *data)
{
    struct copy *copy = data;
    free(copy->staged);
    free(copy);
}

static void *duplicate(const void *data)
{
    const struct copy *copy = data;
    struct copy *twin = malloc(sizeof(*twin));
    if (!twin)
        return NULL;
    *twin = *copy;
    if (copy->staged) {
        twin->staged = malloc(bytes_of(copy));
        if (!twin->staged) {
            free(twin);
            return NULL;
        }
        memcpy(twin->staged, copy->staged, bytes_of(copy));
    }
    return twin;
}

static const struct work_type copy_work = {WORK_COPY, run, duplicate, drop};

CUresult copy_work_create(struct context *context, const CUDA_MEMCPY3D *params, struct work *work)
{
    struct copy *copy = calloc(1, sizeof(*copy));
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    copy->params = *params;
    copy->width = params->WidthInBytes;
    copy->height = params->Height;
    copy->depth = params->Depth;
    CUresult error = copy->width && copy->height && copy->depth ? check(context, copy)
                                                                : CUDA_ERROR_INVALID_VALUE;
    if (error != CUDA_SUCCESS) {
        free(copy);
        return error;
    }
    work->type = &copy_work;
    work->data = copy;
    return CUDA_SUCCESS;
}

void copy_work_params(const void *data, CUDA_MEMCPY3D *params)
{
    *params = ((const struct copy *)data)->params;
}

enum copy_way copy_work_way(const struct work *work)
{
    const struct copy *copy = work->data;
    if (is_pageable(&copy->to))
        return COPY_TO_PAGEABLE;
    if (is_pageable(&copy->from))
        return COPY_FROM_PAGEABLE;
    return copy->from.device && copy->to.device ? COPY_ON_DEVICE : COPY_PINNED;
}

CUresult copy_work_stage(struct context *context, struct work *work)
{
    struct copy *copy = work->data;
    const uint8_t *from = memory_view(context, copy->from.start, copy->from.span);
    if (!from)
        return CUDA_ERROR_INVALID_VALUE;
    copy->staged = malloc(bytes_of(copy));
    if (!copy->staged)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct side side = packed(copy);
    copy_box(copy, copy->staged, &side, from, &copy->from);
    return CUDA_SUCCESS;
}
