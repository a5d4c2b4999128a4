/*
 * sink.h - where the judgement hands its results: the session fills it in with the reports, so that
 * the judging rooms include nothing of how they are written.
 */
#ifndef VALUE_SINK_H
#define VALUE_SINK_H

#include "value/api_error.h"
#include "value/check_report.h"
#include "value/launch.h"
#include "value/skip.h"

struct tally;

struct sink {
    void *user;
    /* A launch was seen; it will be passed to exactly one of skipped and judged. Hot, any thread.
     */
    void (*seen)(void *user);
    /* `spec` is NULL for launches of unregistered kernels. Hot, any thread. */
    void (*skipped)(void *user, const struct kernel_spec *spec, enum skip skip);
    /* Collector thread. */
    void (*judged)(void *user, const struct check_report *report,
                   const struct bundle_source *source);
    /* What a check of the kernel that has ended has cost, whatever came of it; collector thread. A
     * spec of NULL: time of the program's thread that no check pays for. */
    void (*spent)(void *user, const struct kernel_spec *spec, const struct check_cost *cost);
    /* A message for the user; once for each (kernel, reason). SKIP_NONE: a note on a kernel that is
     * checked. Any thread. */
    void (*warned)(void *user, const char *symbol, enum skip skip, const char *sentence);
    /* The driver refused a launch of the program. Any thread. */
    void (*launch_failed)(void *user, const struct launch *launch, const char *error_name);
    /* Where launches of this kernel may be counted (tally.h) instead of by seen and skipped; `spec`
     * is NULL for unregistered kernels. They live as long as the process. May be NULL, and return
     * NULL. Any thread. */
    struct tally *(*tallies)(void *user, const struct kernel_spec *spec);
    /* `launches` at once were seen and skipped: those of a CUDA graph's replay. Any thread. */
    void (*counted)(void *user, const struct kernel_spec *spec, enum skip skip, uint64_t launches);
    /* A call of the program returned the error of an earlier launch. Any thread. */
    void (*api_failed)(void *user, const struct api_error *error);
};

#endif
