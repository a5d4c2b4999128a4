/* run_journals.h - what the journals of one `cuvet run` add up to. */
#ifndef TOOLS_RUN_JOURNALS_H
#define TOOLS_RUN_JOURNALS_H

#include <stdint.h>
#include "value/skip.h"

enum { RUN_LOST_SHOWN = 8 };

struct run_counts {
    uint64_t seen, match, mismatch, inconclusive;
    uint64_t skipped[SKIP_COUNT]; /* unchecked launches by their reason */
};

uint64_t run_checked(const struct run_counts *counts);

/* A process that left no end line and is gone. */
struct run_unended {
    uint64_t pid;
    char journal[256]; /* name of the file */
};

struct run_totals {
    uint64_t processes; /* that started checking */
    uint64_t running;   /* that still run: they outlived the program */
    uint64_t unended;
    struct run_unended lost[RUN_LOST_SHOWN]; /* the first of those */
    uint64_t refused;    /* files under the run's name that another user made, or that are links */
    uint64_t unreadable; /* whole files' worth of lines that are not ours to read */
    struct run_counts counts;
    uint64_t lost_lines;
    uint64_t unbalanced; /* processes whose counters did not add up */
};

/* Adds up the lines whose "run" is `run` in the journals of `folder` whose name ends with it; no
 * clock is read. A process without an end line counts with its last counts so far, and with the
 * findings that it wrote. */
void run_journals_read(struct run_totals *totals, const char *folder, const char *run);

#endif
