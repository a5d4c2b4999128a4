/* targets_bundle.c - bundles: launch.json, a NUL, and tensors.safetensors; and whole folders. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/fuzz/targets.h"
#include "tools/replay/scene.h"

enum { PLACED_MOST = 1 << 20 /* bytes of arrays that a target places */ };

static uint64_t placed(const struct bundle *bundle)
{
    uint64_t all = 0;
    for (int i = 0; i < bundle->arrays; i++) {
        const struct bundle_array *array = &bundle->array[i];
        uint64_t elements = (uint64_t)array->elements;
        all += array->bytes + elements;
        if (array->by_rows)
            all += elements *
                   (uint64_t)(array->row_stride[0] + array->row_stride[1] + array->run_stride);
        if (all > PLACED_MOST || elements > PLACED_MOST)
            return PLACED_MOST + 1;
    }
    for (int i = 0; i < bundle->pointers && all <= PLACED_MOST; i++)
        all += bundle->pointer[i].bytes;
    return all;
}

static void place(const struct bundle *bundle)
{
    struct scene *scene;
    struct error err = {{0}};
    if (scene_create(&scene, bundle, true, &err))
        return;
    for (int i = 0; i < bundle->arrays; i++)
        free(scene_gather(scene, i, NULL));
    scene_destroy(scene);
}

void target_bundle(const uint8_t *data, size_t size)
{
    struct bundle *bundle;
    struct error err = {{0}};
    const uint8_t *nul = memchr(data, 0, size);
    size_t launch = nul ? (size_t)(nul - data) : size, rest = nul ? size - launch - 1 : 0;
    char *text = malloc(launch + 1);
    uint8_t *tensors = malloc(rest + 1);
    if (!text || !tensors)
        abort();
    memcpy(text, data, launch);
    memcpy(tensors, data + size - rest, rest);
    if (!bundle_parse(&bundle, text, launch, tensors, rest, &err)) {
        if (placed(bundle) <= PLACED_MOST)
            place(bundle);
        bundle_close(bundle);
    } else if (!*err.text) {
        abort();
    }
    free(text);
    free(tensors);
}

/* ---- the files beside them ---- */

static char folder[64];
static const char *const files[] = {"launch.json", "tensors.safetensors", "variables.bin",
                                    "surroundings.bin", "module.ptx"};
enum { FILES = sizeof files / sizeof files[0] };

static void file_path(int file, char path[128])
{
    snprintf(path, 128, "%.63s/%.48s", folder, files[file]);
}

static void remove_folder(void)
{
    char path[128];
    for (int i = 0; i < FILES; i++) {
        file_path(i, path);
        unlink(path);
    }
    rmdir(folder);
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/cuvet-bundle-XXXXXX");
    if (!mkdtemp(folder) || atexit(remove_folder))
        abort();
}

/* Every byte that a variable or the surroundings have. */
static unsigned touch(const struct bundle *bundle)
{
    unsigned sum = 0;
    for (int i = 0; i < bundle->values; i++)
        for (uint64_t b = 0; bundle->value[i].bytes && b < bundle->value[i].count; b++)
            sum += bundle->value[i].bytes[b];
    for (uint64_t b = 0; bundle->around && b < bundle->around_bytes; b++)
        sum += bundle->around[b];
    return sum;
}

/* A folder: its files in the order of `files`, the length of each in four bytes before it. */
void target_bundle_files(const uint8_t *data, size_t size)
{
    struct bundle *bundle;
    struct error err = {{0}};
    size_t at = 0;
    if (!folder[0])
        make_folder();
    for (int i = 0; i < FILES; i++) {
        char path[128];
        uint32_t count = 0;
        if (at + sizeof count < size)
            memcpy(&count, data + at, sizeof count);
        at = at + sizeof count < size ? at + sizeof count : size;
        size_t length = count < size - at ? count : size - at;
        file_path(i, path);
        FILE *out = fopen(path, "wb");
        if (!out || fwrite(data + at, 1, length, out) != length || fclose(out))
            abort();
        at += length;
    }
    if (!bundle_open(&bundle, folder, &err)) {
        static volatile unsigned sum;
        sum += touch(bundle);
        bundle_close(bundle);
    } else if (!*err.text) {
        abort();
    }
}

/* ---- inputs ---- */

static void put(FILE *out, const void *bytes, size_t count)
{
    if (!out || (count && fwrite(bytes, 1, count, out) != count))
        abort();
}

/* A file of a golden bundle; NULL: it has none. */
static uint8_t *golden(const char *from, const char *name, size_t *count)
{
    struct error err = {{0}};
    uint8_t *bytes = NULL;
    *count = 0;
    enum status status = bundle_read_file(from, name, 1 << 20, &bytes, count, &err);
    if (status && status != STATUS_NOT_FOUND)
        abort();
    return bytes;
}

void seed_bundle(const char *to)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/bundle", to);
    FILE *out = fopen(path, "wb");
    for (int i = 0; i < 2; i++) {
        size_t count;
        uint8_t *bytes = golden("tests/golden/bundle-2", files[i], &count);
        put(out, bytes, count);
        put(out, "", i == 0);
        free(bytes);
    }
    if (fclose(out))
        abort();
}

/* The golden bundle with variables, and surroundings besides. */
void seed_bundle_files(const char *to)
{
    static const char member[] = "{\"surroundings\": {\"address\": \"0x7000\",\"bytes\": 64},";
    static const uint8_t around[64] = {1};
    char path[4096];
    snprintf(path, sizeof(path), "%s/variables", to);
    FILE *out = fopen(path, "wb");
    for (int i = 0; i < FILES; i++) {
        size_t count;
        uint8_t *bytes = golden("tests/golden/bundle-2-variables", files[i], &count);
        const bool launch = i == 0, beside = !strcmp(files[i], "surroundings.bin");
        const uint32_t more = launch ? sizeof(member) - 2 : beside ? sizeof(around) : 0;
        const uint32_t length = (uint32_t)count + more;
        put(out, &length, sizeof length);
        put(out, launch ? (const void *)member : around, launch ? more + 1 : more);
        put(out, bytes ? bytes + launch : NULL, count - launch);
        free(bytes);
    }
    if (fclose(out))
        abort();
}
