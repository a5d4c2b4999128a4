/*
 * gate.h - whether to check a launch. Runs on the program's thread for each launch of a registered
 * kernel that its notes do not pass over: no lock, no allocation, a few cache lines.
 *
 * In order: launch-signature novelty (the first k launches of each combination of grid, block,
 * shape parameters, pointer alignment and aliasing are always checked), then the random gate. The
 * pipeline offers what both pass over to the outlier gate (extra/outlier.h), as far as the accounts
 * allow (gates/paying.h), and records here how many of the next launches no gate can take.
 *
 * The random gate draws for each signature of a kernel by itself, so that a rare shape is not
 * starved by a common one: of every L = floor(1 / p) launches of a signature one at most is taken,
 * at a random place, with probability p * L; so each launch is taken with probability p, and where
 * 1 / p is whole, no 2 L launches of a signature pass without a check. Place and chance are Philox
 * of (seed, rank of the process, kernel and signature, launches of the signature / L): the same
 * seed samples the same launches again, and the ranks of a job sample different ones.
 *
 * Launches of a signature are numbered in their order. Where several threads launch it, each takes
 * a block of numbers, 16 or a sixteenth of those that were taken before. So numbers are not in the
 * order of launches, and a stretch without a check may be longer by the numbers that other threads
 * have not used; the probability of each launch stays. Not numbered are launches while their kernel
 * is taken by neither gate, at a probability of 0 and without first launches.
 */
#ifndef GATE_GATE_H
#define GATE_GATE_H

#include <stdbool.h>
#include <stdint.h>
#include "gate/budget.h"
#include "value/kernel_spec.h"
#include "value/launch.h"
#include "value/skip.h"

struct gate;
struct gate_recipe; /* how launches of a kernel are distinguished; gate_table.h */
struct gate_note;   /* one thread's record of a signature; gate_table.h */
struct gate_turn;   /* one of a signature's first k; lives as long as the gate */

enum gate_result { GATE_NO, GATE_FIRST, GATE_RANDOM, GATE_OUTLIER };
const char *gate_text(enum gate_result result); /* "first", "random", "outlier", "no" */

struct gate_settings {
    double sample;  /* where a spec sets none; gate_set_sample changes it */
    uint64_t first; /* where a spec sets none */
    uint64_t seed;
    int64_t rank; /* of the process in its job; 0 where it has none */
};

struct gate_answer {
    enum gate_result result;
    enum skip skip; /* the launch is known to be passed over, and counted as this; or none */
    struct gate_note *note; /* the thread's, of the launch's signature; NULL: it has none */
    struct gate_turn *turn; /* what GATE_FIRST took, else NULL */
    struct budget_use *use; /* of the launch's signature; lives as long as the gate */
    uint64_t signature;     /* never 0; of this kernel alone */
};

struct gate *gate_create(const struct gate_settings *settings);
void gate_destroy(struct gate *gate);

/* `key` identifies the kernel across runs (a hash of its symbol and parameter list). */
void gate_recipe_make(struct gate_recipe *recipe, const struct kernel_spec *spec, uint64_t key);

/* What becomes of a launch that gate_passes() of gate_table.h did not pass over. `recipe` is the
 * spec's. `alone`: the outlier gate probes no launch of the spec, so that those before the next
 * that is drawn are passed over. */
struct gate_answer gate_decide(struct gate *gate, const struct kernel_spec *spec,
                               const struct gate_recipe *recipe, const struct launch *launch,
                               bool alone);

/* The same for a launch that is a node of a CUDA graph, where graph/ draws: `drawn` as GATE_RANDOM,
 * unless it is one of its signature's first k. It has no number and no note. */
struct gate_answer gate_of_node(struct gate *gate, const struct kernel_spec *spec,
                                const struct gate_recipe *recipe, const struct launch *launch,
                                enum gate_result drawn);

/* Whether first launches of the spec are checked, and the probability of the others. */
bool gate_has_first(const struct gate *gate, const struct kernel_spec *spec);
double gate_probability(const struct gate *gate, const struct kernel_spec *spec);
/* Changes with gate_reset; never 0. */
uint64_t gate_generation(const struct gate *gate);

/* The next `launches` of the note's signature, or as many of them as have numbers, are passed over
 * and counted as `skip`. Its thread's, right after gate_decide. NULL is allowed. */
void gate_pause(struct gate_note *note, uint64_t launches, enum skip skip);

/* Launches of the note's signature before the next that the random gate may take. */
uint64_t gate_until_draw(const struct gate_note *note);

/* How many launches of the note's signature its thread makes in each ns, by those since the last
 * call; 0 where nothing is known. */
double gate_rate(struct gate_note *note, int64_t now);

/* Whether neither gate takes any launch of the spec while passing.draws stays the same. Such
 * launches need no gate_decide and are not numbered. */
bool gate_idle(const struct gate *gate, const struct kernel_spec *spec);

/* Of all threads, for gate_notes() of gate_table.h; they live as long as the gate. */
struct gate_note *gate_all_notes(struct gate *gate);

/* A seed for what else is drawn about a launch, such as the items of its check: of (seed, rank,
 * kernel, number of the launch), as above. */
uint64_t gate_seed_of(const struct gate *gate, uint64_t key, uint64_t number);

/* Gives back one of the first k, when the launch turned out to be uncheckable for a passing reason
 * (captured, no room in the arena), so that a later one is still checked. NULL is allowed. Any
 * thread. */
void gate_return(struct gate_turn *turn);
/* The same, but notes stay valid: launches that a pause passes over are still passed over, and the
 * first launch behind the pause takes the turn. */
void gate_postpone(struct gate_turn *turn);

/* The probability where a spec sets none, 0 to 1. Any thread, at any time. */
void gate_set_sample(struct gate *gate, double probability);
double gate_sample(const struct gate *gate);

/* The first k launches of every signature are due again. Any thread, while others decide; a turn
 * that was taken before may still be returned, and then lets one more launch through. */
void gate_reset(struct gate *gate);

/* Launches whose signature no longer found a place in the table: they went to the random gate
 * alone, drawn by their number among all of them, and share one budget_use. */
uint64_t gate_overflow(const struct gate *gate);

#endif
