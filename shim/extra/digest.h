/*
 * digest.h - hashes of what a checked launch read and wrote, made on the side stream from its
 * snapshot, for kernels whose entry has `deterministic: yes`, and for all where CUVET_DIGEST is
 * set. Collector thread only.
 */
#ifndef EXTRA_DIGEST_H
#define EXTRA_DIGEST_H

#include "context/side.h"

/* Every launch that is checked whole is hashed, CUVET_DIGEST. Set before the first. */
extern bool digest_all;

/* A hash with one more word. */
uint64_t digest_mix(uint64_t hash, uint64_t value);

/* Whether this check's arrays are hashed. */
bool digest_wanted(const struct check *check);

/* Begins and ends the hashing of the lane's check: zeroes the sums, and copies them to pinned
 * memory, which is complete when a reference that is launched afterwards has its verdict. `items`:
 * the sums of single items, too (items.h). */
enum status digest_begin(struct side *side, struct lane *lane, bool items, struct error *err);
enum status digest_end(struct side *side, struct lane *lane, bool items, struct error *err);

/* Between the two: hashes `count` elements, which `call` describes. */
enum status digest_enqueue(struct side *side, struct digest_call *call, uint64_t count,
                           struct error *err);

/* Between the two: the hashes of all that the launch read and wrote. */
enum status digest_start(struct side *side, struct lane *lane, struct error *err);

/* Nanoseconds that the hashes took. */
uint64_t digest_busy(const struct lane *lane);

/*
 * What makes two launches the same: kernel, grid, block, parameters (of the signature's arrays only
 * their alignment and which of them are one), and the bytes of all that it read.
 */
uint64_t digest_key(const struct check *check, const struct digest_sums *sums);

/*
 * The same for another run, another process or machine, of the bytes and shapes of all that it
 * read, of the scalars that its signature names and of what its entry picks: no address enters it,
 * nor grid and block.
 */
uint64_t digest_input(const struct check *check, const struct digest_sums *sums);

/* Arrays of the signature that the kernel may read and that are not copied, so not hashed. */
unsigned digest_unseen(const struct check *check);

#endif
