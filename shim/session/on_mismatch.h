/*
 * on_mismatch.h - the action of CUVET_ON_MISMATCH when a launch is a mismatch, besides reporting
 * it: none, end the program, or call a plugin.
 *
 * Threads: on_mismatch_found is the collector's; the end comes after it, on whatever thread ends
 * the session. NULL is allowed everywhere and means: nothing.
 */
#ifndef ON_MISMATCH_H
#define ON_MISMATCH_H

#include <stdbool.h>
#include "base/options.h"
#include "text/textbuf.h"
#include "value/check_report.h"

struct on_mismatch;

/* `options` and its strings must stay. NULL: no memory, or nothing to do. A plugin that cannot be
 * used is reported to `complain` in one sentence and left out. Reads `env`, starts nothing. */
struct on_mismatch *on_mismatch_create(const struct options *options, char *const *env,
                                       options_complain_fn complain, void *user);

/* The `occurrence`th mismatch of its kernel, already in the reports; `bundle` is its path, or
 * empty. True: the program is to be ended now; once at most. */
bool on_mismatch_found(struct on_mismatch *on, const struct check_report *report,
                       uint64_t occurrence, const char *bundle);

/* No more of them. Waits for the plugin, a bounded time. What became of its findings goes to *out,
 * how many were lost is returned. */
uint64_t on_mismatch_end(struct on_mismatch *on, struct textbuf *out);

/* The last step, after every report is complete: ends the program by SIGABRT, with one sentence, if
 * on_mismatch_found recorded a finding that does; else returns. */
void on_mismatch_end_program(const struct on_mismatch *on);

#endif
