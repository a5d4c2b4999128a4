/*
 * reclaim.h - how far the arena's oldest bytes are free again.
 *
 * The GPU hands the arena out as a ring, at the moment when a snapshot is taken
 * (device/snapshot_copy.cuh): each allocation is a range [begin, end) of ever growing offsets, and
 * the ranges follow each other without gaps. They end in any order; the tail moves on when the
 * oldest have ended. Collector only.
 */
#ifndef CONTEXT_RECLAIM_H
#define CONTEXT_RECLAIM_H

#include <stdint.h>

struct reclaim;

/* What a snapshot takes of the arena. */
struct arena_room {
    uint64_t at; /* device address of the snapshot; the collector's, from the seal */
    uint64_t bytes;
    uint64_t unsealed;   /* of those, in side_arena.unsealed */
    uint64_t begin, end; /* from the seal: its range of the ring */
};

/* At most `most` ranges are out at once. NULL without memory. */
struct reclaim *reclaim_create(uint32_t most);
void reclaim_destroy(struct reclaim *reclaim);

/* A range has ended. Returns the tail: all below it is free. */
uint64_t reclaim_end(struct reclaim *reclaim, uint64_t begin, uint64_t end);

#endif
