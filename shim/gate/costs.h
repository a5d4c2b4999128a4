/*
 * costs.h - what the GPU has spent on checks of a kernel of late, by the size of their snapshots:
 * an estimate of the next one. One kernel's launches may differ a thousandfold, and the same launch
 * is checked whole or on a subset. All zeros: nothing is known. Any thread, no lock.
 */
#ifndef GATE_COSTS_H
#define GATE_COSTS_H

#include <stdatomic.h>
#include <stdint.h>

enum { COSTS_CLASSES = 16 }; /* up to 64 KiB, then a class for each doubling */

struct costs {
    _Atomic(int64_t) ns[COSTS_CLASSES];
};

/* 0 where nothing is known; where there was none of that size, as much as the nearest one, and
 * twice as much for each class that it is larger. */
int64_t costs_estimate(const struct costs *costs, uint64_t bytes);
void costs_note(struct costs *costs, uint64_t bytes, int64_t ns);

/* One running estimate, in which the last few count most; 0: nothing is known. */
void cost_note(_Atomic(int64_t) *estimate, int64_t ns);

#endif
