/*
 * cuvet.h - functions of libcuvet.so that a program may call.
 *
 * No program needs this header: cuvet checks unmodified programs. A program that controls it
 * resolves the names at run time (dlsym, ctypes) or declares them weak, and links nothing:
 *
 *     int (*flush)(int) = dlsym(RTLD_DEFAULT, "cuvet_flush");
 *     if (flush && flush(1000) == CUVET_OK)
 *         puts("all checks so far are done");
 *
 * Every function may be called from any thread, at any time, by several at once, also from a
 * callback of cuvet. None ends the program, throws or touches its CUDA state; only those that take
 * a time-out wait, and on_mismatch, for at most a second.
 *
 * Where nothing is checked, each returns CUVET_INACTIVE and changes nothing: cuvet is switched off
 * (CUVET_DISABLE, CUVET_MODE=off), has no registry, is passive beside another tool, or the process
 * is a child made by fork. Before cuInit they return CUVET_INACTIVE too, but start, stop,
 * set_sample and on_mismatch are kept and hold from cuInit on. Once the process has begun to exit,
 * all but counters and get_sample do nothing more and return CUVET_INACTIVE.
 *
 * The interface only grows: functions and the order of fields stay, new fields come at the end.
 */
#ifndef CUVET_H
#define CUVET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUVET_API __attribute__((visibility("default")))

enum cuvet_result {
    CUVET_OK = 0,
    CUVET_INACTIVE = -1,  /* nothing is checked in this process, or not yet, see above */
    CUVET_TIMEOUT = -2,   /* the time was over before the end */
    CUVET_BUSY = -3,      /* called from a callback of cuvet, where waiting would never end */
    CUVET_INVALID = -4,   /* an argument is out of its range; nothing was done */
    CUVET_NO_MEMORY = -5, /* nothing was done */
};

/* "MAJOR.MINOR.PATCH", static. */
CUVET_API const char *cuvet_version(void);

/* Launches are checked from now on. Also while they are: either way the first launches of each
 * shape (CUVET_FIRST) are due again, and the statistics of the outlier gate are reset. CUVET_OK: it
 * runs. */
CUVET_API int cuvet_start(void);

/* No launch is checked from now on (they are counted as "off"), and the checks under way are
 * finished, for which it waits at most `timeout_ms`, 0 or more. CUVET_TIMEOUT: some still are, and
 * end by themselves. CUVET_BUSY: it stopped, but did not wait. */
CUVET_API int cuvet_stop(int timeout_ms);

/* 1: launches are being checked; 0: they are not. */
CUVET_API int cuvet_is_running(void);

/* Probability that a launch is checked, 0 to 1, as CUVET_SAMPLE sets it at the start. Entries of
 * the registry with a `sample:` of their own keep it, and CUVET_BUDGET stays the upper limit. */
CUVET_API int cuvet_set_sample(double probability);
/* The probability now; -1 where nothing is checked and none was set. */
CUVET_API double cuvet_get_sample(void);

/* Waits until no check is under way, at most `timeout_ms`, 0 or more. A launch whose kernel has not
 * run yet is under way, so it waits for the GPU too; threads that go on launching may keep checks
 * under way, and then it returns CUVET_TIMEOUT. */
CUVET_API int cuvet_flush(int timeout_ms);

struct cuvet_counters {
    size_t size;         /* set it to sizeof(struct cuvet_counters); on return: the bytes that this
                          * version of the library has filled in */
    uint64_t seen;       /* launches */
    uint64_t registered; /* of them, of kernels that the registry names, and accounted for */
    uint64_t match;      /* verdicts */
    uint64_t mismatch;
    uint64_t inconclusive;
    uint64_t unchecked;       /* launches that were not checked, for whatever reason */
    uint64_t under_way;       /* neither judged nor given up yet */
    double effective_rate;    /* verdicts / registered; 0 before the first */
    double elapsed_seconds;   /* since cuInit */
    double cost_seconds;      /* of checking: the next three and the outlier gate's probes, once
                               * where they overlap */
    double thread_seconds;    /* of the program's threads inside cuvet */
    double copy_seconds;      /* of copies in the program's streams */
    double reference_seconds; /* of references beside them */
    double look_seconds;      /* of the outlier gate's probes */
    double hook_seconds; /* apart from cost_seconds: of the hook, about, by what it took of some
                            launches */
};

/* Fills what fits into out->size. CUVET_INVALID where that is less than size and seen, or over
 * 4096. Without a live cuvet the counts are 0; after the exit has begun they are the last ones. */
CUVET_API int cuvet_counters(struct cuvet_counters *out);

/* A launch that does not match. All that it points to lives during the callback only. */
struct cuvet_finding {
    size_t size;           /* bytes that this library fills in */
    const char *kernel;    /* symbol, as the driver returns it */
    const char *label;     /* how reports call the kernel */
    const char *reference; /* such as "rmsnorm" */
    uint64_t launch;       /* number among those of its kernel, from 0 */
    uint64_t elements;     /* that were compared */
    uint64_t violations;   /* that lie outside their bound */
    double worst;          /* largest error / bound; infinite for a NaN or Inf on one side alone */
    const char *bundle;    /* folder of the bundle, or NULL where none was written */
};

/*
 * Called on cuvet's own thread, one at a time, after the finding has been reported. Meanwhile no
 * check goes on: one that takes long makes launches go unchecked ("arena full", "queue full"), and
 * delays the program's exit by CUVET_EXIT_WAIT and a second at most. It may call every function of
 * this header (stop and flush return CUVET_BUSY). It must return: no exception, no longjmp, no
 * pthread_exit. It must not call CUDA, nor wait for a thread that waits for cuvet. All signals are
 * blocked in it.
 */
typedef void (*cuvet_mismatch_fn)(const struct cuvet_finding *finding, void *user);

/* The one callback from now on; NULL: none. When this returns, the former one is not running and
 * will not be called again, so what its `user` points to may be freed: except inside the callback
 * itself, where this is its last call, and with CUVET_TIMEOUT, when it has been running for a
 * second since. The new one holds in each case but CUVET_NO_MEMORY and in a child of fork. */
CUVET_API int cuvet_on_mismatch(cuvet_mismatch_fn callback, void *user);

#ifdef __cplusplus
}
#endif
#endif
