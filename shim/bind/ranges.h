/*
 * ranges.h - memory of one context that addresses in device memory may lead to.
 *
 * The addresses of a list exist on the GPU alone, and a wild one would fault there. So the copy
 * kernel follows one only into a range among its parameters, and the launching thread passes those
 * that the driver confirms at that time. The collector collects ranges from lists that were copied:
 * the first launch of each provides them.
 *
 * Written by the collector alone, read by any thread without a lock: a reader confirms each range
 * with the driver, so one that is being replaced does no harm.
 */
#ifndef BIND_RANGES_H
#define BIND_RANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "device/snapshot_abi.h"

struct ranges {
    _Atomic(uint64_t) begin[SNAPSHOT_RANGES], end[SNAPSHOT_RANGES]; /* end 0: none */
    uint32_t oldest; /* the one that goes when there are too many; the collector's */
};

/* Those that are memory of `device` still. How many; queries of the driver only. Any thread. */
uint32_t ranges_take(struct ranges *ranges, int device, struct snapshot_range *out);

/* Removes those that are not. Collector only, like the others. */
void ranges_purge(struct ranges *ranges, int device);

/* Whether one of them holds all of [address, address + bytes). */
bool ranges_hold(struct ranges *ranges, uint64_t address, uint64_t bytes);

/* The fewest bytes behind the address in one of those that have it; 0: none has. */
uint64_t ranges_least(struct ranges *ranges, uint64_t address);

/* Adds a range where none does. RANGES_REFUSED and a sentence: it is no memory that may be read. */
enum ranges_answer {
    RANGES_REFUSED,
    RANGES_HELD,
    RANGES_ADDED,
    RANGES_REPLACED, /* added, and the oldest went */
};
enum ranges_answer ranges_add(struct ranges *ranges, uint64_t address, uint64_t bytes, int device,
                              struct error *err);

#endif
