/*
 * touch.h - the copies of touched rows (bound_rows) made a small problem that a reference can be
 * run on: device/touch_abi.h has the layout of indices and rows. Collector thread only.
 */
#ifndef COPY_TOUCH_H
#define COPY_TOUCH_H

#include "context/side.h"

/* Bytes that it needs beside the copy of `count` indices. */
uint64_t touch_scratch(uint64_t count);

/* Enqueues it for all arrays of indices of the lane's check, before anything that reads the
 * snapshot. Nothing to do for most checks. */
enum status touch_start(struct side *side, struct lane *lane, struct error *err);

/* Why the reference reached outside what was copied, for people. */
const char *touch_refusal(const struct check *check);

#endif
