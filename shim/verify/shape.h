/*
 * shape.h - dims and strides of an array as binding.c reckons with them. Pure, any thread.
 */
#ifndef VERIFY_SHAPE_H
#define VERIFY_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

enum { SHAPE_DIMS = 8 };

struct shape {
    int ndim;
    /* In elements; of a block format the last dim is in blocks, and strides are in bytes. */
    int64_t dim[SHAPE_DIMS], stride[SHAPE_DIMS];
};

/* Lanes of a vector melt into the last dim where it is dense, else they are a dim of their own. */
void shape_open_lanes(struct shape *shape, int64_t lanes);

/* Index of the last element, from the first. False when it is beyond the limit. */
bool shape_last(const struct shape *shape, int64_t limit, int64_t *out);

/* Sorts by stride, outermost first: which elements an array has does not depend on the order of
 * its dims, and a transposed matrix is as contiguous as it was. Dims of 1 and broadcast dims
 * (stride 0) add no element. */
void shape_sort(const struct shape *shape, struct shape *out);

/* True when two index tuples of sorted dims may name the same element (sliding windows). */
bool shape_overlaps(const struct shape *sorted);

/* Folds two neighbours among the outermost dims into one; false where memory does not allow it. */
bool shape_fold_outer(struct shape *shape);

#endif
