/*
 * digest.h - hashes of what a checked launch read and wrote, made on the side stream from its
 * snapshot, for kernels whose entry says `deterministic: yes`. Collector thread only.
 */
#ifndef VERIFY_DIGEST_H
#define VERIFY_DIGEST_H

#include "context/side.h"

/* Whether this check is to be held against earlier ones. */
bool digest_wanted(const struct check *check);

/* Enqueues the hashes of the lane's check, and their copy to pinned memory: both are complete when
 * a reference that is launched afterwards answers. */
enum status digest_start(struct side *side, struct lane *lane, struct error *err);

/* Nanoseconds that the hashes took. */
uint64_t digest_busy(const struct lane *lane);

/*
 * What makes two launches the same: kernel, grid, block, parameters (of the signature's arrays only
 * their alignment and which of them are one), and the bytes of all that it read.
 */
uint64_t digest_key(const struct check *check, const struct digest_sums *sums);

#endif
