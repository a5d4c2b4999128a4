/*
 * parity.h - another kernel on the inputs of a bundle's launch: does it give each item, such as a
 * row, what the launch gave it? Kernel, parameter list and batch size may differ: the reference's
 * formals are the common words.
 */
#ifndef TOOLS_PROBE_PARITY_H
#define TOOLS_PROBE_PARITY_H

#include "tools/replay/scene.h"

struct parity_settings {
    const char *item;     /* dim of the reference; NULL: that of its first `each` clause */
    int64_t items;        /* that a launch of the other has; 0: as in its bundle */
    const uint32_t *grid; /* of the other; NULL: its bundle's */
    double rtol, atol;    /* both 0: equal bits */
};

/* One output of the two. */
struct parity_output {
    const char *name;
    int64_t items, differing; /* compared, and not equal */
    uint64_t elements;        /* that differ, in all items */
    int64_t item, element;    /* the first */
    double got, other;        /* its values */
    double max_abs;           /* largest difference of two numbers */
};

struct parity_outcome {
    const char *item; /* the dim; NULL: the launches as a whole */
    int64_t items, at_once;
    int runs; /* of the other */
    int outputs;
    struct parity_output output[REF_MAX_TENSORS];
    struct worker_result stopped; /* a run that did not end, where one did not ... */
    bool other_stopped;           /* ... and whose it was */
};

/* STATUS_UNSUPPORTED, STATUS_INVALID: the two launches cannot be compared, and why. */
enum status parity_run(struct scene *scene, struct scene *other,
                       const struct parity_settings *settings, struct parity_outcome *out,
                       struct error *err);

bool parity_agrees(const struct parity_outcome *outcome);

#endif
