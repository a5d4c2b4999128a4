/*
 * fields.h - the parameters of a kernel, those structs that hold pointers cut into fields: by the
 * pointers that its launches had there, the loads of its PTX, and else by words.
 */
#ifndef TOOLS_DISCOVER_FIELDS_H
#define TOOLS_DISCOVER_FIELDS_H

#include "tools/discover/facts/record.h"

struct field {
    unsigned param;        /* its number in the list */
    uint32_t offset, size; /* in the packed parameters */
    uint32_t begin, whole; /* of the parameter: where it begins there, its bytes */
    bool pointer;          /* a launch had an address there */
};

static inline bool field_is_part(const struct field *field)
{
    return field->size != field->whole;
}

/* In their order. Words of a struct that no launch sets and no code loads are left out; a struct
 * for whose fields there is no room is one. Returns how many. */
unsigned fields_find(const struct seen_kernel *kernel, struct field out[LAYOUT_MAX]);

#endif
