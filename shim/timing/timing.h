/*
 * timing.h - how long launches take on the GPU, from events around some of them.
 *
 * The launching thread records one event before the launch and one behind it; both were made by the
 * thread `cuvet-timing`, which reads them later. Nothing waits. A launch is not timed where its
 * stream is captured, where all events of its context are in use, and where another was timed less
 * than a millisecond ago, unless nothing is known of its kernel yet.
 *
 * An event pair takes some microseconds of its own: what the shortest launch took is subtracted, up
 * to TIMING_FLOOR_NS. A launch is left out where the host took longer than TIMING_HOST_NS between
 * the events: the GPU may have waited for it.
 */
#ifndef TIMING_TIMING_H
#define TIMING_TIMING_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "value/gpu_time.h"
#include "value/launch.h"

enum {
    TIMING_FLOOR_NS = 4000,
    TIMING_LEAST_NS = 1000,
    TIMING_HOST_NS = 50000, /* on the host; the GPU may wait for a launch that takes longer */
};

struct timing;
struct timed_graph;

/* STATUS_UNSUPPORTED: the driver lacks events. The thread starts with the first context. */
enum status timing_create(struct timing **out, struct error *err);

/* Events of the launch under way on one thread. All zero: it is not timed. */
struct timing_pair {
    struct timing_slot *slot;
    unsigned number;
    int64_t began; /* clock_ns() behind the first event */
};

/* Around a launch, on its thread, at `now`, clock_ns(). `timing` NULL: nothing is timed. */
void timing_begin(struct timing *timing, const void *context, const void *stream, int64_t now,
                  struct gpu_time *into, struct timing_pair *pair);
void timing_end(struct timing *timing, const void *stream, struct timing_pair *pair, bool ran);

/* Whether to time this launch of a registered kernel in the pipeline. The first is not: it may load
 * code. */
bool timing_due(struct gpu_time *time);
/* NULL for the first sample of a kernel without an entry, else what it is given: no other sample is
 * left out, for they are few. */
struct gpu_time *timing_loaded(struct gpu_time *time);

/* The context ends: its events are not used again. Any thread. */
void timing_context_going(struct timing *timing, const void *context);

/* ---- graphs: a replay is timed as a whole, and its time split among its kernels ---- */

struct timed_part {
    struct gpu_time *into;
    uint32_t nodes;
};

/* NULL: no memory, or nothing is timed. The parts are copied. It stays when the graph has ended. */
struct timed_graph *timing_graph(struct timing *timing, const struct timed_part *part,
                                 uint32_t parts);
/* Around a launch of the graph. `own`: nothing of ours runs in it. */
void timing_replay_begin(struct timing *timing, struct timed_graph *graph, const void *context,
                         const void *stream, struct timing_pair *pair);
void timing_replay_end(struct timing *timing, struct timed_graph *graph, const void *stream,
                       struct timing_pair *pair, bool ran, bool own);

/* Reads what is there, and ends the thread within `wait_ms`. Replays are split from here on. */
void timing_stop(struct timing *timing, int wait_ms);

/* Launches and replays that were timed. */
uint64_t timing_count(const struct timing *timing);

#endif
