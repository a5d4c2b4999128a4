/* targets_bundle.c - bundles: launch.json, a NUL, and tensors.safetensors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

void seed_bundle(const char *folder)
{
    static const char *const files[] = {"launch.json", "tensors.safetensors"};
    char path[4096];
    snprintf(path, sizeof(path), "%s/bundle", folder);
    FILE *out = fopen(path, "wb");
    for (int i = 0; i < 2; i++) {
        struct error err = {{0}};
        uint8_t *bytes;
        size_t count;
        if (!out ||
            bundle_read_file("tests/golden/bundle-2", files[i], 1 << 20, &bytes, &count, &err))
            abort();
        if (fwrite(bytes, 1, count, out) != count || (i == 0 && fputc(0, out) == EOF))
            abort();
        free(bytes);
    }
    if (fclose(out))
        abort();
}
