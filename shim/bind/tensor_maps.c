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

enum { WORDS = TENSOR_MAP_BYTES / 8, MAP_WORDS = sizeof(struct lift_map) / 8 };

/* Read without a lock: `change` is odd while the rest is written, and another one afterwards. */
struct known_map {
    atomic_uint change; /* 0: none is known here */
    _Atomic(uint64_t) bytes[WORDS], map[MAP_WORDS];
};

static struct {
    atomic_bool kept;
    pthread_mutex_t lock;                    /* of those who write */
    _Atomic(struct known_map (*)[WAYS]) set; /* SETS; NULL: none is known yet */
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

static void copy_in(_Atomic(uint64_t) *to, const void *from, unsigned words)
{
    for (unsigned i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, (const uint8_t *)from + 8 * i, 8);
        atomic_store_explicit(&to[i], word, memory_order_relaxed);
    }
}

static void copy_out(void *to, const _Atomic(uint64_t) *from, unsigned words)
{
    for (unsigned i = 0; i < words; i++) {
        const uint64_t word = atomic_load_explicit(&from[i], memory_order_relaxed);
        memcpy((uint8_t *)to + 8 * i, &word, 8);
    }
}

/* Whether it has those bytes; *out is what they describe. */
static bool read_known(const struct known_map *known, const void *bytes, struct lift_map *out)
{
    uint64_t own[WORDS];
    const unsigned before = atomic_load_explicit(&known->change, memory_order_acquire);
    copy_out(own, known->bytes, WORDS);
    copy_out(out, known->map, MAP_WORDS);
    atomic_thread_fence(memory_order_acquire);
    return before && before % 2 == 0 &&
           atomic_load_explicit(&known->change, memory_order_relaxed) == before &&
           memcmp(own, bytes, TENSOR_MAP_BYTES) == 0;
}

/* Lock held. */
static void write_known(struct known_map *known, const void *bytes, const struct lift_map *map)
{
    const unsigned before = atomic_load_explicit(&known->change, memory_order_relaxed);
    atomic_store_explicit(&known->change, before + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    copy_in(known->bytes, bytes, WORDS);
    copy_in(known->map, map, MAP_WORDS);
    atomic_store_explicit(&known->change, before + 2, memory_order_release);
}

static struct known_map *search_maps(const void *bytes, struct lift_map *out)
{
    struct known_map(*set)[WAYS] = atomic_load_explicit(&maps.set, memory_order_acquire);
    const unsigned number = set_of(bytes);
    for (unsigned i = 0; set && i < WAYS; i++) {
        if (read_known(&set[number][i], bytes, out))
            return &set[number][i];
    }
    return NULL;
}

/* Lock held. NULL: no memory. */
static struct known_map *place_for(const void *bytes)
{
    struct known_map(*set)[WAYS] = atomic_load(&maps.set);
    const unsigned number = set_of(bytes);
    if (!set) {
        set = calloc(SETS, sizeof *set);
        atomic_store_explicit(&maps.set, set, memory_order_release);
    }
    return set ? &set[number][maps.next[number]++ % WAYS] : NULL;
}

void tensor_maps_note(const struct tensor_map_call *call)
{
    struct lift_map map, there;
    if (!tensor_maps_kept() || !read_encoded(&map, call))
        return;
    pthread_mutex_lock(&maps.lock);
    struct known_map *known = search_maps(call->map, &there);
    const bool same = known && memcmp(&there, &map, sizeof map) == 0;
    if (!known)
        known = place_for(call->map);
    if (known && !same)
        write_known(known, call->map, &map);
    pthread_mutex_unlock(&maps.lock);
}

bool tensor_maps_find(const void *map, struct lift_map *out)
{
    return search_maps(map, out) != NULL;
}
