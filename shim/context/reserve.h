/*
 * reserve.h - the part of the arena that the program's thread hands out itself, when it enqueues a
 * copy, so that the GPU does not search for room: a ring of ever growing offsets, in which no
 * snapshot wraps around.
 *
 * A program may enqueue far ahead of the GPU. So room is handed out that is not free yet, some
 * rounds ahead, and the copy compares its `needs` with the tail when the GPU gets there
 * (device/snapshot_short.cuh). What was handed out comes back in any order.
 *
 * Where checks end more slowly than copies are made, room handed out ahead is not free in time, and
 * the check is lost. After such a one none is handed out ahead until all that was is free again,
 * and none in the first round, while references are still being loaded: then copies take the
 * arena's other part. How far ahead it hands out is halved by such a check, and grows again by a
 * quarter of a round for each round without one.
 */
#ifndef CONTEXT_RESERVE_H
#define CONTEXT_RESERVE_H

#include <stdbool.h>
#include <stdint.h>

struct reserve;

struct reserve_room {
    uint64_t begin, end; /* what was taken; the snapshot ends there */
    uint64_t needs;      /* the tail that makes it free; 0: it is */
};

enum { RESERVE_ROUNDS = 4 /* that it hands out ahead of the tail */ };

/* `bytes`: a power of two, or 0: nothing will be handed out. `tail` is written, and may be read by
 * the GPU; `most`: snapshots out at once. NULL: no memory. */
struct reserve *reserve_create(uint64_t bytes, uint64_t *tail, uint32_t most);
void reserve_destroy(struct reserve *reserve);

/* False: none, too far ahead, ahead after a copy that missed its room, or it was shut. Any thread,
 * no lock. */
bool reserve_take(struct reserve *reserve, uint64_t bytes, struct reserve_room *room);
/* Whether reserve_take would be true now. */
bool reserve_has(const struct reserve *reserve, uint64_t bytes);
/* Where in the ring a snapshot of `bytes` that ends at `end` begins. */
uint64_t reserve_place(const struct reserve *reserve, uint64_t end, uint64_t bytes);
/* After room that will not be returned: none is handed out any more. Any thread. */
void reserve_shut(struct reserve *reserve);

/* The collector: a snapshot is complete; it had no room when the GPU got there; it is free again.
 */
void reserve_sealed(struct reserve *reserve, uint64_t end);
void reserve_missed(struct reserve *reserve);
void reserve_end(struct reserve *reserve, uint64_t begin, uint64_t end);
/* The collector: whether complete snapshots take a large part of it. */
bool reserve_is_short(const struct reserve *reserve);

#endif
