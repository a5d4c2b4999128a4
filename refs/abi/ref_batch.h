/* ref_batch.h - calls of one reference put together into one launch, for those who launch it. */
#ifndef REFS_REF_BATCH_H
#define REFS_REF_BATCH_H

#include "ref_abi.h"

/*
 * Adds a call that `blocks` blocks are to work on, behind those of the calls before it, and returns
 * the copy of it in `calls`, which has room for REF_BATCH. `batch` is zero at first, and
 * `batch->calls` must be less than REF_BATCH.
 */
static inline struct ref_call *ref_batch_add(struct ref_batch *batch, struct ref_call *calls,
                                             const struct ref_call *call, uint32_t blocks)
{
    struct ref_call *own = &calls[batch->calls];
    *own = *call;
    own->first_block = batch->blocks;
    own->blocks = blocks;
    batch->first[batch->calls++] = batch->blocks;
    batch->blocks += blocks;
    return own;
}

/* When all calls are added. Returns how many bytes of `calls` the launcher has to copy to `there`,
 * in device memory, before it launches the kernel: 0 for a single call, which is in the batch
 * itself. */
static inline uint64_t ref_batch_close(struct ref_batch *batch, const struct ref_call *calls,
                                       uint64_t there)
{
    if (batch->calls == 1) {
        batch->own = calls[0];
        return 0;
    }
    batch->call = (const struct ref_call *)(uintptr_t)there;
    return batch->calls * sizeof(*calls);
}

/* A batch, zero at first, of this call alone. */
static inline void ref_batch_alone(struct ref_batch *batch, const struct ref_call *call,
                                   uint32_t blocks)
{
    struct ref_call one;
    ref_batch_add(batch, &one, call, blocks);
    ref_batch_close(batch, &one, 0);
}

/* How many of `most` blocks a call gets that alone would take `wanted`, where all calls together
 * would take `all`. At least one, so that together they may get REF_BATCH - 1 too many. */
static inline uint32_t ref_batch_share(uint64_t wanted, uint64_t all, uint32_t most)
{
    uint64_t share = all > most ? wanted * most / all : wanted;
    return share ? (uint32_t)share : 1;
}

/*
 * Lanes that should share a row where `blocks` blocks work on the call: a warp's, as long as there
 * are rows enough to keep at least half of the warps busy, since a warp needs no barrier; or a
 * block's. Rows of 1024 elements or less leave most of a block idle; of those with more than 8192 a
 * warp each are more than the GPU's cache holds until the warps come to them again. The rows are
 * those of the first array.
 */
static inline uint32_t ref_batch_group(const struct ref_call *call, uint32_t blocks)
{
    const struct ref_tensor *first = &call->tensor[0];
    int64_t columns = first->ndim ? first->dim[first->ndim - 1] : 1;
    double rows = 1;
    for (int i = 0; i + 1 < first->ndim; i++)
        rows *= (double)first->dim[i];
    if (columns <= 1024)
        return 32;
    if (columns > 8192)
        return REF_THREADS;
    return rows >= (double)call->pieces * blocks * (REF_THREADS / 64) ? 32 : REF_THREADS;
}

#endif
