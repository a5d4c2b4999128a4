/* out.h - a report as text, JSON and SARIF 2.1.0. */
#ifndef LINT_OUT_H
#define LINT_OUT_H

#include <stdio.h>
#include "tools/lint/lint.h"

void lint_out_text(FILE *file, const struct lint_report *report);
void lint_out_json(FILE *file, const struct lint_report *report);
void lint_out_sarif(FILE *file, const struct lint_report *report);

/* The table of rules; and one rule with its explanation. */
void lint_out_rules(FILE *file);
void lint_out_explain(FILE *file, const struct lint_rule *rule);

#endif
