#include "bind/ranges.h"

#include <stddef.h>
#include "bind/extent.h"

/* The one at `index`, if there is one and it is memory of the device. */
static bool find_range(struct ranges *ranges, int index, int device, struct snapshot_range *out)
{
    out->begin = atomic_load_explicit(&ranges->begin[index], memory_order_relaxed);
    out->end = atomic_load_explicit(&ranges->end[index], memory_order_relaxed);
    return out->begin < out->end && !extent_check(out->begin, out->end - out->begin, device, NULL);
}

static void set(struct ranges *ranges, int index, uint64_t begin, uint64_t end)
{
    atomic_store_explicit(&ranges->begin[index], begin, memory_order_relaxed);
    atomic_store_explicit(&ranges->end[index], end, memory_order_relaxed);
}

uint32_t ranges_take(struct ranges *ranges, int device, struct snapshot_range *out)
{
    uint32_t count = 0;
    for (int i = 0; i < SNAPSHOT_RANGES; i++)
        count += find_range(ranges, i, device, &out[count]);
    return count;
}

void ranges_purge(struct ranges *ranges, int device)
{
    struct snapshot_range range;
    for (int i = 0; i < SNAPSHOT_RANGES; i++) {
        if (!find_range(ranges, i, device, &range))
            set(ranges, i, 0, 0);
    }
}

bool ranges_hold(struct ranges *ranges, uint64_t address, uint64_t bytes)
{
    for (int i = 0; i < SNAPSHOT_RANGES; i++) {
        uint64_t end = atomic_load_explicit(&ranges->end[i], memory_order_relaxed);
        if (address >= atomic_load_explicit(&ranges->begin[i], memory_order_relaxed) &&
            address < end && end - address >= bytes)
            return true;
    }
    return false;
}

uint64_t ranges_least(struct ranges *ranges, uint64_t address)
{
    uint64_t least = 0;
    for (int i = 0; i < SNAPSHOT_RANGES; i++) {
        const uint64_t begin = atomic_load_explicit(&ranges->begin[i], memory_order_relaxed);
        const uint64_t end = atomic_load_explicit(&ranges->end[i], memory_order_relaxed);
        if (address >= begin && address < end && (!least || end - address < least))
            least = end - address;
    }
    return least;
}

/* Where a new one goes: into one that it makes superfluous, else into a free place; -1: there is
 * none. */
static int find_place(struct ranges *ranges, uint64_t begin, uint64_t end)
{
    int free_place = -1;
    for (int i = 0; i < SNAPSHOT_RANGES; i++) {
        uint64_t there = atomic_load_explicit(&ranges->end[i], memory_order_relaxed);
        if (there && there <= end &&
            atomic_load_explicit(&ranges->begin[i], memory_order_relaxed) >= begin)
            return i;
        if (!there && free_place < 0)
            free_place = i;
    }
    return free_place;
}

enum ranges_answer ranges_add(struct ranges *ranges, uint64_t address, uint64_t bytes, int device,
                              struct error *err)
{
    uint64_t begin, end;
    if (ranges_hold(ranges, address, bytes))
        return RANGES_HELD;
    if (extent_around(address, bytes, device, &begin, &end, err))
        return RANGES_REFUSED;
    int place = find_place(ranges, begin, end);
    enum ranges_answer answer = place >= 0 ? RANGES_ADDED : RANGES_REPLACED;
    if (place < 0) {
        place = (int)ranges->oldest;
        ranges->oldest = (ranges->oldest + 1) % SNAPSHOT_RANGES;
    }
    set(ranges, place, begin, end);
    return answer;
}
