/*
 * snapshot_short.h - the copy of a small snapshot, in few pieces, into room of the reserve.
 *
 * Where one will do it is half the time of any other copy: its blocks need neither find a place in
 * the arena nor their part of the arrays. For launches without rows by index that are checked for
 * sure. What is copied before the launch goes into the same room, and the copy behind it seals.
 */
#ifndef COPY_SNAPSHOT_SHORT_H
#define COPY_SNAPSHOT_SHORT_H

#include "copy/snapshot.h"

/* The pieces of all copies before or behind the launch: their number, at most `room` of which are
 * written to `piece`, if it is not NULL, or -1 for more than that. Pure. */
int snapshot_pieces(const struct check *check, const struct snapshot_plan *plan,
                    enum snapshot_part part, struct snapshot_piece *piece, int room);

/* Whether a snapshot of `bytes` may have room of the reserve: its pieces are worth counting. */
bool snapshot_may_be_short(const struct snapshot_plan *plan, enum gate_result gate, uint64_t bytes);

/* Describes the copy, the first of which takes room for the check; false where it takes another
 * kind of copy, as then the second does. The program's thread. */
bool snapshot_short_describe(struct side *side, struct check *check,
                             const struct snapshot_plan *plan, enum snapshot_part part,
                             struct snapshot_call_short *call, int *pieces);

/* One empty piece, which seals. */
void snapshot_short_nothing(const struct side *side, const struct check *check,
                            struct snapshot_call_short *call);

#endif
