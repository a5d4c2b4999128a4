#include "verify/reclaim.h"

#include <stdlib.h>

struct range {
    uint64_t begin, end;
};

struct reclaim {
    uint64_t tail;
    uint32_t count, most;
    struct range ended[]; /* above the tail: something below them is still out */
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

/* Takes the range that begins at the tail out of the list, if it has ended. */
static int advance(struct reclaim *reclaim)
{
    for (uint32_t i = 0; i < reclaim->count; i++) {
        if (reclaim->ended[i].begin != reclaim->tail)
            continue;
        reclaim->tail = reclaim->ended[i].end;
        reclaim->ended[i] = reclaim->ended[--reclaim->count];
        return 1;
    }
    return 0;
}

uint64_t reclaim_end(struct reclaim *reclaim, uint64_t begin, uint64_t end)
{
    if (reclaim->count < reclaim->most && begin < end)
        reclaim->ended[reclaim->count++] = (struct range){begin, end};
    while (advance(reclaim))
        ;
    return reclaim->tail;
}
