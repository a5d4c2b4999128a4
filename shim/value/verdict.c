#include "value/verdict.h"

#include <math.h>
#include <stdio.h>
#include "value/check_report.h"

enum verdict verdict_of(const struct ref_verdict *numbers)
{
    if (numbers->violations > 0)
        return VERDICT_MISMATCH;
    /* A tenth, without the overflow of wide * 10. */
    if (numbers->checked == 0 || numbers->wide > numbers->checked / 10)
        return VERDICT_INCONCLUSIVE;
    return VERDICT_MATCH;
}

enum verdict verdict_of_launch(const struct check_report *report)
{
    bool found = report->state.rule || report->differs || report->parity.differ ||
                 report->projection.violations;
    return found ? VERDICT_MISMATCH : verdict_of(&report->numbers);
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

double verdict_square_ratio(const struct ref_verdict *numbers)
{
    return numbers->measured ? 12 * numbers->sum_square / (double)numbers->measured : 0;
}

double verdict_mean_signed(const struct ref_verdict *numbers)
{
    return numbers->measured ? numbers->sum_signed / (double)numbers->measured : 0;
}

double verdict_bias(const struct ref_verdict *numbers)
{
    return numbers->measured ? numbers->sum_signed / sqrt((double)numbers->measured) : 0;
}

unsigned verdict_notes(const struct ref_verdict *numbers, bool stochastic)
{
    static const double ODDS = 20.7; /* -ln(1e-9) */
    static const double LEAST_LEAN = 0.02;
    double n = (double)numbers->measured, reach = stochastic ? 1 : 0.5;
    double expected = stochastic ? 2 : 1;
    unsigned notes = 0;

    if (numbers->measured == 0)
        return 0;
    double spread = 12 * reach * reach * sqrt(ODDS / (2 * n));
    double lean = reach * sqrt(2 * ODDS / n);
    if (verdict_square_ratio(numbers) > expected + fmax(expected, spread))
        notes |= NOTE_SPREAD;
    if (fabs(verdict_mean_signed(numbers)) > fmax(LEAST_LEAN, lean))
        notes |= NOTE_LEAN;
    return notes;
}

const char *verdict_ratio_text(char out[RATIO_TEXT], double ratio, bool within)
{
    snprintf(out, RATIO_TEXT, "%.3g", ratio);
    if (within && ratio > 0.9995 && ratio < 1.0015)
        snprintf(out, RATIO_TEXT, "<1");
    return out;
}
