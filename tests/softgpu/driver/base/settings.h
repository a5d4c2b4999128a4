/* The table is read by tools/dev/check-softgpu. */
/* clang-format off */
/*
 * settings.h - the environment variables of the stand-in, read once; each has a row here and in
 * tests/softgpu/README.md. A bad value is one sentence on standard error and abort(): the reader is the
 * author of a test.
 *
 *   SOFTGPU_DEVICES=1        1 to 8
 *   SOFTGPU_ARCH=90          compute capability, 75 to 121: picks the PTX of a fatbin
 *   SOFTGPU_MEMORY=4G        of each device
 *   SOFTGPU_VERSION=13000    what cuDriverGetVersion returns; calls newer than it are not found
 *   SOFTGPU_FAIL=NAME:N=ERROR[,...]  the Nth call (from 1) of NAME fails with ERROR
 *                            (CUDA_ERROR_OUT_OF_MEMORY or its number); NAME may leave out the version
 *                            and _ptsz or _ptds; NAME * counts all calls; N * is every call
 *   SOFTGPU_FAIL_FROM=WORD   counts only calls made from a mapped file whose name holds WORD
 *   SOFTGPU_DELAY=WHICH:MS[,...]  every piece of work of a stream waits first; WHICH is low (streams made
 *                            with a priority, and that the least), default (the others) or all
 *   SOFTGPU_SEED=N           streams, blocks and warps take turns in an order drawn from N; 0: plain order
 *   SOFTGPU_STEPS=N          instructions of a warp after which a launch fails as timed out; 0: none
 *   SOFTGPU_COPIES=1         CUPTI's callbacks of cuGraphLaunch get a copy of its parameters
 *   SOFTGPU_REPORT=FILE      at exit: exec_report(), the number of calls of each function, and
 *                            what is still allocated, appended to FILE (%p is the process id)
 *   SOFTGPU_CALLS=FILE       one line a call: thread, name, result, and from which file
 *
 * The report has one line a fact, words apart by one blank; a name that can hold blanks comes last:
 *
 *   op NAME COUNT, kernel NAME LAUNCHES, line FILE LINE COUNT, function NAME COUNT   of exec_report()
 *   call NAME COUNT          the exported name, such as cuMemAlloc_v2; in the order of names
 *   leak WHAT COUNT BYTES    WHAT is context, device, pinned, registered, managed, pool, module (a
 *                            variable of one), mapped, physical, reservation; no line for none
 *
 * and the log of calls "THREAD NAME RESULT FILE" for a call, "poison CONTEXT RESULT sentence" for an error
 * that a context keeps. Both are appended to, so that several processes may share a file; a child of fork
 * writes no report.
 */
/* clang-format on */
#ifndef SOFTGPU_SETTINGS_H
#define SOFTGPU_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

enum { SETTINGS_DELAYS = 8 };

struct settings {
    unsigned devices, arch, version, copies;
    size_t memory;
    const char *fail, *fail_from, *report, *calls; /* NULL where unset */
    double delay_low, delay_default;               /* milliseconds */
    uint64_t seed, steps;
};

/* Any thread. */
const struct settings *settings(void);

/* One sentence that begins with "softgpu: ", then abort(): for what the real driver forbids so
 * strongly that it hangs or corrupts, and for mistakes in a test. */
_Noreturn void softgpu_abort(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
