#include "tools/report/diff/slots.h"

#include <stdlib.h>
#include <string.h>

static enum status grow(struct cache_slots *slots, size_t more, struct error *err)
{
    if (slots->count + more <= slots->capacity)
        return STATUS_OK;
    size_t capacity = slots->capacity * 2 + more + 1024;
    struct cache_slot *slot = realloc(slots->slot, capacity * sizeof *slot);
    if (!slot)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %zu rows of caches", capacity);
    slots->slot = slot;
    slots->capacity = capacity;
    return STATUS_OK;
}

enum status cache_slots_add(struct cache_slots *slots, const struct digest_line *line,
                            struct error *err)
{
    enum status status = grow(slots, line->slots, err);
    for (uint32_t i = 0; !status && i < line->slots; i++) {
        struct cache_slot *slot = &slots->slot[slots->count];
        *slot = (struct cache_slot){.process = line->process,
                                    .cache = line->cache,
                                    .row = line->slot[i].row,
                                    .order = line->sequence,
                                    .hash = line->slot[i].hash,
                                    .launch = line->launch};
        snprintf(slot->kernel, sizeof slot->kernel, "%s", line->label ? line->label : line->kernel);
        slots->count++;
    }
    return status;
}

#define BY(field)                                                                                  \
    if (a->field != b->field)                                                                      \
    return a->field < b->field ? -1 : 1

static int by_place(const struct cache_slot *a, const struct cache_slot *b)
{
    BY(process);
    BY(cache);
    BY(row);
    return 0;
}

static int by_order(const void *left, const void *right)
{
    const struct cache_slot *a = left, *b = right;
    int place = by_place(a, b);
    if (place)
        return place;
    BY(order);
    return 0;
}

void cache_slots_settle(struct cache_slots *slots)
{
    size_t kept = 0;
    if (slots->count)
        qsort(slots->slot, slots->count, sizeof *slots->slot, by_order);
    for (size_t i = 0; i < slots->count; i++) {
        if (i + 1 == slots->count || by_place(&slots->slot[i], &slots->slot[i + 1]))
            slots->slot[kept++] = slots->slot[i];
    }
    slots->count = kept;
}

void cache_slots_release(struct cache_slots *slots)
{
    free(slots->slot);
    *slots = (struct cache_slots){0};
}

void cache_slots_compare(const struct cache_slots *first, const struct cache_slots *second,
                         struct cache_slots_diff *out)
{
    size_t i = 0, k = 0;
    *out = (struct cache_slots_diff){0};
    while (i < first->count || k < second->count) {
        int place = i == first->count    ? 1
                    : k == second->count ? -1
                                         : by_place(&first->slot[i], &second->slot[k]);
        if (place == 0 && first->slot[i].hash != second->slot[k].hash && out->differ++ == 0) {
            out->first = &first->slot[i];
            out->second = &second->slot[k];
        }
        out->both += place == 0;
        out->first_only += place < 0;
        out->second_only += place > 0;
        i += place <= 0;
        k += place >= 0;
    }
}
