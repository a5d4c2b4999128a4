/*
 * notes.h - second-level statistics of a launch that matched: the distribution of its errors.
 *
 * Each element is within its bound, yet the errors of one correct rounding are spread evenly over
 * half an ulp either way. Errors that are larger, or lean one way, are worth a note; they are no
 * finding, and decide nothing. Both tests take the elements' errors as independent, so a reference
 * that judges an element more than once (REPEATED in its text) has no such statistics.
 */
#ifndef JUDGE_NOTES_H
#define JUDGE_NOTES_H

#include "value/check_report.h"

/* Fills report->statistics and report->notes from its verdict, numbers and binding. */
void notes_fill(struct check_report *report);

#endif
