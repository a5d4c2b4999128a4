/*
 * digest_abi.h - the parameters of the kernel `cuvet_digest`, passed by value as its only one.
 * Plain data for C and CUDA; library and fatbin are built together.
 */
#ifndef DEVICE_DIGEST_ABI_H
#define DEVICE_DIGEST_ABI_H

#include <stdint.h>

enum {
    DIGEST_THREADS = 256,
    DIGEST_RUN = 16,   /* elements that a thread takes in a row */
    DIGEST_ITEMS = 256 /* items of a launch that have hashes of their own */
};

/* What the digests of one launch add up to; device memory, zero before the first. */
struct digest_sums {
    uint64_t in, out;     /* of the bytes that the kernel read, and wrote */
    uint64_t not_started; /* ~%globaltimer when the first began ... */
    uint64_t ended;       /* ... and when the last ended */
    /* Of single items, where requested: what all of them read, what each read and wrote. */
    uint64_t shared, item_in[DIGEST_ITEMS], item_out[DIGEST_ITEMS];
};

/*
 * Elements [first, end) of one array, in row-major order over `dim`: each adds a mix of its bits,
 * its place and `seed` to *sum, so that the order in which they come does not matter and their
 * places do.
 */
struct digest_call {
    uint64_t base; /* device address of element 0 */
    uint64_t first, end;
    uint64_t dim[8], stride[8]; /* elements, outermost first */
    uint32_t ndim, element;     /* bytes of an element: 1, 2, 4 or 8, and it is aligned to them */
    uint64_t seed;
    uint64_t *sum; /* in or out of `sums` */
    struct digest_sums *sums;
};

/* The same for single items of an array, such as its rows: number i of `items` is item
 * i * total / items, and adds to one.sum[i]. */
struct digest_items_call {
    struct digest_call one; /* of the first item */
    uint64_t stride;        /* bytes from an item to the next */
    uint64_t items, total;
};

#endif
