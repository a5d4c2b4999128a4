/* run_journals.h - what the journals of one `cuvet run` add up to. */
#ifndef TOOLS_RUN_JOURNALS_H
#define TOOLS_RUN_JOURNALS_H

#include <stdint.h>
#include "value/skip.h"

enum { RUN_LOST_SHOWN = 8 };

struct run_totals {
    uint64_t processes; /* that started checking */
    uint64_t running;   /* that still run: they outlived the program */
    uint64_t unended;   /* that left no end line and are gone */
    uint64_t unended_pid[RUN_LOST_SHOWN];
    uint64_t refused;    /* files under the run's name that another user made, or that are links */
    uint64_t unreadable; /* whole files' worth of lines that are not ours to read */
    uint64_t seen, checked, match, mismatch, inconclusive, lost_lines;
    uint64_t skipped[SKIP_COUNT]; /* unchecked launches by their reason */
    uint64_t unbalanced;          /* processes whose counters did not add up */
};

/* Adds up the lines whose "run" is `run` in the journals of `folder` whose name ends with it; no
 * clock is read. A process without an end line counts with the findings that it wrote. */
void run_journals_read(struct run_totals *totals, const char *folder, const char *run);

#endif
