/* outlier_launch.h - enqueues the one kernel that probes a launch and copies it where it is
 * selected. */
#ifndef EXTRA_OUTLIER_LAUNCH_H
#define EXTRA_OUTLIER_LAUNCH_H

#include "copy/snapshot.h"
#include "extra/outlier.h"

/* Whether the probe is enqueued before the launch: the launch overwrites something, or rows of some
 * arrays are copied by index, which the probe's kernel does not do. */
static inline bool outlier_probes_before(const struct snapshot_plan *snapshot)
{
    return snapshot->has_before || snapshot->touches;
}

/*
 * On the launch's stream. SNAPSHOT_AFTER: the kernel copies everything and seals. SNAPSHOT_BEFORE:
 * it copies what the launch overwrites, and snapshot_after follows behind the launch; it seals
 * only where the launch is not called. Where rows are copied by index it copies nothing:
 * snapshot_before follows it, too. Never blocks.
 */
enum status outlier_enqueue(struct side *side, const struct check *check,
                            const struct snapshot_plan *snapshot, const struct outlier_plan *plan,
                            enum snapshot_part part, const struct launch *launch,
                            struct error *err);

#endif
