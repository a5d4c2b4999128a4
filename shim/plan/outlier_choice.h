/*
 * outlier_choice.h - which inputs of a kernel the outlier gate probes, and how: `outlier:` of a
 * registry entry.
 */
#ifndef PLAN_OUTLIER_CHOICE_H
#define PLAN_OUTLIER_CHOICE_H

#include "base/error.h"
#include "system/yaml_doc.h"
#include "value/kernel_spec.h"
#include "plan/plan.h"

/* As the entry has it; inputs are still names of the file. */
struct outlier_choice {
    struct outlier_spec spec;       /* but for its inputs */
    const struct yaml_node *inputs; /* a word or a list; NULL: not given */
};

/* "off", "fingerprint", "centroid". */
const char *outlier_detector_text(int detector);

/* Reads the entry's `outlier:`; NULL: not given, the defaults of CUVET_OUTLIER. */
enum status outlier_choice_read(const struct yaml_node *node, struct outlier_choice *choice,
                                struct error *err);

/*
 * Finds the inputs among the arrays that the reference gets: those that are named, else the first
 * const array of two dims or more, else the first array that is read. STATUS_INVALID for a name
 * that is none of them. out->inputs is 0 where the kernel reads no array.
 */
enum status outlier_choice_resolve(const struct outlier_choice *choice,
                                   const struct binding_plan *plan, struct outlier_spec *out,
                                   struct error *err);

#endif
