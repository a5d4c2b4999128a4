/*
 * snapshot.h - what of a launch is copied when, and the copying, on the launch's own stream.
 *
 * A plan is made on the program's thread in the ENTER callback; snapshot_before and snapshot_after
 * only enqueue one kernel each. Arrays that the launch writes and reads (inout, acc, or an input
 * that overlaps an output) are copied before; everything else once, after the kernel, when a
 * read-only input still holds its value in stream order.
 */
#ifndef COPY_SNAPSHOT_H
#define COPY_SNAPSHOT_H

#include "base/error.h"
#include "device/snapshot_abi.h"
#include "context/check.h"
#include "value/launch.h"
#include "context/side.h"

struct snapshot_plan {
    uint64_t bytes; /* of the arena */
    bool has_before;
    bool gathers;   /* some items of the launch are copied, not all */
    bool touches;   /* rows of some arrays are copied by index, or ... */
    bool listed;    /* ... by address */
    bool projected; /* a projection shares its place, which it finds as the usual copies do */
    struct placement placement[SPEC_MAX_ARRAYS];
    struct snapshot_pitch {
        uint64_t row_bytes, rows, source_pitch, target_pitch;
        uint64_t outer_source, outer_target, last_bytes; /* as in snapshot_segment ... */
        uint32_t chosen, by_block;                       /* ... 0: all rows */
    } shape[SPEC_MAX_ARRAYS];
};

/*
 * Lays the arrays out. Dense arrays and rows at a pitch are packed; anything more scattered is
 * copied as the span that it covers; of an array with an axis (binding->subset) the chosen items
 * are gathered, and touched rows densely. Pure. SKIP_NONE or SKIP_TOO_LARGE (more segments than one
 * copy takes, sizes that overflow).
 */
enum skip snapshot_plan_make(const struct binding *binding, struct snapshot_plan *plan,
                             struct error *why);

/* Bytes from one item to the next in the snapshot, where they lie `stride` bytes apart in the array
 * and are `run` bytes long each: as in the array if that is dense, else the whole units that hold
 * one. */
uint64_t snapshot_item_pitch(int64_t run, int64_t stride);

enum snapshot_part { SNAPSHOT_BEFORE, SNAPSHOT_AFTER };

/* Where the array goes, or NOT_COPIED. */
static inline int64_t snapshot_target(const struct placement *placement, enum snapshot_part part)
{
    return part == SNAPSHOT_BEFORE ? placement->before : placement->after;
}

/*
 * For callers that launch the copies themselves (the outlier gate): fills header, selection and
 * segments (room for SNAPSHOT_SEGMENTS) with the copies before or after the launch, rows by index
 * left out, and returns their chunks.
 */
uint64_t snapshot_describe(const struct side *side, const struct check *check,
                           const struct snapshot_plan *plan, enum snapshot_part part,
                           struct snapshot_header *header, struct snapshot_select *select,
                           struct snapshot_segment *segment);

/* For callers that take the check's place in the arena before a copy does: a header without
 * segments, which seals. */
void snapshot_header_of(const struct side *side, const struct check *check,
                        struct snapshot_header *header);

/* Enqueue the copies on the launch's stream; the second one seals. Never block. */
enum status snapshot_before(struct side *side, const struct check *check,
                            const struct snapshot_plan *plan, const struct launch *launch,
                            struct error *err);
enum status snapshot_after(struct side *side, const struct check *check,
                           const struct snapshot_plan *plan, const struct launch *launch,
                           struct error *err);
/* Seals without copying: after a launch that failed, when a copy before it is already enqueued. */
enum status snapshot_seal(struct side *side, const struct check *check, const struct launch *launch,
                          struct error *err);

#endif
