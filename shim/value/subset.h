/*
 * subset.h - which items of a launch a check covers, where not all.
 *
 * Some items of one dim of the reference, which declares that they are independent (formals.h,
 * each). They come in blocks of consecutive items, because bugs sit at the edges of tiles and
 * memory is copied in long pieces: the first block at the very start, the last at the very end, and
 * each other one at a random place in its own part of what lies between. Pure values; any thread.
 */
#ifndef VALUE_SUBSET_H
#define VALUE_SUBSET_H

#include <stdbool.h>
#include <stdint.h>
#include "device/snapshot_abi.h"
#include "refs/abi/ref_abi.h"

struct subset {
    const char *dim;      /* its name, owned by the plan; NULL: the check covers all items */
    const char *with;     /* the linked dim's name, owned by the plan; NULL: none */
    int64_t share;        /* consecutive entries of that one which an item stands for */
    int64_t total, count; /* items that there are; that the check copies */
    int64_t judged;       /* and those of them that the reference reads: all, but for
                           * binding_read */
    struct snapshot_select select; /* which */
    int8_t axis[REF_MAX_TENSORS];  /* where each tensor of the call has one of the two; -1: none */
    bool linked[REF_MAX_TENSORS];  /* it is `with` */
};

/*
 * Picks about `count` of `total` items, to a whole number of `unit`s and what the last block is
 * longer; the same seed picks the same. Of less than three blocks each has a random place, or those
 * between would never have their turn. False, and nothing is picked, when that would be as good as
 * all, or less than a block.
 */
bool subset_draw(struct subset *subset, int64_t total, int64_t count, int64_t unit, uint64_t seed);

/* The launch's number of the item that has number `index` in the check. */
int64_t subset_item(const struct subset *subset, int64_t index);

/* The same of an entry of tensor `tensor` along its axis: an item, or one of those that it has. */
int64_t subset_entry(const struct subset *subset, int tensor, int64_t index);

/* Items [*from, *to) of the launch are block number `block` of select.blocks. */
void subset_block(const struct subset *subset, uint32_t block, int64_t *from, int64_t *to);

#endif
