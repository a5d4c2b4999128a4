/*
 * linter.h - holds the PTX of launched kernels against the rules of `cuvet lint`, outside of the
 * program (CUVET_LINT).
 *
 * The launching thread notes a kernel whose handle is new. A thread of ours finds the image of its
 * module and sends it to a process `cuvet lint --serve`, which answers with notes. Each kernel of
 * each image is sent once. What is not linted is counted by reason. A process that ends or is late
 * is started again, LINTER_STARTS times in all.
 */
#ifndef LINTER_LINTER_H
#define LINTER_LINTER_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "gate/kernels.h"
#include "judge/modules/images.h"
#include "value/lint_note.h"

/* Kernels at most; notes kept; time for one kernel. */
enum { LINTER_KERNELS = 8192, LINTER_NOTES = 256, LINTER_KERNEL_MS = 30000, LINTER_STARTS = 3 };

#define LINTER_MISS_LIST(MISS)                                                                     \
    MISS(NO_PTX, "no PTX at hand")                                                                 \
    MISS(UNREAD, "PTX that could not be analysed")                                                 \
    MISS(LATE, "not done in time")                                                                 \
    MISS(LOST, "the process that lints ended")                                                     \
    MISS(FULL, "too many kernels")                                                                 \
    MISS(UNDONE, "the program ended first")

enum linter_miss {
#define MISS(name, text) LINTER_MISS_##name,
    LINTER_MISS_LIST(MISS)
#undef MISS
        LINTER_MISSES
};
const char *linter_miss_text(enum linter_miss miss);

struct linter;

struct linter_settings {
    struct images *images;
    const char *tool;                         /* path of the program cuvet; copied */
    const char *version;                      /* cuvet_version() */
    const char *config, *tolerances, *tables; /* CUVET_CONFIG, ...; outlive the linter */
    char *const *env;                         /* of the program */
    int kernel_ms;                            /* for one kernel; 0: LINTER_KERNEL_MS */
    /* On the linter's thread: each note once; why nothing can be linted, one sentence. */
    void (*note)(void *user, const struct lint_note *note);
    void (*complain)(void *user, const char *sentence);
    void *user;
};

struct linter_counts {
    unsigned linted, missed[LINTER_MISSES];
    unsigned notes; /* all, with those that were not kept */
};

/* Starts nothing. On a thread that may call getenv. */
enum status linter_create(struct linter **out, const struct linter_settings *settings,
                          struct error *err);
void linter_destroy(struct linter *linter); /* after a stop that was true; NULL is fine */

/* A kernels_sight_fn, whose user is the linter: two queries of the driver, a lock of ours. */
void linter_see(void *user, const struct launch *launch, const struct known_kernel *kernel);

/* Waits for what is under way, `wait_ms` at most, and ends thread and process; once. False: the
 * thread did not end in time, and nothing may be freed. */
bool linter_stop(struct linter *linter, int wait_ms);

/* Any thread. The notes that are kept, by number from 0; false: there is none. */
struct linter_counts linter_count(struct linter *linter);
bool linter_note(struct linter *linter, unsigned number, struct lint_note *out);

#endif
