#include "context/reclaim.h"

#include <stdlib.h>

struct range {
    uint64_t begin, end;
};

struct reclaim {
    uint64_t tail;
    uint32_t count, most;
    struct range
        ended[]; /* above the tail, none beside another: something below each is still out */
};

struct reclaim *reclaim_create(uint32_t most)
{
    struct reclaim *reclaim = calloc(1, sizeof(*reclaim) + most * sizeof(reclaim->ended[0]));
    if (reclaim)
        reclaim->most = most;
    return reclaim;
}

void reclaim_destroy(struct reclaim *reclaim)
{
    free(reclaim);
}

/* Neighbours become one range. So between two ranges lies at least one that is still out, and there
 * are no more of them than slots, however many end while one is out. */
uint64_t reclaim_end(struct reclaim *reclaim, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return reclaim->tail;
    for (uint32_t i = 0; i < reclaim->count;) {
        const struct range other = reclaim->ended[i];
        if (other.end != begin && other.begin != end) {
            i++;
            continue;
        }
        begin = other.begin < begin ? other.begin : begin;
        end = other.end > end ? other.end : end;
        reclaim->ended[i] = reclaim->ended[--reclaim->count];
    }
    if (begin == reclaim->tail)
        reclaim->tail = end;
    else if (reclaim->count < reclaim->most)
        reclaim->ended[reclaim->count++] = (struct range){begin, end};
    return reclaim->tail;
}
