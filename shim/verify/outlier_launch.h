/* outlier_launch.h - enqueues the one kernel that looks at a launch and, where it calls it, copies.
 */
#ifndef VERIFY_OUTLIER_LAUNCH_H
#define VERIFY_OUTLIER_LAUNCH_H

#include "verify/snapshot.h"

/*
 * On the launch's stream. SNAPSHOT_AFTER: the kernel copies everything and seals. SNAPSHOT_BEFORE:
 * it copies what the launch overwrites, and snapshot_after follows behind the launch; it seals
 * only where the launch is not called. Never blocks.
 */
enum status outlier_enqueue(struct side *side, const struct check *check,
                            const struct snapshot_plan *snapshot, const struct outlier_plan *plan,
                            enum snapshot_part part, const struct launch *launch,
                            struct error *err);

#endif
