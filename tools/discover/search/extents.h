/* extents.h - the integers of a kernel's launches that a dim may be: parameters, grid and block,
 * products and quotients of two, numbers in its name. */
#ifndef TOOLS_DISCOVER_EXTENTS_H
#define TOOLS_DISCOVER_EXTENTS_H

#include "tools/discover/search/entry.h"

enum { EXTENTS = 128 };

struct extents {
    unsigned count;
    struct extent extent[EXTENTS];        /* the likeliest first */
    int64_t value[EXTENTS][SEEN_SAMPLES]; /* of each, by launch */
};

void extents_find(struct extents *out, const struct facts *facts);

#endif
