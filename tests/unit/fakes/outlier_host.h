/*
 * outlier_host.h - what the outlier kernel does, on the host: the reading of an input, one thread
 * after another, and the whole of a call for the fake driver. The arithmetic is the kernel's own
 * (device/outlier_stat.h).
 */
#ifndef TESTS_OUTLIER_HOST_H
#define TESTS_OUTLIER_HOST_H

#include <stdbool.h>
#include "device/outlier_abi.h"

/* Adds what the sample of the input holds to zeroed sums. */
void outlier_host_look(const struct outlier_input *input, uint64_t seed, struct outlier_sums *sums);

/* The batch of input 0: squared distances from the centre before it is moved, elements that are
 * not finite, by row; then moves the centre. */
void outlier_host_batch(const struct outlier_input *input, const struct outlier_batch *batch,
                        uint64_t seed, float *distance, uint32_t *bad);

/* Reads all inputs, decides, writes the answer. True when the launch is called. */
bool outlier_host_decide(const struct outlier_header *header, const struct outlier_input *input);

#endif
