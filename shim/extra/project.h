/*
 * project.h - the projection of a whole product of matrices, for launches whose check covers only a
 * part of it (refs/abi/ref_product.h: what it is, what its bound is, what it can detect).
 *
 * On the program's thread, in the ENTER callback: project_plan_make, while the binding still
 * describes the whole launch, and project_take_room. After the launch project_enqueue, two kernels
 * that read the program's memory in stream order, before the copy that seals. On the collector's:
 * project_fetch when the check's turn has come, project_report when its references have ended.
 */
#ifndef EXTRA_PROJECT_H
#define EXTRA_PROJECT_H

#include "device/project_abi.h"
#include "lang/formals.h"
#include "context/side.h"
#include "copy/snapshot.h"

struct project_plan {
    bool wanted;
    int output; /* the tensor of the reference's call that is c */
    uint64_t bytes;
    int64_t columns;          /* of a part of the product; 0: it has none */
    struct project_call call; /* all but its header */
};

/*
 * Describes the product, if the launch is one that can be projected: its reference declares a
 * product, no factor of which is overwritten; c is of a real type, and the registry declares no
 * rounding point but one at which the kernel may round to c's dtype. Small ones are left to the
 * element-wise check, which covers most of them, and so are those whose vectors would take more
 * than a quarter of the bytes that they are made from. `whole` is the plan of the whole launch.
 * Pure.
 */
void project_plan_make(struct project_plan *plan, const struct binding *binding,
                       const struct formals *formals, const struct snapshot_plan *whole,
                       uint64_t seed);

/* Takes room for the vectors behind the arrays; where both would take more than `most` bytes the
 * launch is not projected. */
void project_take_room(struct project_plan *plan, struct snapshot_plan *snapshot, uint64_t most);

/*
 * Enqueues, behind the copies before the launch, the projection of what the launch adds to; nothing
 * where it adds to nothing. After a failure the launch must not be projected.
 */
enum status project_before(struct side *side, const struct check *check, struct project_plan *plan,
                           const struct launch *launch, struct error *err);

/*
 * Enqueues the projection on the launch's stream; never blocks. It takes the snapshot's place in
 * the arena, if nothing has before: *taken is set once that may happen. After a failure there is no
 * answer, and the copies may go on.
 */
enum status project_enqueue(struct side *side, struct check *check, struct project_plan *plan,
                            const struct launch *launch, bool *taken, struct error *err);

/* Enqueues the answer's way to pinned memory: it is complete when a reference that is launched
 * afterwards has its verdict. */
enum status project_fetch(struct side *side, struct lane *lane, struct error *err);

/* Reads the result of the lane's check; a row outside its bound makes a mismatch. */
void project_report(const struct lane *lane, struct check_report *report);

#endif
