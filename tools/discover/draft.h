/*
 * draft.h - the registry file that `cuvet discover` writes: an entry for each kernel of which a
 * reference matched its recorded launches; the others as comments.
 */
#ifndef TOOLS_DISCOVER_DRAFT_H
#define TOOLS_DISCOVER_DRAFT_H

#include <stdio.h>
#include "tools/discover/facts/record.h"
#include "tools/discover/trial/rerun.h"
#include "tools/discover/trial/trial.h"

struct draft_settings {
    unsigned tries;   /* entries that are tried of a kernel; 0: none */
    unsigned seconds; /* for one kernel */
    unsigned kernels; /* that are written; 0: all */
    const char *program;
    struct rerun *rerun; /* runs recorded launches again; NULL: none is */
    /* Called before each kernel, and at the end with number == kernels; or NULL. */
    void (*progress)(void *user, size_t number, size_t kernels, const char *name, size_t found);
    /* Called before a launch is run again; or NULL. */
    void (*rerunning)(void *user, unsigned launch, unsigned launches);
    void *user;
};

struct draft_counts {
    size_t kernels, found, silent; /* silent: without recorded memory */
    size_t lines, comments;        /* of entries; of those of kernels without one */
    size_t rerun, same; /* kernels with recorded memory; those of which a launch that was run again
                           gave what was recorded */
    double found_ns;
};

/* `trial` NULL: nothing is tried. */
enum status draft_write(const struct record *record, struct trial *trial,
                        const struct draft_settings *settings, FILE *file,
                        struct draft_counts *counts, struct error *err);

#endif
