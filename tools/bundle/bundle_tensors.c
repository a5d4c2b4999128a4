/* bundle_tensors.c - tensors.safetensors: where each array's elements lie in the file. */
#include <stdio.h>
#include <string.h>
#include "lang/dtype.h"
#include "tools/bundle/bundle_parts.h"

enum { HEADER_MOST = 16 << 20 };

struct reading {
    struct json_in in;
    struct bundle *bundle;
    const uint8_t *data;
    size_t bytes;
};

/* "before.x" or "after.y[100:140]" to array, side and rows; false: another tensor. */
static bool read_name(const struct bundle *bundle, const char *key, int *array,
                      enum bundle_side *side, int64_t rows[2])
{
    const char *name = !strncmp(key, "before.", 7)  ? key + 7
                       : !strncmp(key, "after.", 6) ? key + 6
                                                    : NULL;
    long long from = -1, to = -1;
    if (!name)
        return false;
    *side = name == key + 7 ? BUNDLE_BEFORE : BUNDLE_AFTER;
    /* The name of an element of memory has brackets, too: "alphas[0]". */
    const char *bracket = strrchr(name, '[');
    bool part = bracket && strchr(bracket, ':');
    size_t length = part ? (size_t)(bracket - name) : strlen(name);
    if (part && sscanf(bracket, "[%lld:%lld]", &from, &to) != 2)
        return false;
    rows[0] = from;
    rows[1] = to;
    for (*array = 0; *array < bundle->arrays; ++*array) {
        const char *known = bundle->array[*array].name;
        if (strlen(known) == length && !memcmp(known, name, length))
            return true;
    }
    return false;
}

/* Elements of one row: of the outermost dim longer than 1. */
static int64_t row_elements(const struct bundle_array *array, int64_t *rows)
{
    int d = 0;
    while (d + 1 < array->ndim && array->seen[d] <= 1)
        d++;
    *rows = array->seen[d];
    return array->seen[d] ? array->elements / array->seen[d] : 0;
}

static void read_part(struct reading *reading, struct bundle_array *array, enum bundle_side side,
                      const int64_t rows[2], json_t *object)
{
    struct json_in *in = &reading->in;
    int64_t offsets[2] = {0}, all, row = row_elements(array, &all);
    struct bundle_part *part = array->part[side];
    int64_t from = rows[0] < 0 ? 0 : rows[0], to = rows[0] < 0 ? all : rows[1];
    json_in_ints(in, object, "data_offsets", 2, 2, offsets);
    if (part->count)
        part++;
    if (in->failed || part->count || from > to || to > all || offsets[0] > offsets[1] ||
        (uint64_t)offsets[1] > reading->bytes ||
        offsets[1] - offsets[0] != (to - from) * row * (int64_t)dtype_bytes(array->dtype)) {
        json_in_fail(in, array->name, "a tensor of the array's size, inside the file");
        return;
    }
    part->bytes = reading->data + offsets[0];
    part->first = from * row;
    part->count = (to - from) * row;
}

static enum status read_header(struct reading *reading, json_t **root)
{
    const struct bundle *bundle = reading->bundle;
    uint64_t length = 0;
    if (bundle->tensors_bytes < 8)
        return error_set(reading->in.err, STATUS_INVALID,
                         "tensors.safetensors has %zu bytes, fewer than its header's length needs",
                         bundle->tensors_bytes);
    for (int i = 0; i < 8; i++)
        length |= (uint64_t)bundle->tensors_file[i] << (8 * i);
    if (length > HEADER_MOST || length > bundle->tensors_bytes - 8)
        return error_set(reading->in.err, STATUS_INVALID,
                         "tensors.safetensors: its header's length does not fit the file of %zu "
                         "bytes",
                         bundle->tensors_bytes);
    reading->data = bundle->tensors_file + 8 + length;
    reading->bytes = bundle->tensors_bytes - 8 - (size_t)length;
    *root = json_in_load(&reading->in, (const char *)bundle->tensors_file + 8, (size_t)length);
    return *root ? STATUS_OK : STATUS_INVALID;
}

enum status bundle_read_tensors(struct bundle *bundle, struct error *err)
{
    struct reading reading = {.in = {.file = "tensors.safetensors", .err = err}, .bundle = bundle};
    const char *key;
    json_t *root = NULL, *value;
    enum status status = read_header(&reading, &root);
    if (status)
        return status;
    json_object_foreach(root, key, value)
    {
        enum bundle_side side;
        int64_t rows[2];
        int array;
        if (read_name(bundle, key, &array, &side, rows) && json_is_object(value))
            read_part(&reading, &bundle->array[array], side, rows, value);
    }
    json_decref(root);
    return reading.in.failed ? STATUS_INVALID : STATUS_OK;
}
