/* lift_exact.h - what `cuvet lift --exact` prints. */
#ifndef TOOLS_LIFT_EXACT_H_
#define TOOLS_LIFT_EXACT_H_

#include <stdbool.h>
#include "tools/lift/exact.h"

/* What was compared: two bundles, or a bundle and a kernel of an image; the others NULL. */
struct exact_names {
    const char *folder, *other, *image, *kernel;
};

bool exact_differs(const struct exact_report *report);
void exact_print(const struct exact_names *names, const struct exact_report *report);
bool exact_print_json(const struct exact_names *names, const struct exact_report *report);

#endif
