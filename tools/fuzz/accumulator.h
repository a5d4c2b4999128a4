/* accumulator.h - the precision that a wrong sum of integers was kept in. */
#ifndef TOOLS_FUZZ_ACCUMULATOR_H
#define TOOLS_FUZZ_ACCUMULATOR_H

#include "tools/fuzz/subject.h"

struct fuzz_accumulator {
    const char *name; /* "bf16", "f16"; NULL: nothing is known */
    int wrong;        /* small integers are summed exactly, those up to 2^wrong are not */
    unsigned runs;    /* launches that it took */
};

/* Of a case with a mismatch, whose arrays hold FUZZ_integers: launches it again with the large
 * number left out, and with each in turn. The first that fails names the accumulator. Where the
 * case fails without a large number, it is the formula that is wrong. The subject's last case is
 * then another one. */
enum status fuzz_accumulator_find(struct fuzz_subject *subject, const struct fuzz_case *c,
                                  struct fuzz_accumulator *out, struct error *err);

/* Appends what was found to the result's sentence. */
void fuzz_accumulator_describe(const struct fuzz_accumulator *found, struct fuzz_result *result);

#endif
