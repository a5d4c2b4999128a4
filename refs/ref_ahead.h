/*
 * ref_ahead.h - rows on their way into the GPU's cache before they are wanted.
 *
 * Only hints: a row that is not there or not fetched costs time and nothing else.
 */
#ifndef REFS_REF_AHEAD_H
#define REFS_REF_AHEAD_H

#include "ref_dtype.h"

#ifdef __CUDACC__
/* A row into the cache, 128 bytes a lane at a time: a hint, and nothing waits for it. */
REF_FN void ref_fetch_row(const ref_tensor &t, const void *base, long long row, int lane, int lanes)
{
    const long long bytes = ref_dtype_bytes(t.dtype), length = t.ndim == 2 ? t.dim[1] : t.stride[0];
    const long long first = row * t.stride[0] * bytes, end = first + length * bytes;
    if (!base || row >= t.dim[0])
        return;
    REF_ROLLED
    for (long long at = first + lane * 128; at < end && (uint64_t)at < (uint64_t)t.bytes;
         at += lanes * 128)
        asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)base + at));
}

/*
 * The row that a group works on next, of all arrays that have rows. A group would wait for memory
 * at the start of each pass that is the first to read an array, and there are too few groups on a
 * multiprocessor for others to fill that time.
 */
REF_SLOW void ref_fetch_ahead(const ref_call *call, long long row, int lane, int lanes)
{
    REF_ROLLED
    for (int i = 0; i < REF_MAX_TENSORS && call->tensor[i].ndim > 0; i++) {
        if (call->tensor[i].ndim > 1) {
            ref_fetch_row(call->tensor[i], call->tensor[i].in, row, lane, lanes);
            ref_fetch_row(call->tensor[i], call->tensor[i].got, row, lane, lanes);
        }
    }
}
#endif

#endif
