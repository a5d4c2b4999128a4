/*
 * lifts_reader.h - lifts kernels of fatbins on a thread of ours: their PTX is compressed, and holds
 * the kernels of a whole source file.
 *
 * The launching thread queues a job below the lock of `kernels`. The thread "cuvet-ptx" copies the
 * entry of the fatbin, unpacks it, cuts out the kernel, lifts it, and has the handle resolved
 * again. Only kernels that are launched are read. At most one text is kept, while there are jobs;
 * the jobs of that text come first.
 */
#ifndef LIFTS_READER_H
#define LIFTS_READER_H

#include <stdatomic.h>
#include <stdint.h>
#include "gate/kernels.h"
#include "judge/modules/images.h"
#include "lift/lift.h"

/* A kernel that is to be lifted. The reader's from lifts_reader_add() until it is done; then its
 * maker's, to be freed. */
struct lifts_job {
    struct lifts_job *next;
    uint64_t load; /* images_fatbin() */
    unsigned arch; /* of the device */
    const char *symbol;
    const void *function; /* the handle that is resolved again */
    /* The result: */
    uint64_t text; /* a hash of the kernel's PTX; 0: none was read */
    struct lift *lift;
    enum lift_refusal refusal;
    atomic_bool done; /* it is there */
};

struct lifts_reader;

struct lifts_reader_settings {
    struct images *images;
    struct kernels *kernels;
    uint64_t window; /* of lift_make */
    /* On the reader's thread: a job was done. Takes job->lift. */
    void (*done)(void *user, const struct lifts_job *job);
    void *user;
};

/* Starts nothing. NULL: no memory. */
struct lifts_reader *lifts_reader_create(const struct lifts_reader_settings *settings);

/* Queues a job; the first starts the thread. Else LIFT_UNREAD_PTX: the reader has been stopped; or
 * LIFT_OTHER: no thread can be started. Any thread, one at a time. */
enum lift_refusal lifts_reader_add(struct lifts_reader *reader, struct lifts_job *job);

/* The thread ends after the job under way, for which `wait_ms` is waited. Jobs that are queued stay
 * undone. Once; not in a forked child. */
void lifts_reader_stop(struct lifts_reader *reader, int wait_ms);

#endif
