/*
 * outlier.h - the host's side of the outlier gate: which running statistics a launch signature has,
 * and the one kernel that probes a launch's inputs (device/outlier_abi.h).
 *
 * The program's thread claims an index for a launch signature, lays the inputs out and enqueues;
 * nothing waits. Statistics lie in device memory, by context; an index means the same signature
 * in all contexts. The collector keeps the distances of the centroid detector.
 */
#ifndef EXTRA_OUTLIER_H
#define EXTRA_OUTLIER_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "device/outlier_abi.h"
#include "bind/binding.h"
#include "context/outlier_side.h"

/* Which signature has which index; of the process. */
struct outliers;
struct outliers *outliers_create(enum outlier_detector fallback);
void outliers_destroy(struct outliers *outliers);

/* The detector for a kernel: its entry's, else CUVET_OUTLIER's; OFF, too, where it reads nothing,
 * and for `outliers` NULL. */
enum outlier_detector outliers_detector(const struct outliers *outliers,
                                        const struct outlier_spec *spec);

/* `count` consecutive indices for the signature, claimed on its first launch; OUTLIERS_NONE when
 * there are no more, OUTLIERS_BUSY while another thread claims them. Any thread, no lock. `key` is
 * gate_signature's. */
enum { OUTLIERS_NONE = -1, OUTLIERS_BUSY = -2 };
int outliers_index(struct outliers *outliers, uint64_t key, enum outlier_detector detector,
                   unsigned count);
/* Resets all statistics: probes that are enqueued from now on start new ones, and those under way
 * do not change them. Any thread, no lock, no driver call. NULL is allowed. */
void outliers_reset(struct outliers *outliers);
uint32_t outliers_epoch(const struct outliers *outliers);
/* Signatures that came too late. */
uint64_t outliers_overflow(const struct outliers *outliers);

/* One probe of a launch: the kernel's parameters without the snapshot's part. */
struct outlier_plan {
    enum outlier_detector detector; /* these three are the caller's: outliers_detector's ... */
    int index;                      /* ... outliers_index's: of the first input's statistics ... */
    uint32_t epoch;                 /* ... and outliers_epoch's */
    unsigned inputs;
    unsigned blocks;
    const char *name[OUTLIER_INPUTS];
    struct outlier_input input[OUTLIER_INPUTS];
    struct outlier_batch batch;
};

/*
 * Lays out the inputs of this launch. False when it cannot be probed:
 * an input is absent or scattered (more than rows at a pitch), or not where its type may lie.
 */
bool outlier_plan_make(const struct outlier_side *side, const struct outlier_spec *spec,
                       const struct binding *binding, struct outlier_plan *plan);

/* The collector's part: adds the distances of a launch to the window and publishes their quantile;
 * those of an earlier epoch than the last are not. Without memory the detector keeps the quantile
 * that it has. */
void outlier_collect(struct outlier_side *side, const struct outlier_spec *spec, int index,
                     uint32_t epoch, const struct outlier_answer *answer);

/* "absmax", "centroid distance", ... */
const char *outlier_feature_text(uint32_t feature);

#endif
