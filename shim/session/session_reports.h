/* session_reports.h - what the session's callbacks pass on to several reports at once. */
#ifndef SESSION_REPORTS_H
#define SESSION_REPORTS_H

#include "registry/registry.h"
#include "report/contracts.h"
#include "report/journal.h"
#include "report/summary.h"
#include "value/launch.h"
#include "value/skip.h"

struct session_reports {
    struct counters *counters;
    struct journal *journal;
    struct summary *summary;
};

/* A message on a kernel (sink.h, `warned`). The journal has each; standard error and the summary
 * have one for all kernels of one name and reason. */
void session_warned(const struct session_reports *reports, const char *symbol, enum skip skip,
                    const char *sentence);
/* The same of a kernel that the registry names and that no entry fits. */
void session_unfit(const struct session_reports *reports, const char *symbol, const char *sentence);

/* The driver, or a library, refused a launch. Once for each kernel and error. */
void session_launch_failed(const struct session_reports *reports, const struct launch *launch,
                           const char *error_name);

/* An earlier launch faulted: kernels are named as people read them. */
void session_api_failed(const struct session_reports *reports, const struct api_error *error);

/* A judged launch of a kernel with a contract; and, at the end, a line for each contract, to the
 * journal and to `out`. */
void session_contract_judged(const struct session_reports *reports,
                             struct contract_totals totals[CONTRACTS],
                             const struct check_report *report);
void session_contracts_end(const struct session_reports *reports, const struct registry *registry,
                           const struct contract_totals totals[CONTRACTS], struct textbuf *out);

#endif
