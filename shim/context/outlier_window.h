/*
 * outlier_window.h - the centroid detector's memory of distances: the last `size` of them and
 * their quantile. The collector's, off the program's path; no lock.
 */
#ifndef CONTEXT_OUTLIER_WINDOW_H
#define CONTEXT_OUTLIER_WINDOW_H

#include <stdint.h>
#include "base/status.h"

struct outlier_window;

/* STATUS_NO_MEMORY, else *out. `quantile` in (0, 1). */
enum status outlier_window_create(struct outlier_window **out, uint32_t size, float quantile);
void outlier_window_destroy(struct outlier_window *window);

/* Removes all distances. */
void outlier_window_clear(struct outlier_window *window);

/* Adds distances (finite, not negative) and returns the quantile of all in the window, with linear
 * interpolation between neighbours; -1 while there are none. */
float outlier_window_add(struct outlier_window *window, const float *distance, uint32_t count);

#endif
