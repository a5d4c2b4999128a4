/*
 * out.h - the forms of a report. Each writes all of the model; the caller checks ferror().
 *
 * Text of the journals reaches a form through its escape alone: a label is data whatever it holds.
 */
#ifndef TOOLS_REPORT_OUT_H
#define TOOLS_REPORT_OUT_H

#include <stdio.h>
#include "tools/report/model/model.h"

void out_html(FILE *file, const struct model *model);
void out_text(FILE *file, const struct model *model);
void out_json(FILE *file, const struct model *model);
void out_junit(FILE *file, const struct model *model);
void out_openmetrics(FILE *file, const struct model *model);
void out_sarif(FILE *file, const struct model *model);

/* Text for HTML and XML, content and attributes alike: & < > " ' are escaped, characters that
 * XML 1.0 forbids, or that steer how text is shown, become U+FFFD. NULL is "". */
void out_escaped(FILE *file, const char *text);
/* As one word of a shell. */
void out_quoted(char *out, size_t size, const char *text);
/* "2026-11-23T12:10:00Z" */
void out_time(char out[32], int64_t ms);
/* "3.2", or "-" where nothing was checked. */
void out_ratio(char out[32], const struct model_kernel *kernel);
/* One sentence on a finding: "512 of 2048 elements outside the bound, up to 7.1 times", behind
 * "precision (own PTX): " where the kernel was held against its own PTX. */
void out_finding_text(char *out, size_t size, const struct model_finding *finding);
/* A second one, or NULL. */
const char *out_finding_more(const struct model_finding *finding);
/* The command that runs a case of `cuvet fuzz` again; "" for other findings. */
enum { OUT_AGAIN = 6000 };
void out_again(char *out, size_t size, const struct model_finding *finding);

/* What a finding is: a rule of SARIF, the type of a failure in JUnit. */
struct out_rule {
    const char *outcome, *id, *sentence;
};
enum { OUT_RULES = 8 };
extern const struct out_rule out_rules[OUT_RULES];
const struct out_rule *out_rule_of(const struct model_finding *finding);
/* The verb of cuvet that its bundle is for: "replay", or "lift" where there is no reference. */
const char *out_bundle_verb(const struct model_finding *finding);

#endif
