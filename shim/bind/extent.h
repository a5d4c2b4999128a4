/*
 * extent.h - whether a range of device addresses lies inside memory that cuvet's kernels may read.
 *
 * A wrong registry must never make the copy kernel fault: a fault in the program's context ends the
 * program. So each range is compared with the driver's record of the memory before it is copied.
 * Queries only; any thread.
 */
#ifndef BIND_EXTENT_H
#define BIND_EXTENT_H

#include <stdint.h>
#include "base/error.h"

/* STATUS_OK when [address, address + bytes) is mapped memory of device `device`, or host memory
 * that it can reach; else STATUS_INVALID and a sentence with both ranges. */
enum status extent_check(uint64_t address, uint64_t bytes, int device, struct error *err);

/* The same, and what else may be read around the range: the allocation that it lies in, or, where
 * that is mapped in pieces, these and some that follow. */
enum status extent_around(uint64_t address, uint64_t bytes, int device, uint64_t *begin,
                          uint64_t *end, struct error *err);

/* Bytes of mapped memory from the address on, as far as one allocation goes; of one that is mapped
 * in pieces, 4096 of them. STATUS_INVALID where there is none. */
enum status extent_room(uint64_t address, uint64_t *bytes, struct error *err);

#endif
