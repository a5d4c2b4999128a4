/* bundle_call.c - launch.json: what the reference was given. */
#include <stdlib.h>
#include <string.h>
#include "lang/dtype.h"
#include "tools/bundle/bundle_parts.h"

#define SIZE_MOST (INT64_C(1) << 46)

static uint8_t read_rule(struct json_in *in, json_t *object)
{
    static const char *const names[] = {[RULE_BOUND] = "bound",
                                        [RULE_CLOSE] = "close",
                                        [RULE_BITWISE] = "bitwise",
                                        [RULE_STOCHASTIC] = "stochastic"};
    char text[16];
    json_in_text(in, object, "rule", text, sizeof(text));
    for (int rule = 0; rule <= RULE_STOCHASTIC; rule++) {
        if (!strcmp(text, names[rule]))
            return (uint8_t)rule;
    }
    json_in_fail(in, "rule", "bound, close, bitwise or stochastic");
    return RULE_BOUND;
}

static int find_array(const struct bundle *bundle, const char *name)
{
    for (int i = 0; i < bundle->arrays; i++) {
        if (!strcmp(bundle->array[i].name, name))
            return i;
    }
    return -1;
}

static void read_tensor(struct json_in *in, struct bundle *bundle, json_t *object)
{
    struct bundle_tensor *tensor = &bundle->tensor[bundle->tensors];
    struct ref_tensor *ref = &bundle->call.tensor[bundle->tensors++];
    char name[80];
    tensor->array = -1;
    ref->absent = json_in_double(in, object, "absent");
    if (!json_is_string(json_object_get(object, "array")))
        return;
    json_in_text(in, object, "array", name, sizeof(name));
    tensor->array = find_array(bundle, name);
    if (tensor->array < 0)
        json_in_fail(in, "array", "the name of an array");
    ref->dtype = (uint8_t)bundle_dtype(in, object, "dtype");
    tensor->ndim = json_in_ints(in, object, "shape", 0, REF_MAX_DIMS, tensor->dim);
    json_in_ints(in, object, "stride", tensor->ndim, tensor->ndim, tensor->stride);
    ref->rule = read_rule(in, object);
    ref->rtol = json_in_double(in, object, "rtol");
    ref->atol = json_in_double(in, object, "atol");
    ref->accumulates = json_in_bool(in, object, "accumulates", false);
    ref->id = (uint32_t)json_in_int(in, object, "id", 0, INT32_MAX);
}

/* "bf16", "bf16?" or "none". */
static void read_points(struct json_in *in, struct bundle *bundle, json_t *call)
{
    json_t *list = json_in_array(in, call, "points");
    for (size_t i = 0; i < json_array_size(list) && i < REF_MAX_POINTS; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        size_t length = text ? strlen(text) : 0;
        bool may = length && text[length - 1] == '?';
        uint8_t *point = &bundle->call.point[i];
        length -= may;
        for (int dtype = DTYPE_NONE; text && dtype < DTYPE_COUNT; dtype++) {
            const char *name = dtype_text((enum dtype)dtype);
            if (strlen(name) == length && !memcmp(name, text, length))
                *point = (uint8_t)(dtype | (may && dtype ? REF_POINT_MAY : 0));
        }
    }
}

static void read_numbers(struct json_in *in, struct bundle *bundle, json_t *call)
{
    struct ref_call *out = &bundle->call;
    json_t *list = json_in_array(in, call, "scalars");
    if (json_array_size(list) > REF_MAX_SCALARS)
        json_in_fail(in, "scalars", "8 at most");
    for (size_t i = 0; i < json_array_size(list) && !in->failed; i++)
        out->scalar[i] = json_in_number(in, json_array_get(list, i), "scalars");
    list = json_in_array(in, call, "sizes");
    if (json_array_size(list) > REF_MAX_SIZES)
        json_in_fail(in, "sizes", "12 at most");
    for (size_t i = 0; i < json_array_size(list) && !in->failed; i++) {
        const json_t *value = json_array_get(list, i);
        out->size[i] = json_integer_value(value);
        if (!json_is_integer(value) || out->size[i] > SIZE_MOST || out->size[i] < -SIZE_MOST)
            json_in_fail(in, "sizes", "integers");
    }
    out->lambda = json_in_double(in, call, "lambda");
    out->unit_roundoff = json_in_double(in, call, "unit_roundoff");
    out->input_roundoff = json_in_double(in, call, "input_roundoff");
    out->underflow = json_in_double(in, call, "underflow");
    out->inner_roundoff = json_in_double(in, call, "inner_roundoff");
    out->inner_least = json_in_double(in, call, "inner_least");
    out->chain_roundoff = json_in_double(in, call, "chain_roundoff");
    out->chain = json_in_int(in, call, "chain", 0, SIZE_MOST);
    out->lanes = (uint32_t)json_in_int(in, call, "lanes", 0, INT32_MAX);
    out->seed = json_in_hex(in, call, "seed");
    out->masked_rows = (uint32_t)json_in_int(in, call, "masked_rows", 0, MASKED_ANY);
    out->part = json_in_int(in, call, "part", 0, SIZE_MOST);
    out->whole = json_in_int(in, call, "whole", 0, SIZE_MOST);
    out->launch_blocks = json_in_int(in, call, "launch_blocks", 0, SIZE_MOST);
    out->launch_warps = (uint32_t)json_in_int(in, call, "launch_warps", 0, 64);
}

void bundle_read_call(struct json_in *in, struct bundle *bundle, json_t *root)
{
    char functions[16];
    json_t *call = json_in_object(in, root, "call");
    json_in_text(in, call, "functions", functions, sizeof(functions));
    bundle->call.functions =
        strcmp(functions, "approx") ? REF_FUNCTIONS_LIBM : REF_FUNCTIONS_APPROX;
    bundle->call.pieces = 1;
    if (json_is_string(json_object_get(call, "formals")))
        json_in_text(in, call, "formals", bundle->formals, sizeof(bundle->formals));
    if (json_is_string(json_object_get(call, "relations")))
        json_in_text(in, call, "relations", bundle->relations, sizeof(bundle->relations));
    read_numbers(in, bundle, call);
    read_points(in, bundle, call);
    json_t *list = json_in_array(in, call, "tensors");
    if (json_array_size(list) > REF_MAX_TENSORS)
        json_in_fail(in, "tensors", "12 at most");
    for (size_t i = 0; i < json_array_size(list) && !in->failed; i++)
        read_tensor(in, bundle, json_array_get(list, i));
}

/* ---- what the verdict names ---- */

/* The last tensor of that array: where one is read and written, it is the output. */
static int find_tensor(const struct bundle *bundle, const char *name)
{
    const int array = find_array(bundle, name);
    for (int i = bundle->tensors - 1; i >= 0 && array >= 0; i--)
        if (bundle->tensor[i].array == array)
            return i;
    return -1;
}

void bundle_read_spots(struct json_in *in, struct bundle *bundle, json_t *root)
{
    static const char *const names[] = {"worst", "first"};
    for (int i = 0; i < 2 && !in->failed; i++) {
        struct bundle_spot *spot = &bundle->spot[bundle->spots];
        char name[80];
        if (!json_is_object(json_object_get(root, names[i])))
            continue;
        json_t *object = json_in_object(in, root, names[i]);
        if (!json_is_string(json_object_get(object, "array")) || !json_in_has(object, "index"))
            continue;
        json_in_text(in, object, "array", name, sizeof(name));
        spot->tensor = find_tensor(bundle, name);
        const char *index = json_in_has(object, "formal_index") ? "formal_index" : "index";
        spot->ndim = json_in_ints(in, object, index, 0, REF_MAX_DIMS, spot->index);
        if (spot->tensor >= 0 && spot->ndim == bundle->tensor[spot->tensor].ndim)
            bundle->spots++;
    }
}

uint64_t bundle_spot_address(const struct bundle *bundle, const struct bundle_spot *spot)
{
    const struct bundle_tensor *tensor = &bundle->tensor[spot->tensor];
    const struct bundle_array *array = &bundle->array[tensor->array];
    uint64_t elements = 0;
    for (int d = 0; d < spot->ndim; d++)
        elements += (uint64_t)spot->index[d] * (uint64_t)tensor->stride[d];
    return array->address + elements * dtype_bytes(array->dtype);
}
