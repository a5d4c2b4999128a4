/* session_lint.h - CUVET_LINT: notes on the PTX of launched kernels, in journal and summary. */
#ifndef SESSION_LINT_H
#define SESSION_LINT_H

#include "base/options.h"
#include "linter/linter.h"
#include "session/session_reports.h"
#include "text/textbuf.h"

struct session_lint;

struct session_lint_parts {
    struct session_reports reports;
    const struct options *options; /* outlive it */
    struct images *images;
    struct kernels *kernels;
    char *const *env;
};

/* Before the first launch. NULL: CUVET_LINT is off, or the program cuvet is not found, which is
 * reported once. */
struct session_lint *session_lint_start(const struct session_lint_parts *parts);

/* Waits for what is under way, `wait_ms` at most. NULL: nothing, here and below. */
void session_lint_end(struct session_lint *lint, int wait_ms);

/* The summary's lines: how many kernels were linted, why others were not, and the first notes. */
void session_lint_text(struct session_lint *lint, struct textbuf *out);

#endif
