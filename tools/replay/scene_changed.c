/* scene_changed.c - which bytes a run changed that it should have left alone. */
#include <stdlib.h>
#include "lang/dtype.h"
#include "tools/replay/scene.h"

/* What a byte belongs to. Lists of addresses hold other ones than the content: they count as
 * written. */
enum { NO_ARRAY, WRITTEN, READ };

static void mark(const struct scene *scene, const struct bundle_array *array, uint64_t offset,
                 uint64_t room, uint8_t *map)
{
    size_t size = dtype_bytes(array->dtype);
    bool any = role_writes(array->role) || array->lists;
    for (int64_t e = 0; e < array->elements; e++) {
        uint64_t at = offset + (uint64_t)bundle_offset(scene->bundle, array, e);
        for (size_t b = 0; b < size && at + b < room; b++)
            map[at + b] = any || map[at + b] == WRITTEN ? WRITTEN : READ;
    }
}

/* One mark a byte of the region, to be freed; NULL: no memory. */
static uint8_t *map_of(const struct scene *scene, int region)
{
    uint8_t *map = calloc(1, scene->region[region].bytes);
    for (int i = 0; map && i < scene->bundle->arrays; i++) {
        uint64_t offset;
        if (scene_region_of(scene, scene->bundle->array[i].address, &offset) == region)
            mark(scene, &scene->bundle->array[i], offset, scene->region[region].bytes, map);
    }
    return map;
}

/* Whether all elements of the launch are in the bundle. */
static bool whole(const struct bundle *bundle)
{
    for (int i = 0; i < bundle->arrays; i++) {
        if (bundle->array[i].by_rows)
            return false;
    }
    return bundle->blocks == 0;
}

struct scene_changed scene_changed(const struct scene *scene, const struct scene_run *run,
                                   int region)
{
    const struct scene_region *of = &scene->region[region];
    struct scene_changed out = {0};
    uint8_t *map = of->unknown ? NULL : map_of(scene, region);
    for (uint64_t b = 0; map && b < of->bytes; b++) {
        bool changed = run->after[region][b] != of->content[b];
        out.inputs += changed && map[b] == READ;
        out.gaps += changed && map[b] == NO_ARRAY;
    }
    free(map);
    if (!whole(scene->bundle))
        out.gaps = 0;
    return out;
}
