/* dtype.h - element types by name: ours (bf16, f32x4), C's, CUDA's and torch's spellings. */
#ifndef LANG_DTYPE_H
#define LANG_DTYPE_H

#include <stdbool.h>
#include "text/nearest.h"
#include "refs/abi/ref_abi.h"

/* Bytes of one element, or of one block; 0 for DTYPE_NONE. */
unsigned dtype_bytes(enum dtype dtype);

/* Elements of one block of a block format, such as 256 of q4_K; 0 for other types. */
unsigned dtype_block(enum dtype dtype);

/* "bf16", or "none". */
const char *dtype_text(enum dtype dtype);

bool dtype_is_integer(enum dtype dtype); /* bool counts as one */
bool dtype_is_real(enum dtype dtype);
bool dtype_is_usual(enum dtype dtype); /* f64, f32, f16, bf16 */

struct type {
    enum dtype dtype;
    unsigned lanes; /* 1, or the length of a vector: float4 has 4 */
};

/* Parses "bf16", "bf16x2", "float4", "unsigned long long", "c10::Half". False when unknown. */
bool type_parse(const char *text, struct type *out);

/* Offers all known names of scalar types. */
void type_offer(struct nearest *nearest);

/* Natural alignment as CUDA has it, of what is no block: of the element, and for vectors of 2 and 4
 * of the whole. */
unsigned type_align(struct type type);

/* The value of a real or integer element, little endian, as a double. */
double dtype_load(enum dtype dtype, const void *bytes);

#endif
