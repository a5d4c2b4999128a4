#include "tools/discover/facts/record.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "system/files.h"

static bool get_uint(json_t *object, const char *key, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_is_integer(value) ? (uint64_t)json_integer_value(value) : 0;
    return json_is_integer(value);
}

static uint32_t get_word(json_t *object, const char *key)
{
    uint64_t value;
    get_uint(object, key, &value);
    return (uint32_t)value;
}

static struct seen_kernel *kernel_named(struct record *record, const char *symbol)
{
    for (size_t i = 0; i < record->kernels; i++) {
        if (!strcmp(record->kernel[i].names.mangled, symbol))
            return &record->kernel[i];
    }
    if (record->kernels == record->room) {
        size_t room = 2 * record->room + 64;
        struct seen_kernel *more = realloc(record->kernel, room * sizeof *more);
        if (!more)
            return NULL;
        record->kernel = more;
        record->room = room;
    }
    struct seen_kernel *kernel = &record->kernel[record->kernels];
    *kernel = (struct seen_kernel){0};
    if (!symbol_describe(&kernel->names, &record->arena, symbol))
        return NULL;
    record->kernels++;
    return kernel;
}

/* ---- samples ---- */

static void read_shape(json_t *line, const char *key, uint32_t out[3])
{
    json_t *list = json_object_get(line, key);
    for (size_t i = 0; i < 3; i++)
        out[i] = (uint32_t)json_integer_value(json_array_get(list, i));
}

static void read_params(struct record *record, struct seen_sample *sample, const char *hex)
{
    size_t count = hex ? strlen(hex) / 2 : 0;
    uint8_t *bytes = arena_alloc(&record->arena, count + 1);
    for (size_t i = 0; bytes && i < count; i++) {
        unsigned byte = 0;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
            return;
        bytes[i] = (uint8_t)byte;
    }
    sample->params = bytes;
    sample->params_bytes = bytes ? count : 0;
}

static void read_layout(json_t *line, struct seen_sample *sample)
{
    json_t *list = json_object_get(line, "layout");
    for (size_t i = 0; i < json_array_size(list) && i < LAYOUT_MAX; i++) {
        json_t *pair = json_array_get(list, i);
        uint32_t offset = (uint32_t)json_integer_value(json_array_get(pair, 0));
        uint32_t size = (uint32_t)json_integer_value(json_array_get(pair, 1));
        if (offset > sample->params_bytes || size > sample->params_bytes - offset)
            return;
        sample->layout.param[i].offset = offset;
        sample->layout.param[i].size = size;
        sample->layout.count = (unsigned)i + 1;
    }
}

static void read_pointers(json_t *line, struct seen_sample *sample)
{
    json_t *list = json_object_get(line, "pointers");
    for (size_t i = 0; i < json_array_size(list) && i < SEEN_POINTERS; i++) {
        json_t *one = json_array_get(list, i);
        struct seen_pointer *pointer = &sample->pointer[sample->pointers];
        pointer->at = get_word(one, "at");
        bool whole = get_uint(one, "address", &pointer->address);
        whole &= get_uint(one, "base", &pointer->base);
        whole &= get_uint(one, "bytes", &pointer->bytes);
        if (whole && pointer->address - pointer->base < pointer->bytes)
            sample->pointers++;
    }
}

/* `bytes` of the mapped file, or NULL. */
static const uint8_t *place(const struct record_map *map, uint64_t at, uint64_t bytes)
{
    return at <= map->count && bytes <= map->count - at ? (const uint8_t *)map->bytes + at : NULL;
}

static void read_regions(json_t *line, struct seen_sample *sample, const struct record_map *map)
{
    json_t *list = json_object_get(line, "regions");
    for (size_t i = 0; i < json_array_size(list) && i < SEEN_POINTERS; i++) {
        json_t *one = json_array_get(list, i);
        struct seen_region *region = &sample->region[sample->regions];
        uint64_t at;
        get_uint(one, "address", &region->address);
        get_uint(one, "bytes", &region->bytes);
        region->before = get_uint(one, "before", &at) ? place(map, at, region->bytes) : NULL;
        region->after =
            get_uint(one, "after", &at) ? place(map, at, region->bytes) : region->before;
        if (region->before && region->after)
            sample->regions++;
    }
}

static void read_sample(struct record *record, json_t *line, const struct record_map *map)
{
    struct seen_kernel *kernel =
        kernel_named(record, json_string_value(json_object_get(line, "kernel")));
    if (!kernel || kernel->samples == SEEN_SAMPLES)
        return;
    struct seen_sample *sample = arena_alloc(&record->arena, sizeof *sample);
    if (!sample)
        return;
    *sample =
        (struct seen_sample){.shared = get_word(line, "shared"),
                             .captured = json_is_true(json_object_get(line, "captured")),
                             .cooperative = json_is_true(json_object_get(line, "cooperative"))};
    get_uint(line, "launch", &sample->launch);
    read_shape(line, "grid", sample->grid);
    read_shape(line, "block", sample->block);
    read_shape(line, "cluster", sample->cluster);
    read_params(record, sample, json_string_value(json_object_get(line, "params")));
    read_layout(line, sample);
    read_pointers(line, sample);
    read_regions(line, sample, map);
    kernel->sample[kernel->samples++] = sample;
}

/* ---- files ---- */

static void read_totals(struct record *record, json_t *line)
{
    uint64_t launches, timed, ns, replayed, replayed_ns;
    struct seen_kernel *kernel =
        kernel_named(record, json_string_value(json_object_get(line, "kernel")));
    if (!kernel)
        return;
    get_uint(line, "launches", &launches);
    get_uint(line, "timed", &timed);
    get_uint(line, "ns", &ns);
    get_uint(line, "replayed", &replayed);
    get_uint(line, "replayed_ns", &replayed_ns);
    kernel->launches += launches + replayed;
    kernel->replayed += replayed;
    kernel->timed += timed;
    kernel->ns += timed ? (double)ns / (double)timed * (double)launches : 0;
    kernel->ns += (double)replayed_ns;
}

static void read_line(struct record *record, json_t *line, const struct record_map *map)
{
    const char *event = json_string_value(json_object_get(line, "event"));
    uint64_t at, bytes, version;
    if (!event || !get_uint(line, "v", &version) || version != 1)
        return;
    bool names = json_is_string(json_object_get(line, "kernel"));
    if (!strcmp(event, "begin"))
        record->processes++;
    else if (!strcmp(event, "sample") && names)
        read_sample(record, line, map);
    else if (!strcmp(event, "kernel") && names)
        read_totals(record, line);
    else if (!strcmp(event, "end") && get_uint(line, "lost", &at))
        record->lost += at;
    else if (!strcmp(event, "image") && names && get_uint(line, "at", &at) &&
             get_uint(line, "bytes", &bytes)) {
        struct seen_kernel *kernel =
            kernel_named(record, json_string_value(json_object_get(line, "kernel")));
        if (kernel && !kernel->image && (kernel->image = place(map, at, bytes)))
            kernel->image_bytes = (size_t)bytes;
    }
}

/* NULL: no memory. */
static const struct record_map *map_file(struct record *record, const char *path)
{
    struct record_map *grown = realloc(record->map, (record->maps + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    record->map = grown;
    struct record_map *map = &record->map[record->maps];
    struct stat info;
    struct error err = {{0}};
    int fd = -1;
    *map = (struct record_map){0};
    if (!files_open_read(path, &fd, &err) && fstat(fd, &info) == 0 && info.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED)
            *map = (struct record_map){bytes, (size_t)info.st_size};
    }
    if (fd >= 0)
        close(fd);
    record->maps++;
    return map;
}

static enum status read_file(struct record *record, const char *path, struct error *err)
{
    char bytes[4200], *text = NULL;
    size_t room = 0;
    int fd = -1;
    if (files_open_read(path, &fd, err)) {
        error_prefix(err, "%s", path);
        return STATUS_INVALID;
    }
    FILE *file = fdopen(fd, "r");
    if (!file) {
        close(fd);
        return error_set(err, STATUS_NO_MEMORY, "no memory to read %s", path);
    }
    snprintf(bytes, sizeof bytes, "%s.bytes", path);
    const struct record_map *map = map_file(record, bytes);
    while (map && getline(&text, &room, file) > 0) {
        json_t *line = json_loads(text, 0, NULL);
        if (line)
            read_line(record, line, map);
        json_decref(line);
    }
    free(text);
    fclose(file);
    return map ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "no memory to read %s", path);
}

static int longest_first(const void *a, const void *b)
{
    const struct seen_kernel *one = a, *other = b;
    if (one->ns != other->ns)
        return one->ns < other->ns ? 1 : -1;
    return (one->launches < other->launches) - (one->launches > other->launches);
}

static bool is_record(const char *name)
{
    size_t length = strlen(name);
    return strncmp(name, "discover-", 9) == 0 && length > 6 &&
           strcmp(name + length - 6, ".jsonl") == 0;
}

enum status record_read(struct record *record, const char *folder, struct error *err)
{
    enum status status = STATUS_OK;
    struct dirent *entry;
    char path[4096];
    *record = (struct record){0};
    DIR *list = opendir(folder);
    if (!list)
        return error_set(err, STATUS_NOT_FOUND, "the folder %s cannot be read", folder);
    while (!status && (entry = readdir(list))) {
        if (!is_record(entry->d_name))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        status = read_file(record, path, err);
    }
    closedir(list);
    if (!status && !record->processes)
        status = error_set(err, STATUS_NOT_FOUND,
                           record->maps ? "%s: no line in discover-*.jsonl begins a record"
                                        : "%s holds no record discover-*.jsonl",
                           folder);
    for (size_t i = 0; i < record->kernels; i++) {
        record->ns += record->kernel[i].ns;
        record->launches += record->kernel[i].launches;
    }
    if (record->kernels)
        qsort(record->kernel, record->kernels, sizeof *record->kernel, longest_first);
    return status;
}

void record_release(struct record *record)
{
    for (size_t i = 0; i < record->maps; i++) {
        if (record->map[i].bytes)
            munmap(record->map[i].bytes, record->map[i].count);
    }
    free(record->map);
    free(record->kernel);
    arena_release(&record->arena);
    *record = (struct record){0};
}

const struct seen_region *seen_memory(const struct seen_sample *sample, uint64_t address)
{
    for (size_t i = 0; i < sample->regions; i++) {
        const struct seen_region *region = &sample->region[i];
        if (address - region->address < region->bytes)
            return region;
    }
    return NULL;
}

const struct seen_pointer *seen_pointer_at(const struct seen_sample *sample, uint32_t at)
{
    for (size_t i = 0; i < sample->pointers; i++) {
        if (sample->pointer[i].at == at)
            return &sample->pointer[i];
    }
    return NULL;
}
