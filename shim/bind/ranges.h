/*
 * ranges.h - memory of one context that addresses in device memory may lead to.
 *
 * Where the arrays of a list lie is known on the GPU alone, and an address that leads nowhere would
 * fault there. So the copy kernel follows one only into a range that it was handed with its launch,
 * and the launching thread hands over what the driver vouches for at that time. What ranges there
 * are the collector learns, from lists that were copied: the first launch of each is for that.
 *
 * Written by the collector alone, read by any thread without a lock: whoever takes a range that is
 * being replaced asks the driver about what he took.
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

/* Forgets those that are not. Collector only, like the others. */
void ranges_purge(struct ranges *ranges, int device);

/* Whether one of them holds all of [address, address + bytes). */
bool ranges_hold(struct ranges *ranges, uint64_t address, uint64_t bytes);

/* Sees to it that one does. RANGES_REFUSED and a sentence: it is no memory that may be read. */
enum ranges_answer {
    RANGES_REFUSED,
    RANGES_HELD,
    RANGES_ADDED,
    RANGES_REPLACED, /* added, and the oldest went */
};
enum ranges_answer ranges_learn(struct ranges *ranges, uint64_t address, uint64_t bytes, int device,
                                struct error *err);

#endif
