/*
 * fatbin.h - the containers that nvcc puts device code into: which code of one a device runs.
 *
 * A fatbin is a header and entries, each PTX or machine code (a cubin) for one architecture, often
 * compressed. Programs pass its address, or that of a wrapper that leads to it. Sizes are held
 * against the fatbin's own; that is the driver's, which has accepted it.
 */
#ifndef JUDGE_FATBIN_H
#define JUDGE_FATBIN_H

#include <stddef.h>

/* The fatbin at `image`, or that its wrapper leads to, and its bytes; NULL: it is none. */
const void *fatbin_at(const void *image, size_t *bytes);

/*
 * A fatbin of the entries that a device of compute capability `arch` (90 for 9.0) takes: its
 * machine code, and the newest PTX. Compressed entries stay so. The result is malloc'd; NULL: there
 * is no such entry, or no memory.
 */
void *fatbin_cut(const void *fatbin, size_t bytes, unsigned arch, size_t *out_bytes);

#endif
