/*
 * timeline.h - counts of events over time, in TIMELINE_BINS bins whose width doubles as the span
 * grows: any number of events in a fixed memory, in any order. Pure.
 */
#ifndef TOOLS_REPORT_TIMELINE_H
#define TOOLS_REPORT_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

enum { TIMELINE_BINS = 128, TIMELINE_KINDS = 3 };

struct timeline {
    bool used;
    int64_t width, first; /* ms of a bin; number of bin 0, counted from the epoch */
    int64_t last;         /* highest bin with an event, relative to `first` */
    uint64_t count[TIMELINE_KINDS][TIMELINE_BINS];
};

/* `ms` since 1970. */
void timeline_add(struct timeline *timeline, int kind, int64_t ms, uint64_t count);

#endif
