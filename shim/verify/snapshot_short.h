/*
 * snapshot_short.h - the copy of a small snapshot, in few pieces, into room of the reserve.
 *
 * Where one will do it is half the time of any other copy: its blocks need neither find a place in
 * the arena nor their part of the arrays. For launches that are copied as a whole behind their
 * kernel, without rows by index, and are checked for sure.
 */
#ifndef VERIFY_SNAPSHOT_SHORT_H
#define VERIFY_SNAPSHOT_SHORT_H

#include "verify/snapshot.h"

/* The pieces of all copies behind the launch: their number, at most `room` of which are written, or
 * -1 for more than that. Pure. */
int snapshot_pieces(const struct check *check, const struct snapshot_plan *plan,
                    struct snapshot_piece *piece, int room);

/* Takes room for the check and describes the copy; false where it takes another kind of copy. The
 * program's thread. */
bool snapshot_short_describe(struct side *side, struct check *check,
                             const struct snapshot_plan *plan, struct snapshot_call_short *call,
                             int *pieces);

#endif
