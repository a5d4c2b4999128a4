/* flips.h - what the program flips and the library that does it share. */
#ifndef FLIPS_H
#define FLIPS_H

/* The next product gets one bit of it flipped, behind the library's kernels: `mask` of the 4-byte
 * word at `offset` bytes; mask 0: none. */
void flips_set(unsigned long long offset, unsigned mask);

#endif
