/*
 * trace.h - every launch, recorded on the program's thread and written by cuvet's own.
 *
 * A thread notes its launches in a ring of its own: no lock, no allocation after its first launch,
 * no file. The thread `cuvet-trace` empties the rings. A launch that finds its ring full is counted
 * as dropped; the program never waits.
 *
 * While a trace is taken every launch goes through the pipeline: none is passed over by the hook's
 * own look-up (gate/tally.h), so a launch costs more than without.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include "base/error.h"
#include "trace/trace_record.h"

struct trace;

struct trace_settings {
    /* Called on the thread of the trace; `flush` after a round that had records. */
    void (*write)(void *user, const struct trace_record *record);
    void (*flush)(void *user);
    void *user;
};

struct trace_counts {
    uint64_t launches, dropped;
};

enum status trace_create(struct trace **out, const struct trace_settings *settings,
                         struct error *err);

/* A record of the calling thread to fill in, or NULL: its ring is full, or there is none for it.
 * trace_commit hands it over; nothing else of the trace is called in between. */
struct trace_record *trace_begin(struct trace *trace);
void trace_commit(struct trace *trace);

/* Writes what is noted and ends the thread, within `wait_ms`. STATUS_TIMEOUT: it still runs. */
enum status trace_stop(struct trace *trace, int wait_ms, struct trace_counts *counts);

/* Fills in what the launch itself holds: shape, stream, parameters, where arrays lie. Calls the
 * driver: queries alone. Pointers of unknown arrays are left out. */
void trace_note_launch(struct trace_record *record, const struct launch *launch,
                       const struct kernel_spec *spec, const struct param_layout *layout);

/* Fills in the thread's open NVTX ranges. */
void trace_note_range(struct trace_record *record);

#endif
