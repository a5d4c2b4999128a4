/*
 * project_abi.h - the parameters of the kernels `cuvet_project_...`, passed by value as their only
 * one: a whole product, in the program's memory, is projected in the program's stream
 * (refs/abi/ref_product.h). Plain data for C and CUDA.
 *
 * cuvet_project_before makes c r before the launch, where what c holds is added to
 * (product.before). Behind it cuvet_project_factors makes b r and c r, in that order of the grid's
 * blocks, cuvet_project_rows then a (b r) and the answer. What they make lies in the snapshot: the
 * answer at `offset`, the vectors behind it. They take the snapshot's place in the arena like a
 * copy, and seal nothing.
 */
#ifndef DEVICE_PROJECT_ABI_H
#define DEVICE_PROJECT_ABI_H

#include "device/snapshot_abi.h"
#include "refs/abi/ref_product.h"

enum {
    PROJECT_THREADS = 1024,
    PROJECT_TILE = 32,    /* values that a block adds up for, at most */
    PROJECT_ANSWER = 256, /* bytes between the answer and the vectors */
};

enum { PROJECT_LEAST_PART = 1024, PROJECT_PART = 8192 };

/*
 * A wide product is projected in parts of its columns, as a batch: a row of n columns has an error
 * to be expected of sqrt(n) roundings, in which a tile that was cleared disappears. Columns of a
 * part: the largest divisor of n that is no larger than PROJECT_PART; n: there are no parts.
 */
static inline int64_t project_part(int64_t n)
{
    int64_t parts = (n + PROJECT_PART - 1) / PROJECT_PART;
    while (parts * PROJECT_LEAST_PART <= n && n % parts != 0)
        parts++;
    return parts * PROJECT_LEAST_PART <= n ? n / parts : n;
}

/*
 * How one pass is dealt out: each block adds up for `tile` values, a power of two, by
 * PROJECT_THREADS / tile threads each. Neighbouring threads read along the sum where `along` is
 * set, else across it, wherever memory goes.
 */
struct project_pass {
    uint32_t tile, along;
    uint32_t blocks;
    uint32_t reserved;
};

struct project_call {
    struct snapshot_header header;
    struct ref_product product;
    uint64_t offset;
    struct project_pass factors, outputs, rows;
};

#endif
