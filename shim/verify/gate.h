/*
 * gate.h - check this launch? Asked on the program's thread for every launch of a registered
 * kernel: no lock, no allocation, tens of nanoseconds.
 *
 * In order: launch-signature novelty (the first k launches of each combination of grid, block,
 * shape parameters, pointer alignment and aliasing are always checked), then the random gate:
 * Philox of (seed, kernel, launch number), so that the same seed samples the same launches.
 * The outlier gate will stand between the two.
 */
#ifndef VERIFY_GATE_H
#define VERIFY_GATE_H

#include <stdbool.h>
#include <stdint.h>
#include "verify/kernel_spec.h"
#include "verify/launch.h"

struct gate;
struct gate_turn; /* one of a signature's first k; lives as long as the gate */

enum gate_result { GATE_NO, GATE_FIRST, GATE_RANDOM };
const char *gate_text(enum gate_result result); /* "first", "random", "no" */

struct gate_settings {
    double sample;  /* where a spec sets none; gate_set_sample changes it */
    uint64_t first; /* likewise */
    uint64_t seed;
};

struct gate *gate_create(const struct gate_settings *settings);
void gate_destroy(struct gate *gate);

/* `number` is the launch's number among those of its kernel, `key` identifies the kernel across
 * runs (a hash of its symbol). `turn` is what GATE_FIRST took, else NULL. */
enum gate_result gate_decide(struct gate *gate, const struct kernel_spec *spec, uint64_t key,
                             uint64_t number, const struct launch *launch, struct gate_turn **turn);

/* Gives back one of the first k, when the launch turned out to be uncheckable for a passing reason
 * (captured, no room in the arena), so that a later one is still checked. NULL is allowed. */
void gate_return(struct gate_turn *turn);

/* The probability where a spec sets none, 0 to 1. Any thread, at any time. */
void gate_set_sample(struct gate *gate, double probability);
double gate_sample(const struct gate *gate);

/* The first k launches of every signature are due again. Any thread, while others ask; a turn that
 * was taken before may still be given back, and then lets one more launch through. */
void gate_reset(struct gate *gate);

/* Signatures that no longer found a place in the table: they went to the random gate alone. */
uint64_t gate_overflow(const struct gate *gate);

#endif
