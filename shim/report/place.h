/*
 * place.h - where in which array: a verdict's (tensor id, linear index) as an element of the
 * signature's array, "y[17][300]"; and what reports print of a role or a kernel. Pure.
 */
#ifndef REPORT_PLACE_H
#define REPORT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "refs/abi/ref_abi.h"
#include "value/bound.h"
#include "value/check_report.h"

struct place {
    const char *array; /* the signature's name, owned by it; "?" when the tensor is unknown */
    int ndim;
    int64_t index[BOUND_DIMS]; /* by the signature's dims */
    int formal_ndim;           /* the same element by the dims of the reference's formal */
    int64_t formal_index[REF_MAX_DIMS];
    const char *by; /* of touched rows: the array whose element names the row; else NULL */
    int by_dim;     /* whose index is that element's number */
};

/* False when no tensor of the binding has that id or the index lies outside it (a verdict without
 * a violation has index UINT64_MAX); then *out names no element. */
bool place_of(const struct binding *binding, uint32_t tensor_id, uint64_t linear,
              struct place *out);

/* "y[17][300]", or "y[ids[17]][300]", cut to `size`. */
void place_text(const struct place *place, char *out, size_t size);

/* How an array became what a formal of another rank takes, the first such one of the check:
 * "q[64][128][64] as batch 1, queries 64, heads 128, dim 64". False where all ranks agree. */
bool place_dims_text(const struct check_report *report, char *out, size_t size);

/* Elements of the outputs that the reference computes, of the whole launch. Of a launch that was
 * checked in part, or of which the reference draws a sample, fewer are judged. */
uint64_t place_elements(const struct binding *binding);

/* "read", "write", "inout", "acc", "ws". */
const char *place_role_text(enum role role);

/* How reports call a kernel: its label, or its symbol when it has none. */
const char *place_kernel(const struct kernel_spec *spec);

#endif
