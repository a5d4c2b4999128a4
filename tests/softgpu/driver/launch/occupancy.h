/*
 * occupancy.h - how many blocks of a kernel a multiprocessor holds at once.
 */
#ifndef SOFTGPU_OCCUPANCY_H
#define SOFTGPU_OCCUPANCY_H

#include <stddef.h>

struct function;
struct device;

/* 0 where not one fits. The function is prepared. */
unsigned occupancy_blocks(const struct function *function, const struct device *device,
                          unsigned threads, size_t dynamic_shared);

#endif
