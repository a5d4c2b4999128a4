/* shrink.h - the smallest case that a kernel still fails. */
#ifndef TOOLS_FUZZ_SHRINK_H
#define TOOLS_FUZZ_SHRINK_H

#include "tools/fuzz/subject.h"

/* How long it may take. */
struct fuzz_shrink {
    unsigned runs; /* at most */
    double seconds;
};

/*
 * Tries smaller sizes, then plainer data, and keeps each step after which the outcome is still a
 * finding. Afterwards *c and *result are those of the smallest, which the subject ran last.
 */
enum status fuzz_shrink_case(struct fuzz_subject *subject, const struct fuzz_shrink *limits,
                             struct fuzz_case *c, struct fuzz_result *result, unsigned *runs,
                             struct error *err);

#endif
