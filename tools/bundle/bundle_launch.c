/* bundle_launch.c - launch.json: the launch and its arrays. */
#include <stdio.h>
#include <string.h>
#include "bundle/bundle.h"
#include "lang/dtype.h"
#include "tools/bundle/bundle_parts.h"

#define BYTES_MOST    (INT64_C(1) << 46)
#define ELEMENTS_MOST (INT64_C(1) << 35) /* of one array that are stored, in bytes */
#define ROWS_MOST     (INT64_C(1) << 24)
#define BLOCKS_MOST   (UINT64_C(1) << 34) /* of a grid: no launch of more comes to an end */

enum dtype bundle_dtype(struct json_in *in, json_t *object, const char *key)
{
    char text[32];
    json_in_text(in, object, key, text, sizeof(text));
    for (int dtype = DTYPE_F64; dtype < DTYPE_COUNT && !in->failed; dtype++) {
        if (!strcmp(dtype_text((enum dtype)dtype), text))
            return (enum dtype)dtype;
    }
    json_in_fail(in, key, "an element type such as \"bf16\"");
    return DTYPE_NONE;
}

static void read_dim3(struct json_in *in, json_t *root, const char *key, uint32_t out[3])
{
    int64_t value[3] = {0};
    json_in_ints(in, root, key, 3, 3, value);
    for (int i = 0; i < 3; i++) {
        if (value[i] > INT32_MAX)
            json_in_fail(in, key, "three numbers below 2^31");
        out[i] = (uint32_t)value[i];
    }
}

/* Grid and block of a kernel that some device runs. */
static void read_shape(struct json_in *in, struct bundle *bundle, json_t *root)
{
    read_dim3(in, root, "grid", bundle->grid);
    read_dim3(in, root, "block", bundle->block);
    const uint32_t *grid = bundle->grid, *block = bundle->block;
    const uint32_t one[6] = {1, 1, 1, block[0], block[1], block[2]};
    const uint32_t shape[6] = {grid[0], grid[1], grid[2], block[0], block[1], block[2]};
    if (in->failed || symbol_is_call(bundle->kernel))
        return;
    if (!launch_can_run(one))
        json_in_fail(in, "block", "three numbers from 1 on, 1024 threads and 64 along z at most");
    if (!launch_can_run(shape) || (uint64_t)grid[0] * grid[1] * grid[2] > BLOCKS_MOST)
        json_in_fail(in, "grid",
                     "three numbers from 1 on, 65535 along y and z and 2^34 blocks at most");
}

/* The finding of `cuvet fuzz`, as one text. */
static void read_case(struct json_in *in, json_t *drawn, struct bundle *bundle)
{
    char outcome[32] = "", sentence[sizeof bundle->drawn - sizeof outcome - 2] = "";
    json_in_text(in, drawn, "outcome", outcome, sizeof outcome);
    json_in_text(in, drawn, "sentence", sentence, sizeof sentence);
    snprintf(bundle->drawn, sizeof bundle->drawn, "%s: %s", outcome, sentence);
    bundle->probed = strcmp(outcome, "probe") == 0;
}

/* All from BUNDLE_OLDEST on are read. */
static void read_version(struct json_in *in, json_t *root)
{
    int64_t version = json_in_int(in, root, "version", 0, INT32_MAX);
    if (in->failed || (version >= BUNDLE_OLDEST && version <= BUNDLE_VERSION))
        return;
    error_set(in->err, STATUS_INVALID, "%s is of format %d, which %s: this cuvet reads format %d%s",
              in->file, (int)version,
              version > BUNDLE_VERSION ? "a newer cuvet wrote" : "lacks what a replay needs",
              BUNDLE_OLDEST, BUNDLE_VERSION > BUNDLE_OLDEST ? " and later ones" : "");
    in->failed = true;
}

static void read_head(struct json_in *in, struct bundle *bundle, json_t *root)
{
    read_version(in, root);
    json_in_text(in, root, "kernel", bundle->kernel, sizeof(bundle->kernel));
    json_in_text(in, root, "label", bundle->label, sizeof(bundle->label));
    json_in_text(in, root, "verdict", bundle->verdict, sizeof(bundle->verdict));
    if (json_is_string(json_object_get(root, "reference")))
        json_in_text(in, root, "reference", bundle->reference, sizeof(bundle->reference));
    bundle->launch = (uint64_t)json_in_int(in, root, "launch", 0, INT64_MAX);
    read_shape(in, bundle, root);
    bundle->shared_bytes = (uint32_t)json_in_int(in, root, "shared_bytes", 0, 1 << 24);
    if (json_in_has(root, "cluster"))
        read_dim3(in, root, "cluster", bundle->cluster);
    bundle->cooperative = json_in_bool(in, root, "cooperative", false);
    json_t *machine = json_in_object(in, root, "machine");
    bundle->sm = (int)json_in_int(in, machine, "sm", 0, 9999);
    bundle->driver = (int)json_in_int(in, machine, "driver", 0, 999999);
    bundle->multiprocessors = (int)json_in_int(in, machine, "multiprocessors", 0, 99999);
    json_t *numbers = json_in_object(in, root, "numbers");
    bundle->elements = (uint64_t)json_in_int(in, numbers, "elements", 0, INT64_MAX);
    bundle->violations = (uint64_t)json_in_int(in, numbers, "violations", 0, INT64_MAX);
    bundle->max_ratio = json_in_double(in, numbers, "max_ratio");
    bundle->differs = json_in_has(root, "differs_from_launch") || json_in_has(root, "parity");
    if (json_in_has(root, "case"))
        read_case(in, json_in_object(in, root, "case"), bundle);
    if (json_in_has(root, "state"))
        json_in_text(in, json_in_object(in, root, "state"), "sentence", bundle->state,
                     sizeof bundle->state);
    if (json_in_has(root, "projection"))
        bundle->projected =
            json_in_int(in, json_in_object(in, root, "projection"), "violations", 0, INT64_MAX) > 0;
}

/* ---- parameters ---- */

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static void read_parameter(struct json_in *in, struct bundle *bundle, json_t *object)
{
    uint32_t offset = (uint32_t)json_in_int(in, object, "offset", 0, BUNDLE_PARAMS - 1);
    uint32_t size = (uint32_t)json_in_int(in, object, "size", 1, BUNDLE_PARAMS);
    const json_t *bytes = json_object_get(object, "hex");
    const char *hex = json_string_value(bytes);
    if (!hex && !json_is_null(bytes))
        json_in_fail(in, "hex", "the parameter's bytes, or null");
    if (in->failed || offset + size > BUNDLE_PARAMS || (hex && strlen(hex) != 2 * (size_t)size)) {
        json_in_fail(in, "parameters", "bytes in hex, two digits each, 32768 bytes at most");
        return;
    }
    for (uint32_t i = 0; hex && i < size; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            json_in_fail(in, "hex", "digits 0 to 9 and a to f");
        bundle->params[offset + i] = (uint8_t)(high * 16 + low);
    }
    if (hex && offset + size > bundle->params_bytes)
        bundle->params_bytes = offset + size;
}

static void read_parameters(struct json_in *in, struct bundle *bundle, json_t *root)
{
    json_t *list = json_in_array(in, root, "parameters");
    bool complete = !json_in_has(root, "parameters_left_out");
    for (size_t i = 0; i < json_array_size(list) && !in->failed; i++) {
        json_t *object = json_array_get(list, i);
        complete = complete && json_is_string(json_object_get(object, "hex"));
        read_parameter(in, bundle, object);
    }
    if (!complete)
        bundle->params_bytes = 0;
    list = json_in_array(in, root, "pointers");
    if (json_array_size(list) > BUNDLE_POINTERS)
        json_in_fail(in, "pointers", "512 at most");
    for (size_t i = 0; i < json_array_size(list) && !in->failed; i++) {
        struct bundle_pointer *pointer = &bundle->pointer[bundle->pointers++];
        json_t *object = json_array_get(list, i);
        pointer->offset = (uint32_t)json_in_int(in, object, "offset", 0, BUNDLE_PARAMS - 8);
        pointer->address = json_in_hex(in, object, "address");
        pointer->base = json_in_hex(in, object, "base");
        pointer->bytes = (uint64_t)json_in_int(in, object, "bytes", 0, BYTES_MOST);
        pointer->workspace = json_in_has(object, "workspace");
        if (pointer->address - pointer->base > pointer->bytes)
            json_in_fail(in, "address", "an address inside [base, base + bytes)");
    }
}

/* ---- arrays ---- */

static enum role read_role(struct json_in *in, json_t *object)
{
    static const char *const names[] = {[ROLE_READ] = "read",
                                        [ROLE_WRITE] = "write",
                                        [ROLE_INOUT] = "inout",
                                        [ROLE_ACC] = "acc",
                                        [ROLE_WS] = "ws"};
    char text[16];
    json_in_text(in, object, "role", text, sizeof(text));
    for (int role = 0; role <= ROLE_WS; role++) {
        if (!strcmp(text, names[role]))
            return (enum role)role;
    }
    json_in_fail(in, "role", "read, write, inout, acc or ws");
    return ROLE_READ;
}

static void read_rows(struct json_in *in, struct bundle_array *array, json_t *object)
{
    array->by_rows = json_in_has(object, "rows_by");
    if (!array->by_rows)
        return;
    json_in_text(in, object, "rows_by", array->rows_by, sizeof(array->rows_by));
    array->listed = json_in_bool(in, object, "rows_listed", false);
    array->page = json_in_int(in, object, "rows_page", 0, BYTES_MOST);
    array->runs = json_in_int(in, object, "rows_runs", 0, BYTES_MOST);
    array->run = json_in_int(in, object, "rows_run", 0, BYTES_MOST);
    array->run_stride = json_in_int(in, object, "rows_run_stride", 0, BYTES_MOST);
    json_in_ints(in, object, "rows_stride", 2, 2, array->row_stride);
    if (!array->listed && (array->page == 0 || array->run == 0))
        json_in_fail(in, "rows_page", "a page and a run of 1 or more");
}

/* Bytes from the first element to the end of the last, by the strides. */
static bool spans(const struct bundle_array *array)
{
    uint64_t last = 0, step, size = dtype_bytes(array->dtype);
    for (int d = 0; d < array->ndim; d++) {
        if (array->dim[d] == 0)
            return false;
        if (__builtin_mul_overflow((uint64_t)array->dim[d] - 1, (uint64_t)array->stride[d],
                                   &step) ||
            __builtin_add_overflow(last, step, &last) || last > BYTES_MOST)
            return false;
    }
    return size && (last + 1) * size <= array->bytes;
}

static void read_array(struct json_in *in, struct bundle *bundle, json_t *object)
{
    struct bundle_array *array = &bundle->array[bundle->arrays++];
    json_in_text(in, object, "name", array->name, sizeof(array->name));
    array->role = read_role(in, object);
    array->dtype = bundle_dtype(in, object, "dtype");
    array->address = json_in_hex(in, object, "address");
    array->bytes = (uint64_t)json_in_int(in, object, "bytes", 0, BYTES_MOST);
    array->ndim = json_in_ints(in, object, "shape", 1, BUNDLE_DIMS, array->dim);
    json_in_ints(in, object, "stride", array->ndim, array->ndim, array->stride);
    array->axis = json_in_has(object, "subset_axis")
                      ? (int)json_in_int(in, object, "subset_axis", 0, array->ndim - 1)
                      : -1;
    read_rows(in, array, object);
    if (array->by_rows && array->dim[0] > ROWS_MOST)
        json_in_fail(in, "shape", "2^24 rows at most where another array names them");
    array->elements = 1;
    for (int d = 0; d < array->ndim && !in->failed; d++) {
        array->seen[d] = array->dim[d];
        for (int b = 0; d == array->axis && b < bundle->blocks; b++)
            array->seen[d] = (b ? array->seen[d] : 0) + bundle->block_to[b] - bundle->block_from[b];
        if (__builtin_mul_overflow(array->elements, array->seen[d], &array->elements) ||
            array->elements > ELEMENTS_MOST / (int64_t)dtype_bytes(array->dtype) ||
            array->seen[d] > array->dim[d])
            json_in_fail(in, "shape", "sizes of an array that fits into memory");
    }
    if (!in->failed && (!spans(array) || array->address > INT64_MAX - BYTES_MOST))
        json_in_fail(in, "stride", "elements that lie within the array's bytes");
    if (!in->failed && array->axis >= 0 && bundle->blocks &&
        bundle->block_to[bundle->blocks - 1] > array->dim[array->axis])
        json_in_fail(in, "blocks", "items of the dimension");
}

static void read_subset(struct json_in *in, struct bundle *bundle, json_t *root)
{
    if (!json_in_has(root, "subset"))
        return;
    json_t *list = json_in_array(in, json_in_object(in, root, "subset"), "blocks");
    int64_t last = 0;
    if (json_array_size(list) > BUNDLE_BLOCKS)
        json_in_fail(in, "blocks", "4096 at most");
    for (size_t i = 0; i < json_array_size(list) && !in->failed; i++) {
        const json_t *pair = json_array_get(list, i);
        int64_t from = json_integer_value(json_array_get(pair, 0));
        int64_t to = json_integer_value(json_array_get(pair, 1));
        if (json_array_size(pair) != 2 || from < last || to <= from || to > BYTES_MOST)
            json_in_fail(in, "blocks", "pairs of ascending items");
        bundle->block_from[i] = from;
        bundle->block_to[i] = last = to;
    }
    bundle->blocks = in->failed ? 0 : (int)json_array_size(list);
}

static void read_module(struct json_in *in, struct bundle *bundle, json_t *root)
{
    json_t *module = json_in_object(in, root, "module");
    char *file = bundle->image_file;
    if (json_in_has(module, "file"))
        json_in_text(in, module, "file", file, sizeof bundle->image_file);
    else
        json_in_text(in, module, "missing", bundle->no_image, sizeof(bundle->no_image));
    json_t *library = json_in_has(module, "library") ? json_in_object(in, module, "library") : NULL;
    if (library && json_in_has(library, "file"))
        json_in_text(in, library, "file", bundle->library, sizeof(bundle->library));
    if (strchr(file, '/') || *file == '.')
        json_in_fail(in, "file", "the name of a file in the bundle");
}

static void read_around(struct json_in *in, struct bundle *bundle, json_t *root)
{
    if (!json_in_has(root, "surroundings"))
        return;
    json_t *object = json_in_object(in, root, "surroundings");
    bundle->around_address = json_in_hex(in, object, "address");
    bundle->around_bytes = (uint64_t)json_in_int(in, object, "bytes", 1, BYTES_MOST);
    if (bundle->around_address > INT64_MAX - BYTES_MOST)
        json_in_fail(in, "address", "an address of 62 bits");
}

static void read_value(struct json_in *in, struct bundle *bundle, json_t *object)
{
    struct bundle_value *value = &bundle->value[bundle->values];
    const char *name = json_string_value(json_object_get(object, "name"));
    if (!name || !*name || strlen(name) >= sizeof(bundle->kernel)) {
        json_in_fail(in, "name", "the name of a variable");
        return;
    }
    value->count = (uint64_t)json_in_int(in, object, "bytes", 1, BYTES_MOST);
    if (json_in_has(object, "at"))
        value->at = (uint64_t)json_in_int(in, object, "at", 0, BYTES_MOST);
    else
        json_in_text(in, object, "missing", value->why, sizeof(value->why));
    bool held = json_in_has(object, "at");
    if (!in->failed &&
        ((held && value->at + value->count > bundle->values_bytes) || (!held && !*value->why)))
        json_in_fail(in, "at", "bytes of the file of variables");
    value->name = in->failed ? NULL : strdup(name);
    bundle->values += value->name != NULL;
}

static void read_values(struct json_in *in, struct bundle *bundle, json_t *root)
{
    bundle->values_known = json_in_has(root, "variables");
    if (!bundle->values_known)
        return;
    json_t *list = json_in_array(in, root, "variables");
    bundle->values_bytes = (uint64_t)json_in_int(in, root, "variables_bytes", 0, BYTES_MOST);
    bundle->values_unread = (uint64_t)json_in_int(in, root, "variables_unread", 0, INT64_MAX);
    if (json_array_size(list) > BUNDLE_VARIABLES)
        json_in_fail(in, "variables", "1024 at most");
    if (!in->failed && json_array_size(list))
        bundle->value = calloc(json_array_size(list), sizeof(*bundle->value));
    for (size_t i = 0; bundle->value && i < json_array_size(list) && !in->failed; i++)
        read_value(in, bundle, json_array_get(list, i));
}

enum status bundle_read_launch(struct bundle *bundle, const char *text, size_t bytes,
                               struct error *err)
{
    struct json_in in = {.file = "launch.json", .err = err};
    json_t *root = json_in_load(&in, text, bytes);
    if (!root)
        return STATUS_INVALID;
    read_head(&in, bundle, root);
    read_parameters(&in, bundle, root);
    read_subset(&in, bundle, root);
    json_t *list = json_in_array(&in, root, "arrays");
    if (json_array_size(list) > BUNDLE_ARRAYS)
        json_in_fail(&in, "arrays", "24 at most");
    for (size_t i = 0; i < json_array_size(list) && !in.failed; i++)
        read_array(&in, bundle, json_array_get(list, i));
    bundle_read_call(&in, bundle, root);
    bundle_read_spots(&in, bundle, root);
    read_module(&in, bundle, root);
    read_around(&in, bundle, root);
    read_values(&in, bundle, root);
    json_decref(root);
    return in.failed ? STATUS_INVALID : STATUS_OK;
}
