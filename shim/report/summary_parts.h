/* summary_parts.h - sentences of the summary: errors of earlier launches, time on the GPU, cost,
 * notes. */
#ifndef REPORT_SUMMARY_PARTS_H
#define REPORT_SUMMARY_PARTS_H

#include "report/counters.h"
#include "report/summary.h"
#include "value/api_error.h"

enum { API_ERROR_TEXT = 1024 };

/* The sentence for the error of an earlier launch. Names that do not fit are left out. */
void api_error_text(const struct api_error *error, char out[API_ERROR_TEXT]);

/* Makes one row of those of one label that are held against their own PTX: each image of a Triton
 * kernel has a row. Rows are in the order of counters_read_kernels, before and after. Returns how
 * many are left. */
uint32_t summary_merge_lifted(struct counters_kernel *kernels, uint32_t count);
/* The second line: shares of time on the GPU; nothing where no launch was timed. */
void summary_put_time(struct textbuf *out, const struct gpu_shares *gpu);
/* What checking has cost, with the dearest of the `count` kernels; nothing where it was nothing. */
void summary_put_cost(struct textbuf *out, const struct counters_totals *totals,
                      const struct counters_kernel *kernels, uint32_t count, bool cupti);
/* Sentences that were noted while the program ran, SUMMARY_NOTES of which are shown. */
enum { SUMMARY_NOTES_KEPT = 256 };
struct summary_notes {
    uint32_t count;
    uint64_t more; /* that are not kept */
    struct summary_note {
        char *text, *name, *reason; /* owned; name and reason NULL: of no kernel */
        uint32_t kernels;           /* of that name that have the reason */
    } note[SUMMARY_NOTES_KEPT];
};
/* False: a kernel of the name has that reason already, and this one is counted with it. `name`
 * NULL: of no kernel, never counted together. Zeroed at first; the caller's lock. */
bool summary_notes_add(struct summary_notes *notes, const char *name, const char *reason,
                       const char *text);
void summary_notes_release(struct summary_notes *notes);
/* Notes, and those that the counters of kernels give. */
void summary_put_notes(struct textbuf *out, const struct summary_notes *notes,
                       const struct counters_kernel *kernels, uint32_t count,
                       const struct summary_facts *facts);
/* Kernels without an entry. */
void summary_put_unregistered(struct textbuf *out, const struct counters_totals *totals,
                              const struct summary_facts *facts);

#endif
