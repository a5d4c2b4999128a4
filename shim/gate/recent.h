/*
 * recent.h - the last launches of each thread, for the report of an error that a later call shows.
 * A launch costs two words on one line of the thread's own; nothing is read before an error.
 *
 * Threads without tallies of their own (tally.h) leave no trace here.
 */
#ifndef GATE_RECENT_H
#define GATE_RECENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/hot.h"
#include "gate/own.h"
#include "gate/tally.h"
#include "driver/cuda_api.h"
#include "value/api_error.h"

enum { RECENT = 4, RECENT_GRAPH = 2 /* in place of a kernel: a graph was launched */ };

struct recent {
    _Alignas(64) _Atomic(uint32_t) next; /* launches so far */
    _Atomic(uint32_t) stream[RECENT];    /* recent_stream of it */
    _Atomic(uintptr_t) kernel[RECENT];   /* its record, with or without KERNEL_PASSED */
};

extern struct recent recent[TALLIES_OWNED];

/* A stream as it is kept; all default streams are one. */
static inline uint32_t recent_stream(const void *stream)
{
    return (uint32_t)((uintptr_t)stream >> 3);
}

/* `thread`: from 1, as own_thread.passes and own_thread.tally. */
HOT_INLINE void recent_note(uint32_t thread, uintptr_t kernel, const void *stream)
{
    struct recent *own = &recent[thread - 1];
    uint32_t next = atomic_load_explicit(&own->next, memory_order_relaxed);
    atomic_store_explicit(&own->stream[next % RECENT], recent_stream(stream), memory_order_relaxed);
    atomic_store_explicit(&own->kernel[next % RECENT], kernel, memory_order_relaxed);
    atomic_store_explicit(&own->next, next + 1, memory_order_relaxed);
}

/* Records a launch of the calling thread whose kernel core_probe found. Only where
 * own_thread.passes. */
HOT_INLINE void recent_launch(uintptr_t kernel, const void *stream)
{
    recent_note(own_thread.passes, kernel, stream);
}

/* The same of a launch whose kernel was not found at once, or while none is passed over. */
void recent_slow(uintptr_t kernel, const void *stream);

/*
 * The names of the last launches on a stream, by thread, the newest first, "" between threads, at
 * most `most`. Where there are none, or `stream` is NULL, those on all streams. Returns how many.
 * Any thread.
 */
size_t recent_names(const void *stream, const char **names, size_t most);

/*
 * Whether a call's result is the error of work that was enqueued before, and is new on the current
 * context's device: such an error stays, and every later call returns it. Any thread.
 */
bool recent_new_fault(CUresult result);
/* Whether it is the error of work that was launched: all further calls return it. */
bool recent_is_fault(CUresult result);
/* The same; fills in the error's name and the last launches, see recent_names(). */
bool recent_fault(CUresult result, const void *stream, struct api_error *error);

#endif
