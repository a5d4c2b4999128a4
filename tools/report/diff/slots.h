/*
 * slots.h - what the caches of two runs hold in the end, row by row, by the hashes of appends.
 */
#ifndef TOOLS_REPORT_SLOTS_H
#define TOOLS_REPORT_SLOTS_H

#include "tools/report/diff/digests.h"

struct cache_slot {
    uint32_t process;
    uint64_t cache;
    int64_t row;
    uint64_t order; /* among all lines */
    uint64_t hash;
    uint64_t launch; /* that wrote it, of ... */
    char kernel[80];
};

/* Of one run; all zeros at first. */
struct cache_slots {
    struct cache_slot *slot;
    size_t count, capacity;
};

enum status cache_slots_add(struct cache_slots *slots, const struct digest_line *line,
                            struct error *err);
/* Sorts them by process, cache and row; of each the last one written is left. */
void cache_slots_settle(struct cache_slots *slots);
void cache_slots_release(struct cache_slots *slots);

/* The rows of two settled runs. */
struct cache_slots_diff {
    uint64_t both, differ, first_only, second_only;
    const struct cache_slot *first, *second; /* the first that differs; NULL: none */
};
void cache_slots_compare(const struct cache_slots *first, const struct cache_slots *second,
                         struct cache_slots_diff *out);

#endif
