/*
 * sizes.h - dims of an array whose kernel fits no reference, by what its launches read and write
 * (struct probed).
 */
#ifndef TOOLS_DISCOVER_SIZES_H
#define TOOLS_DISCOVER_SIZES_H

#include "tools/discover/search/extents.h"

enum sizes_form {
    SIZES_FLAT,    /* [factor], or the product of several */
    SIZES_PITCHED, /* [factor 0 : factor 1][factor 2]: rows, their distance, elements of a row */
};

struct sizes {
    enum sizes_form form;
    unsigned factors;
    struct extent factor[3];
};

/* The likeliest that go with every launch that was run again: an extent, a part of one, a product
 * of three, rows that lie apart, a number. False: there are none. */
bool sizes_find(const struct facts *facts, const struct extents *extents, unsigned fact,
                struct sizes *out);

#endif
