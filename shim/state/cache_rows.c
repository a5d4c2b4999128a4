#include "state/cache_rows.h"

#include <stdlib.h>

enum { CACHES = 256 };

struct cache_rows {
    uint32_t caches;
    uint64_t cache[CACHES]; /* addresses */
    struct state_slots out;
};

struct cache_rows *cache_rows_create(void)
{
    return calloc(1, sizeof(struct cache_rows));
}

void cache_rows_destroy(struct cache_rows *slots)
{
    free(slots);
}

static uint64_t mix_bytes(uint64_t hash, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ bytes[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

/* False: there are more caches than numbers. */
static bool cache_number(struct cache_rows *slots, uint64_t cache, uint32_t *out)
{
    for (*out = 0; *out < slots->caches; (*out)++) {
        if (slots->cache[*out] == cache)
            return true;
    }
    if (slots->caches == CACHES)
        return false;
    slots->cache[slots->caches++] = cache;
    return true;
}

const struct state_slots *cache_rows_hash(struct cache_rows *slots, const struct state_case *of)
{
    const struct state_view *view = of->view;
    struct state_slots *out = &slots->out;
    if (!view->append.bytes || !view->rows[0].bytes ||
        !cache_number(slots, of->check->moment_of_state.cache, &out->cache))
        return NULL;
    out->count = 0;
    for (int64_t i = 0; i < view->append.count && out->count < STATE_SLOTS; i++) {
        int64_t row = state_id(&view->append, i);
        if (row < 0 || (of->null >= 0 && row / (of->page > 0 ? of->page : 1) == of->null))
            continue;
        uint64_t hash = 1;
        for (int c = 0; c < PLAN_CACHES; c++) {
            const struct state_rows *rows = &view->rows[c];
            if (rows->bytes && i < rows->count)
                hash = mix_bytes(hash, rows->bytes + (size_t)i * rows->each, rows->each);
        }
        out->slot[out->count].row = row;
        out->slot[out->count++].hash = hash;
    }
    return out;
}
