/* block.h - one block of a block format (q4_0 ... q6_K, refs/dialect/ref_blocks.h): its codes are
 * random bits, its scales numbers of f16. Any thread. */
#ifndef TOOLS_FUZZ_BLOCK_H
#define TOOLS_FUZZ_BLOCK_H

#include <stdint.h>
#include "refs/abi/ref_abi.h"

enum { FUZZ_BLOCK_BYTES = 256 }; /* at most, of every block format */

/* Puts the scales into a block whose other bytes are there. Elements are then about as large as
 * `scale`, and are raised or lowered by about `low` where the format has a minimum. A finite scale
 * stays finite. Codes of -128 become -127, as no quantiser writes them; the sum of q8_1 is that of
 * its codes. */
void fuzz_encode_block(enum dtype dtype, double scale, double low, uint8_t *block);

/* Bytes that a block starts at a multiple of: of its f16, or of two of them as one half2. */
uint32_t fuzz_block_align(enum dtype dtype);

#endif
