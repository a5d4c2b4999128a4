/*
 * random.h - the numbers that a case is made of.
 *
 * Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011): the key is the case's seed (low word first),
 * the counter is an index (low word first) and then the 64-bit FNV-1a hash of a name (low word
 * first). So a number depends on (seed, name, index) alone: on no other draw, no order and no
 * machine. Values are made by integer arithmetic and single roundings of f64; no function of libm
 * takes part.
 */
#ifndef TOOLS_FUZZ_RANDOM_H
#define TOOLS_FUZZ_RANDOM_H

#include <stdint.h>

struct fuzz_block {
    uint32_t v[4];
};

uint64_t fuzz_hash(const char *name);
struct fuzz_block fuzz_random(uint64_t seed, uint64_t hash, uint64_t index);

/* Draws under one name, one after the other: numbers 0, 1, 2, ... of it. */
struct fuzz_stream {
    uint64_t seed, hash, next;
};
struct fuzz_stream fuzz_stream(uint64_t seed, const char *name);
uint64_t fuzz_next(struct fuzz_stream *stream);
uint64_t fuzz_below(struct fuzz_stream *stream, uint64_t count); /* 0 to count - 1; count > 0 */

/* From one block: [0, 1) with 53 bits; and a sum of eight uniform numbers of 16 bits, of mean 0 and
 * variance 1, near a normal distribution and within 4.9 of 0. */
double fuzz_uniform(struct fuzz_block block);
double fuzz_normal(struct fuzz_block block);

#endif
