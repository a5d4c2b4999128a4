#include "tools/bundle/bundle_lists.h"
#include "tools/bundle/bundle_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bundle/bundle.h"
#include "lang/dtype.h"
#include "text/printable.h"
#include "tools/bundle/bundle_parts.h"

#define FILE_MOST ((size_t)1 << 40)

static enum status cannot(struct error *err, const char *path, enum status status)
{
    return error_set(err, status, "cannot read %s: %s", PRINTABLE(path), strerror(errno));
}

/* The whole of an open file, and a NUL behind it. */
static enum status read_all(int file, const char *path, size_t most, uint8_t **bytes, size_t *count,
                            struct error *err)
{
    struct stat about;
    if (fstat(file, &about) || !S_ISREG(about.st_mode))
        return error_set(err, STATUS_INVALID, "%s is no file", PRINTABLE(path));
    if ((uint64_t)about.st_size > most)
        return error_set(err, STATUS_INVALID, "%s has %lld bytes, more than the %zu that are read",
                         PRINTABLE(path), (long long)about.st_size, most);
    *bytes = malloc((size_t)about.st_size + 1);
    if (!*bytes)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %s", PRINTABLE(path));
    *count = 0;
    while (*count < (size_t)about.st_size) {
        ssize_t got = read(file, *bytes + *count, (size_t)about.st_size - *count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        *count += (size_t)got;
    }
    (*bytes)[*count] = '\0';
    return STATUS_OK;
}

enum status bundle_read_file(const char *folder, const char *name, size_t most, uint8_t **bytes,
                             size_t *count, struct error *err)
{
    char path[4200];
    *bytes = NULL;
    snprintf(path, sizeof(path), "%s%s%s", folder ? folder : "", folder ? "/" : "", name);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return cannot(err, path, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_INVALID);
    enum status status = read_all(file, path, most, bytes, count, err);
    close(file);
    return status;
}

static enum status bundle_fill(struct bundle *bundle, const char *launch, size_t launch_bytes,
                               struct error *err)
{
    enum status status = bundle_read_launch(bundle, launch, launch_bytes, err);
    if (!status)
        status = bundle_read_tensors(bundle, err);
    if (!status)
        bundle_place_lists(bundle);
    return status;
}

enum status bundle_parse(struct bundle **out, const char *launch, size_t launch_bytes,
                         const void *tensors, size_t tensors_bytes, struct error *err)
{
    struct bundle *bundle = calloc(1, sizeof(*bundle));
    *out = NULL;
    if (bundle)
        bundle->tensors_file = malloc(tensors_bytes + 1);
    if (!bundle || !bundle->tensors_file) {
        bundle_close(bundle);
        return error_set(err, STATUS_NO_MEMORY, "no memory for a bundle");
    }
    memcpy(bundle->tensors_file, tensors, tensors_bytes);
    bundle->tensors_bytes = tensors_bytes;
    enum status status = bundle_fill(bundle, launch, launch_bytes, err);
    if (status)
        bundle_close(bundle);
    else
        *out = bundle;
    return status;
}

/* A file of `expected` bytes; 0: there is none. */
static enum status bundle_load_part(const struct bundle *bundle, const char *name,
                                    uint64_t expected, uint8_t **bytes, struct error *err)
{
    size_t count;
    if (!expected)
        return STATUS_OK;
    enum status status = bundle_read_file(bundle->folder, name, FILE_MOST, bytes, &count, err);
    if (!status && count != expected)
        status = error_set(err, STATUS_INVALID, "%s has %zu bytes, expected %llu", name, count,
                           (unsigned long long)expected);
    return status;
}

static enum status bundle_load_values(struct bundle *bundle, struct error *err)
{
    enum status status =
        bundle_load_part(bundle, BUNDLE_VALUES, bundle->values_bytes, &bundle->values_file, err);
    for (int i = 0; !status && i < bundle->values; i++) {
        struct bundle_value *value = &bundle->value[i];
        if (!*value->why)
            value->bytes = bundle->values_file + value->at;
    }
    return status;
}

static enum status bundle_load(struct bundle *bundle, struct error *err)
{
    uint8_t *launch;
    size_t bytes;
    enum status status =
        bundle_read_file(bundle->folder, "launch.json", BUNDLE_TEXT_MOST, &launch, &bytes, err);
    if (!status)
        status = bundle_read_file(bundle->folder, "tensors.safetensors", FILE_MOST,
                                  &bundle->tensors_file, &bundle->tensors_bytes, err);
    if (!status)
        status = bundle_fill(bundle, (const char *)launch, bytes, err);
    free(launch);
    if (!status && *bundle->image_file)
        status = bundle_read_file(bundle->folder, bundle->image_file, FILE_MOST, &bundle->image,
                                  &bundle->image_bytes, err);
    if (!status)
        status =
            bundle_load_part(bundle, BUNDLE_AROUND, bundle->around_bytes, &bundle->around, err);
    return status ? status : bundle_load_values(bundle, err);
}

enum status bundle_open(struct bundle **out, const char *folder, struct error *err)
{
    struct bundle *bundle = calloc(1, sizeof(*bundle));
    *out = NULL;
    if (!bundle)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a bundle");
    if (strlen(folder) >= sizeof(bundle->folder)) {
        bundle_close(bundle);
        return error_set(err, STATUS_INVALID, "the bundle's name is too long");
    }
    strcpy(bundle->folder, folder);
    enum status status = bundle_load(bundle, err);
    if (status) {
        bundle_close(bundle);
        error_prefix(err, "%s", PRINTABLE(folder));
        return status;
    }
    *out = bundle;
    return STATUS_OK;
}

void bundle_close(struct bundle *bundle)
{
    if (!bundle)
        return;
    free(bundle->image);
    free(bundle->around);
    for (int i = 0; i < bundle->values; i++)
        free(bundle->value[i].name);
    free(bundle->value);
    free(bundle->values_file);
    free(bundle->tensors_file);
    free(bundle);
}

bool bundle_whole(const struct bundle_array *array, enum bundle_side side)
{
    return array->part[side][0].bytes && array->part[side][0].count == array->elements;
}

/* The launch's item that is stored as number `index`. */
static int64_t bundle_item(const struct bundle *bundle, int64_t index)
{
    for (int b = 0; b < bundle->blocks; b++) {
        int64_t count = bundle->block_to[b] - bundle->block_from[b];
        if (index < count)
            return bundle->block_from[b] + index;
        index -= count;
    }
    return index;
}

/* Element `within` of row `row` of an array whose rows another names. */
static int64_t bundle_row(const struct bundle_array *array, int64_t row, int64_t within)
{
    return row / array->page * array->row_stride[0] + row % array->page * array->row_stride[1] +
           within / array->run * array->run_stride + within % array->run;
}

int64_t bundle_offset(const struct bundle *bundle, const struct bundle_array *array, int64_t linear)
{
    int64_t offset = 0, size = (int64_t)dtype_bytes(array->dtype);
    if (array->by_rows) {
        int64_t row = array->elements / (array->seen[0] ? array->seen[0] : 1);
        return bundle_row(array, linear / row, linear % row) * size;
    }
    for (int d = array->ndim - 1; d >= 0; d--) {
        int64_t index = linear % array->seen[d];
        linear /= array->seen[d];
        offset += (d == array->axis ? bundle_item(bundle, index) : index) * array->stride[d];
    }
    return offset * size;
}
