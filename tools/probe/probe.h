/*
 * probe.h - checks of a bundle's launch that need no formula: what it writes and where, whether it
 * gives the same result again, and relations between its results.
 */
#ifndef TOOLS_PROBE_PROBE_H
#define TOOLS_PROBE_PROBE_H

#include "tools/replay/scene.h"

enum probe_check {
    PROBE_ENDS,    /* the launch runs to its end */
    PROBE_STEADY,  /* the same result in every run, on the interpreter in any order of blocks */
    PROBE_NOISE,   /* ... and beside busy blocks, on the interpreter with some warps held back */
    PROBE_WRITES,  /* every element of every output is written */
    PROBE_READS,   /* the result does not depend on what outputs and workspaces held */
    PROBE_OUTSIDE, /* nothing is written around the arrays, or between their rows */
    PROBE_INPUTS,  /* inputs are left as they were */
    PROBE_ALIGN,   /* the same result at addresses 16 bytes further */
    PROBE_FAR,     /* the same result with the last rows beyond 2^31 elements */
    PROBE_STATE,   /* the same result after a launch on other inputs at the same addresses */
    PROBE_SCALE,   /* an input times 2 scales the outputs, where three other launches show that */
    PROBE_PERMUTE, /* rows in another order give rows in that order, where the reference declares it
                      or three other launches show it */
    PROBE_NEIGHBOURS, /* a row's bits do not depend on what the other rows hold */
    PROBE_SPLIT,      /* the halves of the batch, one by one, give the rows of the whole */
    PROBE_CHECKS
};

#define PROBE_BIT(check) (1u << (check))
#define PROBE_ALL        (PROBE_BIT(PROBE_CHECKS) - 1)
#define PROBE_RELATIONS                                                                            \
    (PROBE_BIT(PROBE_SCALE) | PROBE_BIT(PROBE_PERMUTE) | PROBE_BIT(PROBE_NEIGHBOURS) |             \
     PROBE_BIT(PROBE_SPLIT))

enum probe_outcome { PROBE_SKIPPED, PROBE_GOOD, PROBE_FINDING };

struct probe_result {
    enum probe_outcome outcome;
    char sentence[256]; /* what was found, or why the check was skipped */
};

struct probe_report {
    struct probe_result result[PROBE_CHECKS];
    int runs;
};

struct probe_settings {
    int times;       /* runs for PROBE_STEADY, PROBE_NOISE */
    unsigned checks; /* PROBE_BIT of each wanted; PROBE_ENDS is always */
    bool declared;   /* only relations that the reference declares, or that are held */
    unsigned held;   /* PROBE_BIT of relations of rows that hold, whatever other launches show */
    const char *const *scale; /* names of inputs with which each output scales, `scaled` of them */
    unsigned scaled;
};

const char *probe_name(enum probe_check check); /* "steady" */
/* The check of that name; false: there is none. */
bool probe_check_of(const char *name, size_t length, enum probe_check *out);

enum status probe_bundle(struct scene *scene, const struct probe_settings *settings,
                         struct probe_report *out, struct error *err);

#endif
