/*
 * replay.h - references of checks on the side stream: launched, several at once where they are the
 * same, awaited without a driver call, run again in store mode for a bundle. Collector thread only,
 * the side's context current.
 */
#ifndef JUDGE_REPLAY_H
#define JUDGE_REPLAY_H

#include "base/error.h"
#include "value/check_report.h"
#include "context/side.h"

/* Finds the kernel for a sealed check, loading it on first use: check.reference. */
enum status replay_prepare(struct side *side, struct check *check, struct error *err);

/* Whether a check is to have a launch of its own: it runs in pieces, or is held against earlier
 * ones, whose order is of interest. */
bool replay_alone(const struct check *check);

/* Starts checks that need the same kernel on the lanes of an idle batch: one launch, which is their
 * first piece. `count` is 1 where one of them is to be alone. On failure the lanes are idle. */
enum status replay_start(struct side *side, struct batch *batch, struct check *const *checks,
                         int count, struct error *err);

enum replay_progress { REPLAY_RUNNING, REPLAY_PIECE_DONE, REPLAY_DONE };

/* Polls the lane's verdict; merges a piece that is done. On REPLAY_PIECE_DONE the next piece is to
 * be launched with replay_next, now or when the program is out of a context-wide wait. */
enum replay_progress replay_poll(struct lane *lane);
enum status replay_next(struct side *side, struct lane *lane, struct error *err);

/* The reference's call over the check's snapshot. */
void replay_call(const struct check *check, struct ref_call *call);

/* What a bundle of this lane's check is made from. Valid while the check holds its slot. */
struct module_variables;
struct replay_source {
    struct side *side;
    struct lane *lane;
    struct check *check;
    const void *image; /* of the kernel; NULL: not known */
    size_t image_bytes;
    unsigned arch;
    struct module_variables *variables; /* of that image, read for a bundle; freed by the owner */
};
/* Reads the variables of the kernel's module. False: the image cannot be read, or no memory. */
bool replay_read_variables(void *source, struct bundle_variables *out);
enum status replay_read_array(void *source, int array, int after, uint64_t offset, void *out,
                              size_t size);
int replay_has_array(void *source, int array, int after);
/* Whether the tensor is one that the reference computes for this launch. */
int replay_has_reference(void *source, int tensor);
enum status replay_read_reference(void *source, int tensor, int64_t first, int64_t count,
                                  double *out);

/* An element outside the bound, in the call's tensors. */
struct replay_place {
    uint32_t tensor;
    uint64_t index;
    double ref, bound;
};

/* The first element outside, or the worst one where a lifted kernel did not keep the first. False:
 * it kept neither. Pure. */
bool replay_known_place(const struct ref_verdict *numbers, struct replay_place *place);

/*
 * For a lane whose lifted kernel found a mismatch: SKIP_REFUSED and a sentence where the kernel
 * stores to that element several times, and another value in the end, or where no such element is
 * known. The snapshot has the last value alone, and the lifted kernel compares it with each.
 */
enum skip replay_written_again(struct side *side, struct lane *lane, struct error *why);

#endif
