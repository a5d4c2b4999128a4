/*
 * align.h - two sequences held against each other: which element of the one stands for which of the
 * other, in order, so that as many as possible do.
 *
 * The algorithm is that of Myers (An O(ND) difference algorithm, 1986) in linear space. Equal
 * ends are paired first and elements that the other sequence lacks left out, which changes no
 * result's length. Where more than a
 * bounded number of steps would be needed, the path that came furthest is taken: then the pairs are
 * in order and equal, but there may be more of them. One thread.
 */
#ifndef TOOLS_REPORT_ALIGN_H
#define TOOLS_REPORT_ALIGN_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

#define ALIGN_NONE SIZE_MAX

struct align_sequence {
    const uint64_t *element;
    size_t count;
};

/* partner[i]: the index in `second` of what element i of `first` is paired with, or ALIGN_NONE. */
enum status align_make(const struct align_sequence *first, const struct align_sequence *second,
                       size_t *partner, struct error *err);

#endif
