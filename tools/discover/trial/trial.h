/*
 * trial.h - an entry tried on recorded launches: the registry reads it as a user's file, and its
 * reference judges what the memory held after the launch.
 *
 * A trial has a worker (tools/worker) and a folder of its own. One thread.
 */
#ifndef TOOLS_DISCOVER_TRIAL_H
#define TOOLS_DISCOVER_TRIAL_H

#include "tools/discover/facts/record.h"
#include "tools/worker/worker.h"

struct trial;

enum status trial_open(struct trial **out, enum worker_device device, struct error *err);
void trial_close(struct trial *trial); /* NULL is fine */

/* The kernel whose launches the next entries are tried on: its memory goes to the worker. Returns
 * how many launches that are. */
unsigned trial_take(struct trial *trial, const struct seen_kernel *kernel);

enum trial_answer {
    TRIAL_MATCH, /* every launch that could be judged, and there was one */
    TRIAL_DIFFERS,
    TRIAL_UNFIT,  /* the registry refuses the entry, it does not go with the launches, or each
                   * verdict is inconclusive */
    TRIAL_BEYOND, /* more memory is needed than was recorded */
    TRIAL_LOST,   /* the reference took too long or failed, and its worker ended */
};

struct trial_result {
    enum trial_answer answer;
    unsigned launches; /* that match */
    double max_ratio;  /* the worst error in units of its bound */
    char sentence[640];
};

/* `text`: a registry file with one entry. */
void trial_run(struct trial *trial, const char *text, struct trial_result *out);

#endif
