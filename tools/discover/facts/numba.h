/* numba.h - the parameters of a Numba kernel, by the types that its symbol spells: an array is
 * passed as a word for each of its fields. */
#ifndef TOOLS_DISCOVER_NUMBA_H
#define TOOLS_DISCOVER_NUMBA_H

#include "lang/dtype.h"
#include "value/launch.h"

enum numba_role {
    NUMBA_SCALAR,
    NUMBA_UNUSED, /* owner, parent, items, bytes of an item, strides in bytes */
    NUMBA_DATA,
    NUMBA_SIZE, /* of a dim */
};

struct numba_word {
    enum numba_role role;
    enum dtype dtype; /* of the scalar or of elements; DTYPE_NONE: not known */
};

/* The words of "(Array<float, 2, C, mutable, aligned>, int)" without the parentheses; 0: no array
 * is among them, or there are more than LAYOUT_MAX. */
unsigned numba_words(const char *list, struct numba_word out[LAYOUT_MAX]);

#endif
