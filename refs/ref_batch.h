/* ref_batch.h - calls of one reference put together into one launch, for those who launch it. */
#ifndef REFS_REF_BATCH_H
#define REFS_REF_BATCH_H

#include "ref_abi.h"

/* Blocks of the launch. */
static inline uint32_t ref_batch_blocks(const struct ref_batch *batch)
{
    uint32_t last = batch->calls - 1;
    return batch->calls ? batch->first[last] + batch->call[last].blocks : 0;
}

/*
 * Adds a call that `blocks` blocks are to work on, behind those of the calls before it, and returns
 * the batch's copy of it. `batch->calls` begins at 0 and must be less than REF_BATCH.
 */
static inline struct ref_call *ref_batch_add(struct ref_batch *batch, const struct ref_call *call,
                                             uint32_t blocks)
{
    uint32_t first = ref_batch_blocks(batch);
    struct ref_call *own = &batch->call[batch->calls];
    *own = *call;
    own->first_block = first;
    own->blocks = blocks;
    batch->first[batch->calls++] = first;
    return own;
}

/* The part of `most` blocks that a call gets which alone would take `wanted` of them, beside others
 * with which it wants `all`. At least one, so that together they may get REF_BATCH - 1 too many. */
static inline uint32_t ref_batch_share(uint64_t wanted, uint64_t all, uint32_t most)
{
    uint64_t share = all > most ? wanted * most / all : wanted;
    return share ? (uint32_t)share : 1;
}

#endif
