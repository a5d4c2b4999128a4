/*
 * rerun.h - a recorded launch run again by a worker (tools/worker): its memory lies in arrays of
 * the worker, with guard bytes around them, and its parameters lead there.
 *
 * Addresses of the program that the memory holds are replaced by those of the worker, and back in
 * what is returned. A launch that faults or hangs ends the worker process; the next one starts
 * another. One thread.
 */
#ifndef TOOLS_DISCOVER_RERUN_H
#define TOOLS_DISCOVER_RERUN_H

#include "tools/discover/facts/record.h"
#include "tools/worker/worker.h"

struct rerun;

/* STATUS_DRIVER: the device is not there. */
enum status rerun_open(struct rerun **out, enum worker_device device, int timeout_ms,
                       struct error *err);
void rerun_close(struct rerun *rerun); /* NULL is fine */

/* The launch that is run next; the record outlives it. STATUS_UNSUPPORTED: it cannot be, and why.
 */
enum status rerun_take(struct rerun *rerun, const struct seen_kernel *kernel,
                       const struct seen_sample *sample, struct error *err);

/* One run. By region of the sample; memory that is `owned` is the run's. */
struct rerun_run {
    enum worker_outcome outcome;
    char sentence[640]; /* why it did not run to its end */
    double ms;
    const uint8_t *held[SEEN_POINTERS];  /* before the launch */
    const uint8_t *after[SEEN_POINTERS]; /* and behind it; NULL unless it ran to its end */
    uint8_t *owned[SEEN_POINTERS];       /* NULL: the region is as before */
    uint64_t outside;                    /* guard bytes that it wrote */
};

/* Runs it with what was recorded, but for one region, `number`, that holds `held`; -1: none. `held`
 * outlives the run, which is to be released. STATUS_OK whatever its outcome is. */
enum status rerun_launch(struct rerun *rerun, int number, const uint8_t *held,
                         struct rerun_run *out, struct error *err);
void rerun_release(struct rerun_run *run);

#endif
