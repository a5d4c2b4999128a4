/* words.h - what a program's own names of parameters mean, as kernels of Triton have them. */
#ifndef TOOLS_DISCOVER_WORDS_H
#define TOOLS_DISCOVER_WORDS_H

#include <stdbool.h>

/* Whether `name` is a usual one for a reference's formal or dim: "n_cols" for "cols". Neither case
 * nor a "_ptr" at its end counts. False for "". */
bool words_mean(const char *name, const char *formal);

/* Whether it is that of a distance from row to row: "x_stride", "ldb". */
bool words_distance(const char *name);

#endif
