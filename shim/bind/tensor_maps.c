#include "bind/tensor_maps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "lift/lift_abi.h"

/* Ways of one set, of which the oldest is replaced. */
enum { WAYS = 8, SETS = TENSOR_MAPS / WAYS, UNIT = 16, SWIZZLE_MOST = 3 };

struct known_map {
    uint8_t bytes[TENSOR_MAP_BYTES];
    struct lift_map map; /* rank 0: none */
};

static struct {
    atomic_bool kept;
    pthread_mutex_t lock;
    struct known_map (*set)[WAYS]; /* SETS; NULL: none is known yet */
    uint8_t next[SETS];
} maps = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tensor_maps_keep(void)
{
    atomic_store(&maps.kept, true);
}

bool tensor_maps_kept(void)
{
    return atomic_load_explicit(&maps.kept, memory_order_relaxed);
}

/* CUtensorMapDataType: bytes of a plain one; those that change what is copied have no rule. */
static unsigned element_bytes(unsigned type)
{
    static const uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
    return type < sizeof bytes ? bytes[type] : 0;
}

/* From the address to the end of the last element; 0: more than memory has. */
static uint64_t reach_of(const struct lift_map *map)
{
    uint64_t bytes = (uint64_t)map->size[0] * map->element, more;
    for (uint32_t i = 1; i < map->rank; i++) {
        if (__builtin_mul_overflow((uint64_t)map->size[i] - 1, map->stride[i - 1], &more) ||
            __builtin_add_overflow(bytes, more, &bytes))
            return 0;
    }
    return bytes >> 48 ? 0 : bytes;
}

/* Whether the rows of a box in shared memory lie as lift_bulk.cuh takes them. */
static bool rows_are_plain(const struct lift_map *map)
{
    const uint32_t row = map->box[0] * map->element;
    return row % UNIT == 0 && map->swizzle <= SWIZZLE_MOST &&
           (!map->swizzle || row == (uint32_t)UNIT << map->swizzle);
}

static bool read_encoded(struct lift_map *out, const struct tensor_map_call *call)
{
    *out = (struct lift_map){.address = (uint64_t)(uintptr_t)call->address,
                             .rank = call->rank,
                             .element = element_bytes(call->type),
                             .swizzle = call->swizzle};
    if (!out->element || !call->rank || call->rank > LIFT_MAP_DIMS || call->interleave ||
        call->fill)
        return false;
    for (unsigned i = 0; i < call->rank; i++) {
        if (!call->size[i] || call->size[i] > INT32_MAX || !call->box[i] ||
            (i && call->step[i] != 1))
            return false;
        out->size[i] = (uint32_t)call->size[i];
        out->box[i] = call->box[i];
        if (i)
            out->stride[i - 1] = call->stride[i - 1];
    }
    out->bytes = reach_of(out);
    return out->bytes && rows_are_plain(out);
}

static unsigned set_of(const void *bytes)
{
    return (unsigned)(XXH3_64bits(bytes, TENSOR_MAP_BYTES) % SETS);
}

/* Lock held. */
static struct known_map *search_maps(const void *bytes, unsigned set)
{
    for (unsigned i = 0; maps.set && i < WAYS; i++) {
        struct known_map *known = &maps.set[set][i];
        if (known->map.rank && memcmp(known->bytes, bytes, TENSOR_MAP_BYTES) == 0)
            return known;
    }
    return NULL;
}

void tensor_maps_note(const struct tensor_map_call *call)
{
    struct lift_map map;
    if (!tensor_maps_kept() || !read_encoded(&map, call))
        return;
    const unsigned set = set_of(call->map);
    pthread_mutex_lock(&maps.lock);
    if (!maps.set)
        maps.set = calloc(SETS, sizeof *maps.set);
    struct known_map *known = search_maps(call->map, set);
    if (!known && maps.set)
        known = &maps.set[set][maps.next[set]++ % WAYS];
    if (known) {
        memcpy(known->bytes, call->map, TENSOR_MAP_BYTES);
        known->map = map;
    }
    pthread_mutex_unlock(&maps.lock);
}

bool tensor_maps_find(const void *map, struct lift_map *out)
{
    pthread_mutex_lock(&maps.lock);
    const struct known_map *known = search_maps(map, set_of(map));
    if (known)
        *out = known->map;
    pthread_mutex_unlock(&maps.lock);
    return known != NULL;
}
