/*
 * journal.h - what happened, as JSON lines: one file a process, REPORT/journal-HOST-PID.jsonl, or
 * REPORT/journal-HOST-PID-RUN.jsonl where CUVET_RUN names a run.
 *
 * Format, version 1. Each line is one object and one write(2). It begins, in this order, with
 * "v" (the version), "event", "time" (UTC, ISO 8601), "host", "pid", then "rank" (base/rank.h) and
 * "run" (CUVET_RUN) when there are such. Events:
 *
 *   start         the program, the options, the registry's files and number of entries
 *   kernel        first launch of a registered kernel: symbol, label, reference, where
 *   dims          first checked launch of a kernel: the sizes of the reference's dims, and each
 *                 array's dims by the signature ("shape") and by the formal ("formal_shape")
 *   finding       a mismatch: kernel, launch, shapes, numbers, elements, bundle, part checked; of
 *                 `cuvet fuzz` the outcome of the case ("fault"), its seed and its image as well
 *   inconclusive  the same of a launch whose bound was too wide
 *   note          the same of a match whose errors are odd together: "notes" has "spread", "lean"
 *   digest        hashes of what a checked launch read and wrote (CUVET_DIGEST)
 *   warning       a sentence
 *   launch_error  first launch of its kind that the driver refused
 *   api_error     the error of an earlier launch, as a later call returned it
 *   contract      at the end: what came of one contract of the registry
 *   lint          what a rule of cuvet lint notes about a launched kernel (CUVET_LINT)
 *   control       checking was steered: "what" is "start", "stop" or "sample P"
 *   interim       counts so far, of a kernel or, without one, of the process: members as in
 *                 `totals` and `end`; they count where the process leaves no `end`
 *   totals        at the end: the counters of one kernel; "ratios" as counters_ratio_bin() has them
 *   end           at the end: the counters of the process; without it the process was killed
 *
 * Of one kernel the first 64 findings and the first 4 inconclusive launches and notes are written,
 * then each whose number is a power of two; "occurrence" is its number, the totals count all.
 * Bump JOURNAL_VERSION whenever a field changes its meaning or goes, or the head changes its order;
 * a new field or event needs no bump. journal_read.h is the other half: change both together.
 *
 * A descriptor that the program has closed, or uses for a file of its own by now, is never written
 * to: the file is opened again by its name. A file that belongs to another user, has a second name
 * or is a link is not written to at all.
 *
 * Threads: any, one mutex. Blocks on the disk: not for the launch path. A NULL journal (no report
 * folder) and a journal after fork (in the child) do nothing. When the disk refuses a line or the
 * quota is used up, that is reported once, later lines are only counted, and the program goes on;
 * the `end` line has its bytes of the quota set aside.
 */
#ifndef REPORT_JOURNAL_H
#define REPORT_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "base/options.h"
#include "report/contracts.h"
#include "report/counters.h"
#include "report/quota.h"
#include "value/api_error.h"
#include "value/check_report.h"
#include "value/lint_note.h"

enum { JOURNAL_VERSION = 1, JOURNAL_END_BYTES = 4096 };

struct journal;

/* Opens the file, making `folder` (mode 0700) if need be. A NULL or empty folder gives a NULL
 * journal and STATUS_OK. On failure *out is NULL too and err has the reason: the caller reports it
 * and goes on. `run` may be NULL; `quota` must outlive the journal. */
enum status journal_create(struct journal **out, const char *folder, const char *run,
                           struct quota *quota, struct error *err);
void journal_destroy(struct journal *journal); /* closes; writes no end line */

void journal_start(struct journal *journal, const struct options *options, uint64_t entries);
void journal_kernel(struct journal *journal, const struct kernel_spec *spec);
/* A finding, inconclusive or note line by the report; nothing for a match without notes. `bundle`
 * is the path of the bundle, or NULL. */
void journal_check(struct journal *journal, const struct check_report *report, const char *bundle);
/* How the arrays of a launch became what the reference takes. */
void journal_dims(struct journal *journal, const struct check_report *report);
/* The hashes of a checked launch, where they were made. */
void journal_digest(struct journal *journal, const struct check_report *report);
void journal_warning(struct journal *journal, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void journal_control(struct journal *journal, const char *what);
void journal_launch_error(struct journal *journal, const char *symbol, const uint32_t grid[3],
                          const uint32_t block[3], const char *error_name);
void journal_contract(struct journal *journal, const struct contract *contract,
                      const struct contract_totals *totals);
/* `label`: the kernel's name as people read it. */
void journal_lint(struct journal *journal, const struct lint_note *note, const char *label);
/* The error of an earlier launch, and its sentence. */
void journal_api_error(struct journal *journal, const struct api_error *error, const char *text);
/* Counts so far, when the run has lasted *due_ns; sets *due_ns to when the next are due, an eighth
 * later. 0: never. None are written where they would take a large part of what the quota has left.
 * One thread at a time. */
void journal_interim(struct journal *journal, struct counters *counters, uint64_t *due_ns);
/* The totals of each kernel, then the end line. Once, as the last. */
void journal_end(struct journal *journal, struct counters *counters);

bool journal_forked(
    const struct journal *journal); /* the caller is a fork of the process that opened it */
uint64_t journal_lost(const struct journal *journal);    /* lines that were not written */
const char *journal_path(const struct journal *journal); /* "" for NULL */
/* The same, or "" where `cuvet run` removes the folder at the end. */
const char *journal_kept_path(const struct journal *journal);

#endif
