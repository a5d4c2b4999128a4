/*
 * oracle.h - references in the worker: on the CPU over host copies of the arrays, or on the GPU by
 * the device build.
 */
#ifndef TOOLS_WORKER_ORACLE_H
#define TOOLS_WORKER_ORACLE_H

#include "refs/abi/ref_abi.h"
#include "tools/worker/space.h"
#include "tools/worker/wire.h"

struct oracle {
    void *module[2]; /* of the device build: all, wide; NULL: not loaded yet */
};

/* Pointers of the call are addresses of the space. With a window to store in the call `values` has
 * room for store_count numbers, else the verdict is written. */
enum status oracle_run(struct oracle *oracle, const struct space *space,
                       const struct wire_reference *wanted, enum worker_oracle where,
                       struct ref_verdict *verdict, double *values, struct error *err);

#endif
