/*
 * queue.h - the ordering engine: works in queues, each served by its own thread.
 *
 * Handles, events and capture are not part of it. A `mark` is the point after one entry of a queue:
 * it is "done" once that entry, and so all before it, ended. What waits for other queues (events,
 * the rules of the legacy stream) is an entry that depends on their marks.
 *
 * Threads: everything may be called from any thread. One lock guards all queues and marks; it is
 * never held while a work runs or is dropped. Every wait ends when the process does.
 */
#ifndef SOFTGPU_QUEUE_H
#define SOFTGPU_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "driver/stream/stream.h"

struct domain; /* the queues of one context */
struct queue;
struct mark;

enum queue_kind {
    QUEUE_LEGACY, /* waits for the blocking ones, and they for it */
    QUEUE_BLOCKING,
    QUEUE_FREE, /* takes no part in that */
};

/* NULL: no memory. */
struct domain *domain_create(struct context *context);
/* Ends the queues once they are empty, waits for their threads, and frees the domain. The queues
 * stay as shells that refuse everything. */
void domain_end(struct domain *domain);
/* Waits for all that the domain's queues hold now. */
void domain_drain(struct domain *domain);
const atomic_bool *domain_stop_flag(const struct domain *domain);

/* A queue is never freed, so a pointer to it stays valid. `low`: SOFTGPU_DELAY's "low"
 * streams. */
struct queue *queue_create(struct domain *domain, enum queue_kind kind, bool low, uint64_t id);
/* Takes no more; ends its thread when what it holds is done. */
void queue_end(struct queue *queue);

/*
 * Puts an entry at the end. `work` may be NULL (a mark and no more), `after` too (what the entry
 * waits for besides its order). On success the work is the queue's, and `*mark` (where wanted) is
 * held for the caller. On an error (CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_HANDLE for one
 * that has ended) the work is still the caller's.
 */
CUresult queue_put(struct queue *queue, const struct work *work, struct mark *after,
                   struct mark **mark);
/* All that the queue holds now, for the legacy one with what it would wait for: is it done, wait
 * for it. */
bool queue_is_idle(struct queue *queue);
void queue_wait(struct queue *queue);

/* Holding NULL gives NULL, dropping it does nothing. */
struct mark *mark_hold(struct mark *mark);
void mark_drop(struct mark *mark);
/* One that is done now. NULL: no memory. */
struct mark *mark_now(void);
bool mark_is_done(struct mark *mark);
/* Returns when done, when the process ends, or when `stop` (may be NULL) is set. */
void mark_wait(struct mark *mark, const atomic_bool *stop);
/* CLOCK_MONOTONIC in nanoseconds at which it was done; 0 until then. */
int64_t mark_time(struct mark *mark);

/* Short wait of a polling work: false when it is to give up. */
bool queue_pause(const atomic_bool *stop);

#endif
