/*
 * param_types.h - the parameter types that a C++ symbol spells, held against the signature's: an
 * entry for bf16 must not judge the overload kernel(float *, ...), whose parameters have the same
 * sizes.
 *
 * Only what is certain is a disagreement. Classes and enums that are not known fit anything, and so
 * do void and bytes behind a pointer. A larger integer may carry several elements (uint4 for eight
 * bf16), and one of two bytes the bits of f16 or bf16.
 */
#ifndef VERIFY_PARAM_TYPES_H
#define VERIFY_PARAM_TYPES_H

#include "base/error.h"
#include "lang/signature.h"

/* STATUS_INVALID with a sentence that shows both lists; STATUS_OK where `demangled` shows no list,
 * or one of another length than the signature's. */
enum status param_types_fit(const struct signature *signature, const char *demangled,
                            struct error *err);

#endif
