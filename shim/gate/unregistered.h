/*
 * unregistered.h - which kernels the launches without an entry are of, from samples.
 *
 * A thread records the kernel of its first such launch, and of later ones in growing intervals: the
 * process's first 64 samples follow one another, from the 16384th on one launch in 256 to 512
 * is recorded. A sample counts as the launches up to the next one. The table is static and holds
 * the first UNREGISTERED_KERNELS names; no lock, no allocation. Names longer than UNREGISTERED_NAME
 * are cut, and count as one where the kept parts are equal.
 */
#ifndef GATE_UNREGISTERED_H
#define GATE_UNREGISTERED_H

#include <stddef.h>
#include <stdint.h>
#include "base/hot.h"
#include "gate/own.h"
#include "value/gpu_time.h"

enum { UNREGISTERED_KERNELS = 256, UNREGISTERED_NAME = 1024 };

struct unregistered_row {
    const char *symbol; /* mangled */
    uint64_t launches;
    const struct gpu_time *time;
};

/* Records one launch of the kernel: a CUfunction or CUkernel, and its name or NULL, which then the
 * driver is queried for. Any thread. Returns where its time is counted; NULL: nowhere. */
struct gpu_time *unregistered_record(const void *handle, const char *symbol);

/* A launch without an entry begins. False: it is one to be recorded. */
HOT_INLINE bool unregistered_pass(void)
{
    if (UNUSUAL(own_thread.until_sample == 0))
        return false;
    own_thread.until_sample--;
    return true;
}

HOT_INLINE struct gpu_time *unregistered_seen(const void *handle, const char *symbol)
{
    return unregistered_pass() ? NULL : unregistered_record(handle, symbol);
}

/* Where the time of a kernel of this name is counted, which launches in a graph alone; NULL:
 * nowhere. */
struct gpu_time *unregistered_time(const char *symbol);

/* The most frequent first, at most `most`; returns how many. Any thread. */
size_t unregistered_read(struct unregistered_row *out, size_t most);

/* All launches that the samples stand for, of kernels without a row too. */
uint64_t unregistered_launches(void);

/* For tests. No other thread may be recording. */
void unregistered_clear(void);

#endif
