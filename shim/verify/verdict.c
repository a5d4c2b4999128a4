#include "verify/verdict.h"

#include <math.h>

enum verdict verdict_of(const struct ref_verdict *numbers)
{
    if (numbers->violations > 0)
        return VERDICT_MISMATCH;
    /* A tenth, without the overflow of wide * 10. */
    if (numbers->checked == 0 || numbers->wide > numbers->checked / 10)
        return VERDICT_INCONCLUSIVE;
    return VERDICT_MATCH;
}

const char *verdict_text(enum verdict verdict)
{
    static const char *const texts[VERDICT_COUNT] = {
        [VERDICT_MATCH] = "match",
        [VERDICT_MISMATCH] = "mismatch",
        [VERDICT_INCONCLUSIVE] = "inconclusive",
    };

    if ((unsigned)verdict >= VERDICT_COUNT)
        return "unknown";
    return texts[verdict];
}

/* The sums run over finite pairs, which nobody counts: pairs of another class are known not to be
 * among them, pairs of equal NaN or Inf are so rare that they may stay in the divisor. */
static double finite_pairs(const struct ref_verdict *numbers)
{
    if (numbers->checked <= numbers->class_mismatch)
        return 0;
    return (double)(numbers->checked - numbers->class_mismatch);
}

double verdict_square_ratio(const struct ref_verdict *numbers)
{
    double pairs = finite_pairs(numbers);

    return pairs > 0 ? 12 * numbers->sum_square / pairs : 0;
}

double verdict_bias(const struct ref_verdict *numbers)
{
    double pairs = finite_pairs(numbers);

    return pairs > 0 ? numbers->sum_signed / sqrt(pairs) : 0;
}
