/* lift_check.h - `cuvet lift --check`: which kernels of an image a running program's launches can
 * be held against (CUVET_LIFT=1), and why the others cannot. */
#ifndef TOOLS_LIFT_CHECK_H_
#define TOOLS_LIFT_CHECK_H_

#include <stdbool.h>

/* Prints a line for each kernel of the images at `paths`. `kernel`: this one alone, or NULL. The
 * exit status: 0; 1, a failure of cuvet; 2, a file without PTX, or none with the kernel. */
int lift_check(char *const *paths, int count, const char *kernel, bool json);

#endif
