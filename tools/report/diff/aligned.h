/*
 * aligned.h - the launches of two runs with digests, paired in order although one run has launches
 * that the other lacks (`cuvet diff --align`).
 *
 * Processes are held against each other by their number. Within one, launches in their order are
 * paired in two turns: first those of one kernel, grid, block and hash of inputs, then between
 * these the ones of one kernel, grid and block. Both runs are in memory. One thread.
 */
#ifndef TOOLS_REPORT_ALIGNED_H
#define TOOLS_REPORT_ALIGNED_H

#include "tools/report/diff/digests.h"

struct aligned_run {
    struct digest_line *line; /* texts are the run's, slots are left out */
    size_t count, capacity;
    void *texts; /* a tree of tsearch */
};

enum status aligned_add(struct aligned_run *run, const struct digest_line *line, struct error *err);
void aligned_release(struct aligned_run *run);

/* A pair, or a launch that one run alone has: then the other is NULL. */
typedef void (*aligned_fn)(void *user, const struct digest_line *first,
                           const struct digest_line *second);

/* Calls `each` for every launch of both runs, in the order of the first where it has the launch.
 * Sorts the runs. */
enum status aligned_visit(struct aligned_run *first, struct aligned_run *second, aligned_fn each,
                          void *user, struct error *err);

#endif
