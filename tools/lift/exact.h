/*
 * exact.h - two kernels on the same inputs over finite fields in place of floats: equal outputs
 * mean the same computation, up to the order of sums and the roundings.
 */
#ifndef TOOLS_LIFT_EXACT_H
#define TOOLS_LIFT_EXACT_H

#include "tools/bundle/bundle_file.h"

struct stage; /* stage.h */

struct exact_output {
    const char *name, *other; /* of the first launch, and of the second */
    int64_t elements, different;
    int64_t first; /* that differs */
    double got[2]; /* what the kernels made of it */
};

struct exact_report {
    struct exact_output output[BUNDLE_ARRAYS];
    int outputs;
    uint64_t instructions;
    double seconds;
    char stopped[256]; /* why a launch did not run to its end */
};

/* STATUS_INVALID: the launches have other inputs, or other outputs. */
enum status exact_compare(struct stage *stage[2], unsigned seconds, struct exact_report *report,
                          struct error *err);

#endif
