/*
 * probing.h - the checks of `cuvet probe` on a case: it becomes a bundle in a temporary folder,
 * whose launch runs in a worker of its own.
 */
#ifndef TOOLS_FUZZ_PROBING_H
#define TOOLS_FUZZ_PROBING_H

#include "tools/fuzz/subject.h"

struct fuzz_probing {
    unsigned checks;                      /* PROBE_BIT of each */
    const struct worker_settings *worker; /* how the process is started in which a case is probed */
};

/* Checks, separated by commas; NULL: those that need no large memory. STATUS_INVALID: a word is
 * none of them. */
enum status fuzz_probing_checks(const char *text, unsigned *out, struct error *err);

struct fuzz_probed {
    uint64_t runs;      /* launches */
    char not_run[1024]; /* why the case was not probed; "": it was */
};

/* The case that the subject ran last, which was judged. Where a check has a finding, the outcome
 * becomes FUZZ_PROBE and the sentence names the checks. */
enum status fuzz_probing_run(const struct fuzz_probing *probing, struct fuzz_subject *subject,
                             const struct fuzz_case *c, struct fuzz_result *result, uint64_t number,
                             struct fuzz_probed *out, struct error *err);

#endif
