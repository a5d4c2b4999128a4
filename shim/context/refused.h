/*
 * refused.h - turns for launch signatures whose snapshots found no room in the arena.
 *
 * Small snapshots keep the ring occupied, so that a large one, which needs most of it at once,
 * would be refused at each of its launches. So those that were refused wait in line. While a
 * signature has its turn, its room is kept: a smaller snapshot is enqueued only where the large one
 * would still find room after it. The turn ends when such a launch is enqueued, or after a time;
 * then as much time passes before the next one, so that small snapshots have half of it at least.
 *
 * Room is handed out on the GPU. The host estimates what is free when a copy gets there: each
 * snapshot that was enqueued takes room until it is known to have ended. A wrong estimate costs a
 * check, and its signature is in line again.
 */
#ifndef CONTEXT_REFUSED_H
#define CONTEXT_REFUSED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { REFUSED_MOST = 16 };
#define REFUSED_HOLD_NS                                                                            \
    200000000ll /* length of a signature's first turn; each turn that ends                         \
                 * unused doubles it */
/* it leaves the line after an unused turn of that length */
#define REFUSED_MOST_HOLD_NS 3200000000ll

/* The ring, by the host's estimate; see take_room in device/snapshot_copy.cuh. */
struct refused_ring {
    uint64_t bytes, lap;
    uint64_t head, tail; /* head: when all that was enqueued has taken its room */
};

/* All zero at first. */
struct refused {
    _Atomic(uint64_t) turn;  /* the signature that has it; 0: none */
    _Atomic(uint64_t) bytes; /* that are kept for it */
    _Atomic(int64_t) until;  /* clock_ns() */
    /* The collector's: */
    struct refused_one {
        uint64_t signature, bytes;
        int64_t hold;
    } line[REFUSED_MOST]; /* the longest waiting one first */
    int waiting;
    uint64_t owner; /* of the turn under way, ... */
    int64_t since;  /* ... which began then; 0: none is */
    int64_t next;   /* none begins before this */
};

/* Whether a snapshot of `bytes` may be enqueued now; ends the turn of its signature if so. Any
 * thread, no lock. Only to be called where refused_any. */
bool refused_admits(struct refused *refused, const struct refused_ring *ring, uint64_t signature,
                    uint64_t bytes, int64_t now);
static inline bool refused_any(const struct refused *refused)
{
    return atomic_load_explicit(&((struct refused *)refused)->turn, memory_order_relaxed) != 0;
}

/* The collector: a snapshot found no room on the GPU; one was made; time has passed. */
void refused_add(struct refused *refused, uint64_t signature, uint64_t bytes);
void refused_served(struct refused *refused, uint64_t signature);
void refused_step(struct refused *refused, int64_t now);

#endif
