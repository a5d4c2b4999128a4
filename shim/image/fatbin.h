/*
 * fatbin.h - the containers that nvcc puts device code into: which code of one a device runs.
 *
 * A fatbin is a header and entries, each PTX or machine code (a cubin) for one architecture, often
 * compressed. Programs pass its address, or that of a wrapper that leads to it. Sizes are held
 * against the fatbin's own; that is the driver's, which has accepted it.
 */
#ifndef IMAGE_FATBIN_H
#define IMAGE_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FATBIN_NO_DEVICE = 0xffff }; /* in the place of an architecture: the newest code of all */

/* The payload of an entry, as it lies in the fatbin. */
struct fatbin_part {
    const uint8_t *at; /* NULL: there is no such entry */
    size_t bytes;
    size_t plain_bytes; /* uncompressed */
    enum { FATBIN_PLAIN, FATBIN_LZ4, FATBIN_ZSTD } packing;
    unsigned arch;
    bool bound; /* to this architecture alone: 90a */
};

struct fatbin_parts {
    struct fatbin_part code, ptx; /* what the device takes: its machine code, and the newest PTX */
    bool newer;                   /* there is PTX for newer devices */
};

/* The fatbin at `image`, or that its wrapper leads to, and its bytes; NULL: it is none. */
const void *fatbin_at(const void *image, size_t *bytes);

/*
 * A fatbin of the entries that a device of compute capability `arch` (90 for 9.0) takes: its
 * machine code, and the newest PTX. Compressed entries stay so. The result is malloc'd; NULL: there
 * is no such entry, or no memory.
 */
void *fatbin_cut(const void *fatbin, size_t bytes, unsigned arch, size_t *out_bytes);

/* What a device of `arch` takes of the fatbin, which is only read. */
void fatbin_find(const void *fatbin, size_t bytes, unsigned arch, struct fatbin_parts *out);

/* The part uncompressed, malloc'd, `bytes` long, with a NUL behind; NULL: it is broken, longer than
 * `most`, or there is no memory. */
void *fatbin_unpack(const struct fatbin_part *part, size_t most, size_t *bytes);

#endif
