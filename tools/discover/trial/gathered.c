#include "tools/discover/trial/gathered.h"

#include <stdlib.h>
#include <string.h>
#include "driver/cuda_api.h"
#include "lang/dtype.h"

/* ---- in the driver's place ---- */

static const struct seen_sample *answering;

static bool find_range(CUdeviceptr address, CUdeviceptr *begin, size_t *bytes)
{
    for (size_t i = 0; answering && i < answering->pointers; i++) {
        const struct seen_pointer *pointer = &answering->pointer[i];
        *begin = (CUdeviceptr)pointer->base;
        *bytes = (size_t)pointer->bytes;
        if (address - pointer->base < pointer->bytes)
            return true;
    }
    return false;
}

/* As the driver: zeros for an address that is not known. */
static CUresult answer(unsigned count, CUpointer_attribute *wanted, void **into,
                       CUdeviceptr address)
{
    CUdeviceptr begin = 0;
    size_t bytes = 0;
    bool known = find_range(address, &begin, &bytes);
    for (unsigned i = 0; i < count; i++) {
        if (wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
            *(CUdeviceptr *)into[i] = known ? begin : 0;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
            *(size_t *)into[i] = known ? bytes : 0;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
            *(unsigned *)into[i] = known ? CU_MEMORYTYPE_DEVICE : 0;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)into[i] = 0;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_CONTEXT) /* of an ordinary allocation */
            *(const void **)into[i] = known ? answering : NULL;
    }
    return CUDA_SUCCESS;
}

void gathered_answer(const struct seen_sample *sample)
{
    answering = sample;
    cuda.cuPointerGetAttributes = answer;
}

/* ---- rows ---- */

/* What the memory held before the launch; NULL: not all of it was recorded. */
static const uint8_t *recorded(const struct seen_sample *sample, uint64_t address, uint64_t bytes)
{
    const struct seen_region *region = seen_memory(sample, address);
    uint64_t at = region ? address - region->address : 0;
    return region && bytes <= region->bytes - at ? region->before + at : NULL;
}

/* Elements of a dense array of indices; -1: it is none. */
static int64_t indices_of(const struct bound_array *ids)
{
    bool dense = ids->ndim == 1 && (ids->stride[0] == 1 || ids->dim[0] == 1);
    bool plain = ids->role == ROLE_READ && bound_ids(ids) < 0 &&
                 (ids->dtype == DTYPE_I32 || ids->dtype == DTYPE_I64);
    return dense && plain ? ids->dim[0] : -1;
}

static int64_t index_at(const struct bound_array *ids, const uint8_t *bytes, int64_t i)
{
    return (int64_t)dtype_load(ids->dtype, bytes + i * (int64_t)dtype_bytes(ids->dtype));
}

/* One row to its place in the dense copy. False: it was not recorded. */
static bool copy_row(const struct seen_sample *sample, const struct bound_array *array,
                     int64_t index, uint8_t *to)
{
    const struct bound_rows *rows = &array->rows;
    uint64_t size = dtype_bytes(array->dtype), run = (uint64_t)rows->run * size;
    int64_t start = index / rows->page * rows->stride[0] + index % rows->page * rows->stride[1];
    for (int64_t i = 0; i < rows->runs; i++) {
        uint64_t offset = (uint64_t)(start + i * rows->run_stride) * size;
        const uint8_t *from = recorded(sample, array->address + offset, run);
        if (!from)
            return false;
        memcpy(to + (uint64_t)i * run, from, run);
    }
    return true;
}

/* The rows, one for each index; for free(). NULL: some are not there. */
static uint8_t *gather(const struct seen_sample *sample, const struct bound_array *array,
                       const struct bound_array *ids)
{
    int64_t count = indices_of(ids);
    uint64_t row = (uint64_t)(array->rows.runs * array->rows.run) * dtype_bytes(array->dtype);
    const uint8_t *named = count > 0 ? recorded(sample, ids->address, ids->bytes) : NULL;
    bool fits = named && array->role == ROLE_READ && !array->rows.listed && array->rows.page > 0 &&
                row <= array->bytes / (uint64_t)count;
    uint8_t *dense = fits ? calloc(1, array->bytes) : NULL;
    for (int64_t i = 0; dense && i < count; i++) {
        int64_t index = index_at(ids, named, i);
        if (index >= 0 && copy_row(sample, array, index, dense + (uint64_t)i * row))
            continue;
        free(dense);
        dense = NULL;
    }
    return dense;
}

/* 0, 1, 2, ... in the type of the indices; for free(). */
static uint8_t *count_up(const struct bound_array *ids)
{
    uint64_t size = dtype_bytes(ids->dtype);
    uint8_t *bytes = calloc(1, ids->bytes + sizeof(int64_t));
    for (int64_t i = 0; bytes && i < ids->dim[0]; i++)
        memcpy(bytes + (uint64_t)i * size, &i, size);
    return bytes;
}

static enum status put(struct gathered *out, const uint8_t *bytes, uint64_t count,
                       struct worker_view *view, struct error *err)
{
    const struct worker_array array = {.bytes = count};
    uint64_t address;
    if (!bytes || out->count == GATHERED_MOST)
        return error_set(err, STATUS_UNSUPPORTED, "its rows are not all recorded");
    enum status status = worker_allocate(out->worker, &array, &address, err);
    if (status)
        return status;
    out->address[out->count++] = address;
    *view = (struct worker_view){address, address};
    return worker_write(out->worker, address, bytes, (size_t)count, err);
}

enum status gathered_make(struct gathered *out, struct worker *worker,
                          const struct seen_sample *sample, struct binding *binding,
                          struct worker_view *views, struct error *err)
{
    enum status status = STATUS_OK;
    uint64_t names = 0; /* arrays of indices, by bit */
    *out = (struct gathered){.worker = worker};
    for (int i = 0; i < binding->arrays && !status; i++) {
        int by = bound_ids(&binding->array[i]);
        if (by < 0)
            continue;
        uint8_t *dense = gather(sample, &binding->array[i], &binding->array[by]);
        status = put(out, dense, binding->array[i].bytes, &views[i], err);
        free(dense);
        names |= UINT64_C(1) << by;
    }
    for (int i = 0; i < binding->arrays && !status; i++) {
        binding->array[i].rows.by = 0;
        if (!(names >> i & 1))
            continue;
        uint8_t *numbers = count_up(&binding->array[i]);
        status = put(out, numbers, binding->array[i].bytes, &views[i], err);
        free(numbers);
    }
    return status;
}

void gathered_release(struct gathered *gathered)
{
    while (gathered->count)
        worker_free(gathered->worker, gathered->address[--gathered->count], NULL);
}
