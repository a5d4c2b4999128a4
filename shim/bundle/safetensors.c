#include "bundle/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "system/files.h"
#include "text/json_out.h"
#include "report/place.h"
#include "lang/dtype.h"

static const char *format_dtype(enum dtype dtype)
{
    static const char *const names[DTYPE_COUNT] = {
        [DTYPE_F64] = "F64",   [DTYPE_F32] = "F32",        [DTYPE_F16] = "F16",
        [DTYPE_BF16] = "BF16", [DTYPE_F8E4M3] = "F8_E4M3", [DTYPE_F8E5M2] = "F8_E5M2",
        [DTYPE_I8] = "I8",     [DTYPE_I16] = "I16",        [DTYPE_I32] = "I32",
        [DTYPE_I64] = "I64",   [DTYPE_U8] = "U8",          [DTYPE_U16] = "U16",
        [DTYPE_U32] = "U32",   [DTYPE_U64] = "U64",        [DTYPE_BOOL] = "BOOL",
    };

    return (unsigned)dtype < DTYPE_COUNT ? names[dtype] : NULL;
}

/* Fills in shape and size of the next tensor and keeps it. */
static enum status plan_add(struct tensors_plan *plan, const int64_t *dim, int ndim,
                            struct error *err)
{
    struct tensor_plan *tensor = &plan->tensor[plan->count];

    tensor->bytes = dtype_bytes(tensor->dtype);
    tensor->ndim = ndim;
    if (tensor->bytes == 0)
        return error_set(err, STATUS_INVALID, "%s has no element type", tensor->name);
    for (int d = 0; d < ndim; d++) {
        tensor->dim[d] = dim[d];
        if (dim[d] < 0 || __builtin_mul_overflow(tensor->bytes, (uint64_t)dim[d], &tensor->bytes))
            return error_set(err, STATUS_INVALID, "the shape of %s overflows", tensor->name);
    }
    if (__builtin_add_overflow(plan->bytes, tensor->bytes, &plan->bytes) ||
        plan->bytes > INT64_MAX / 2)
        return error_set(err, STATUS_INVALID, "the tensors together overflow");
    plan->count++;
    return STATUS_OK;
}

static bool name_taken(const struct tensors_plan *plan, const char *name)
{
    for (int i = 0; i < plan->count; i++) {
        if (strcmp(plan->tensor[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Sets the name; two formals bound to one array are distinguished by their number. */
static struct tensor_plan *plan_next(struct tensors_plan *plan, const char *side, const char *array,
                                     int index)
{
    struct tensor_plan *tensor = &plan->tensor[plan->count];

    *tensor = (struct tensor_plan){.index = index};
    snprintf(tensor->name, sizeof tensor->name, "%s.%.64s", side, array);
    if (name_taken(plan, tensor->name))
        snprintf(tensor->name, sizeof tensor->name, "%s.%.64s.%d", side, array, index);
    return tensor;
}

static enum status plan_array(struct tensors_plan *plan, const struct binding *binding, int index,
                              int after, struct error *err)
{
    const struct bound_array *array = &binding->array[index];
    struct tensor_plan *tensor =
        plan_next(plan, after ? "after" : "before", array->name ? array->name : "", index);
    int64_t dim[8];

    for (int d = 0; d < array->ndim; d++)
        dim[d] = binding_seen(binding, index, d);
    tensor->side = after ? TENSOR_AFTER : TENSOR_BEFORE;
    tensor->dtype = array->dtype;
    return plan_add(plan, dim, array->ndim, err);
}

static enum status plan_reference(struct tensors_plan *plan, const struct binding *binding,
                                  int index, struct error *err)
{
    const struct ref_tensor *tensor = &binding->call.tensor[index];
    int array = binding->tensor_array[index];
    struct tensor_plan *next;

    if (array < 0 || array >= binding->arrays)
        return STATUS_OK;
    next = plan_next(plan, "reference", binding->array[array].name, index);
    next->side = TENSOR_REFERENCE;
    next->dtype = DTYPE_F64;
    return plan_add(plan, tensor->dim, tensor->ndim, err);
}

static int widest_first(const void *left, const void *right)
{
    const struct tensor_plan *a = left, *b = right;
    size_t bytes_a = dtype_bytes(a->dtype), bytes_b = dtype_bytes(b->dtype);

    if (bytes_a != bytes_b)
        return bytes_a > bytes_b ? -1 : 1;
    if (a->side != b->side)
        return a->side < b->side ? -1 : 1;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

void safetensors_sort(struct tensors_plan *plan)
{
    qsort(plan->tensor, (size_t)plan->count, sizeof plan->tensor[0], widest_first);
}

enum status safetensors_plan(struct tensors_plan *plan, const struct binding *binding,
                             const struct bundle_source *source, struct error *err)
{
    enum status status = STATUS_OK;

    plan->count = 0;
    plan->bytes = 0;
    for (int a = 0; a < binding->arrays && !status; a++) {
        for (int after = 0; after < 2 && !status; after++) {
            if (source->has_array(source->user, a, after))
                status = plan_array(plan, binding, a, after, err);
        }
    }
    for (int t = 0; t < binding->tensors && !status; t++) {
        if (source->has_reference && source->has_reference(source->user, t))
            status = plan_reference(plan, binding, t, err);
    }
    safetensors_sort(plan);
    return status;
}

static void put_tensor(struct json_out *json, const struct tensor_plan *tensor, uint64_t at)
{
    json_put_object(json, tensor->name);
    json_put_string(json, "dtype", format_dtype(tensor->dtype));
    json_put_array(json, "shape");
    for (int d = 0; d < tensor->ndim; d++)
        json_int(json, tensor->dim[d]);
    json_end(json);
    json_put_array(json, "data_offsets");
    json_uint(json, at);
    json_uint(json, at + tensor->bytes);
    json_end(json);
    json_end(json);
}

enum status safetensors_header(const struct tensors_plan *plan, struct textbuf *out,
                               struct error *err)
{
    struct json_out json;
    uint64_t at = 0, length;
    enum status status = STATUS_OK;
    uint8_t field[8];

    json_out_init(&json);
    json_begin_object(&json);
    json_put_object(&json, "__metadata__");
    json_put_string(&json, "format", "cuvet-bundle-1");
    json_end(&json);
    for (int i = 0; i < plan->count; i++) {
        put_tensor(&json, &plan->tensor[i], at);
        at += plan->tensor[i].bytes;
    }
    json_end(&json);
    if (!json_out_ok(&json))
        json.text.failed = true;
    while (json.text.length % 8 != 0 && !json.text.failed)
        textbuf_add(&json.text, " ", 1);
    length = json.text.length;
    for (int i = 0; i < 8; i++)
        field[i] = (uint8_t)(length >> (8 * i));
    textbuf_add(out, (const char *)field, sizeof field);
    if (!json.text.failed)
        textbuf_add(out, json.text.data, json.text.length);
    if (json.text.failed || out->failed)
        status = error_set(err, STATUS_NO_MEMORY, "no memory for the tensors' header");
    json_out_release(&json);
    return status;
}

static enum status read_chunk(const struct tensor_plan *tensor, const struct bundle_source *source,
                              uint64_t offset, size_t size, void *buffer)
{
    offset += tensor->from;
    if (tensor->side == TENSOR_REFERENCE)
        return source->read_reference(source->user, tensor->index,
                                      (int64_t)(offset / sizeof(double)),
                                      (int64_t)(size / sizeof(double)), buffer);
    return source->read_array(source->user, tensor->index, tensor->side == TENSOR_AFTER, offset,
                              buffer, size);
}

enum status safetensors_data(const struct tensors_plan *plan, const struct bundle_source *source,
                             const struct own_fd *file, void *buffer, size_t buffer_bytes,
                             struct error *err)
{
    for (int i = 0; i < plan->count; i++) {
        const struct tensor_plan *tensor = &plan->tensor[i];

        for (uint64_t offset = 0; offset < tensor->bytes;) {
            uint64_t left = tensor->bytes - offset;
            size_t size = left < buffer_bytes ? (size_t)left : buffer_bytes;
            enum status status = read_chunk(tensor, source, offset, size, buffer);

            if (status)
                return error_set(err, status == STATUS_IO ? STATUS_DRIVER : status,
                                 "the bytes of %s could not be read back", tensor->name);
            status = files_write_own(file, buffer, size, err);
            if (status)
                return status;
            offset += size;
        }
    }
    return STATUS_OK;
}
