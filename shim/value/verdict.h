/* verdict.h - from the reference's numbers, and what else was found, to one word. Pure. */
#ifndef VALUE_VERDICT_H
#define VALUE_VERDICT_H

#include <stdbool.h>
#include "refs/abi/ref_abi.h"

enum verdict {
    VERDICT_MATCH,
    VERDICT_MISMATCH,
    VERDICT_INCONCLUSIVE, /* the bound was too wide to judge more than a tenth of the elements */
    VERDICT_COUNT
};

/* One violation makes a mismatch: no ratio, mean or cosine forgives it. */
enum verdict verdict_of(const struct ref_verdict *numbers);
struct check_report;
/* The launch's, from what the report holds so far: a finding of any judge makes a mismatch. */
enum verdict verdict_of_launch(const struct check_report *report);
const char *verdict_text(enum verdict verdict); /* "match", "mismatch", "inconclusive" */

/* Mean square of the error in output ulps, times 12: 1 for correct rounding of an exact value, 2
 * for stochastic rounding. Of the elements that were measured; 0 where none was. */
double verdict_square_ratio(const struct ref_verdict *numbers);
/* Mean signed error in ulps; and that times sqrt(n), about N(0, 1/12) for unbiased rounding. */
double verdict_mean_signed(const struct ref_verdict *numbers);
double verdict_bias(const struct ref_verdict *numbers);

enum { RATIO_TEXT = 32 };
/* Worst error/bound as reports show it, "0.13". `within`: no element is outside its bound, so 1,
 * which rounding or the reference's last thousandth makes of a ratio just below, is "<1". Returns
 * `out`. */
const char *verdict_ratio_text(char out[RATIO_TEXT], double ratio, bool within);

/* Statistics of the errors of a matching launch. */
enum verdict_note {
    NOTE_SPREAD = 1, /* they are larger than one rounding makes them */
    NOTE_LEAN = 2,   /* they lean one way */
};

/*
 * Notes, or'ed. A launch of a correct kernel gets one with a probability of at most 2e-9, whatever
 * its size, by Hoeffding's inequality: of n independent errors in [-w, w], w = 1/2 ulp (stochastic:
 * 1), the mean leaves 0 by t with at most 2 exp(-n t^2 / (2 w^2)), and the mean square exceeds its
 * expectation by t with at most exp(-2 n t^2 / w^4). Under a spread of twice the expected one and a
 * lean of 0.02 ulp none is given: so far the accumulator's own error, which elements of a row may
 * share, reaches in practice. The promise is of errors that are independent: an output that repeats
 * few values has few errors.
 */
unsigned verdict_notes(const struct ref_verdict *numbers, bool stochastic);

#endif
