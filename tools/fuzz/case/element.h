/* element.h - one element of an array: numbers to bytes, the same on every machine. */
#ifndef TOOLS_FUZZ_ELEMENT_H
#define TOOLS_FUZZ_ELEMENT_H

#include <stdbool.h>
#include "refs/abi/ref_abi.h"

/* The nearest value of the dtype, ties to even; too large is Inf (f8e4m3: NaN). An integer type
 * takes the nearest integer, clamped. Not for block formats. */
void fuzz_encode(enum dtype dtype, void *out, double value);

/* The number that an element is. */
double fuzz_decode(enum dtype dtype, const void *element);

/* What an element holds that nothing was written to: of reals a NaN that no arithmetic makes, or an
 * unlikely finite number, because a NaN may be what is expected; of integers an unlikely one; of a
 * block bytes whose f16 are such numbers. */
enum fuzz_poison { FUZZ_POISON_NAN, FUZZ_POISON_FINITE };
void fuzz_poison(enum dtype dtype, enum fuzz_poison kind, void *out);
bool fuzz_is_poison(enum dtype dtype, enum fuzz_poison kind, const void *element);

#endif
