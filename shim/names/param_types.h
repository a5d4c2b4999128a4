/*
 * param_types.h - the parameter types that a C++ symbol spells, held against the signature's: an
 * entry for bf16 must not judge the overload kernel(float *, ...), whose parameters have the same
 * sizes.
 *
 * Only what is certain is a disagreement. Classes and enums that are not known fit anything, and so
 * do void and bytes behind a pointer. A larger integer may carry several elements (uint4 for eight
 * bf16), and one of two bytes the bits of f16 or bf16.
 */
#ifndef NAMES_PARAM_TYPES_H
#define NAMES_PARAM_TYPES_H

#include <stdbool.h>
#include "base/error.h"
#include "lang/dtype.h"
#include "lang/signature.h"
#include "value/launch.h"

/* One type of the parameter list of a demangled name. */
struct param_spelled {
    bool pointer;
    bool constant; /* what it points at */
    bool known;    /* `type` is what it, or what it points at, is */
    bool bytes;    /* void or char, which may be anything */
    struct type type;
};

/* The next of the list at *list (symbol_parameters), which goes on behind it; false: it was the
 * last. */
bool param_types_next(const char **list, struct param_spelled *out);

/* STATUS_INVALID with a sentence that shows both lists; STATUS_OK where `demangled` shows no list,
 * or one of another length than the signature's. */
enum status param_types_fit(const struct signature *signature, const char *demangled,
                            struct error *err);

/* The same of what the kernel's code reads and writes behind pointers, where `layout` has it: a
 * float type must be the signature's float type; integers, f8 and blocks are read in many ways. */
enum status param_codes_fit(const struct signature *signature, const struct param_layout *layout,
                            struct error *err);

#endif
