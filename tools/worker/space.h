/*
 * space.h - the arrays of a worker: each in a piece of device memory of its own, between guard
 * bytes that differ between arrays. Every address that comes over the wire is held against them
 * before it is used.
 */
#ifndef TOOLS_WORKER_SPACE_H
#define TOOLS_WORKER_SPACE_H

#include "tools/worker/device/device.h"

struct space_array {
    uint64_t piece; /* of device memory */
    uint64_t address, bytes, guard;
    uint64_t number; /* of arrays made before it since the space was empty */
};

struct space {
    struct device *device;
    struct space_array *array; /* in no order */
    size_t count, room;
    uint64_t made; /* arrays, since the space was empty */
};

enum status space_allocate(struct space *space, const struct worker_array *wanted,
                           uint64_t *address, struct error *err);
enum status space_free(struct space *space, uint64_t address, struct error *err);
void space_free_all(struct space *space);

/* STATUS_OK: [address, address + count) lies inside one array. */
enum status space_check(const struct space *space, uint64_t address, uint64_t count,
                        struct error *err);

enum status space_guards(struct space *space, uint64_t address, struct worker_guard *out,
                         struct error *err);

#endif
