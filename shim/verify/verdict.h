/* verdict.h - from the reference's numbers to one word. Pure. */
#ifndef VERIFY_VERDICT_H
#define VERIFY_VERDICT_H

#include "refs/ref_abi.h"

enum verdict {
    VERDICT_MATCH,
    VERDICT_MISMATCH,
    VERDICT_INCONCLUSIVE, /* the bound was too wide to say anything of more than a tenth */
    VERDICT_COUNT
};

/* One violation makes a mismatch: no ratio, mean or cosine forgives it. */
enum verdict verdict_of(const struct ref_verdict *numbers);
const char *verdict_text(enum verdict verdict); /* "match", "mismatch", "inconclusive" */

/* Mean square of the error in output ulps, times 12: 1 for correct rounding of an exact value. */
double verdict_square_ratio(const struct ref_verdict *numbers);
/* Mean signed error in ulps times sqrt(n): about N(0, 1/12) for unbiased rounding. */
double verdict_bias(const struct ref_verdict *numbers);

#endif
