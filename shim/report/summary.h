/*
 * summary.h - the text at exit: what was launched, what was checked, what was found.
 *
 * Collects the first SUMMARY_FINDINGS findings, SUMMARY_PER_KERNEL of a kernel at most, and
 * sentences while the program runs, of which SUMMARY_NOTES are shown; everything else comes from
 * the counters. Threads: any, one mutex; nothing here blocks longer than a write to standard error.
 * NULL is allowed and does nothing.
 */
#ifndef REPORT_SUMMARY_H
#define REPORT_SUMMARY_H

#include <stdint.h>
#include "text/textbuf.h"
#include "report/counters.h"
#include "value/check_report.h"

enum { SUMMARY_FINDINGS = 10, SUMMARY_PER_KERNEL = 2, SUMMARY_NOTES = 10, SUMMARY_ROWS = 40 };

struct summary;

/* Where kernels without an entry come from, if that is known. */
enum summary_origin {
    ORIGIN_UNKNOWN,
    ORIGIN_STATIC_BLAS,
    ORIGIN_OPENED_BLAS, /* a shared library, none of whose calls was seen */
    ORIGIN_XLA,
    ORIGIN_INDUCTOR,
    ORIGINS
};

/* A kernel without an entry, and its share of such launches; `of_time`: of all time on the GPU. */
struct summary_unregistered {
    const char *name;
    double share, of_time;
    enum summary_origin origin;
};

/* Parts of the summary that others collect. */
struct summary_facts {
    uint64_t entries;                                /* of the registry */
    const char *journal;                             /* path, or NULL or "" */
    uint64_t lost_lines;                             /* of the journal */
    const struct summary_unregistered *unregistered; /* the longest, or most frequent, first ... */
    size_t unregistered_count;                       /* ... so many */
    struct summary_of_origin {
        double launches, time; /* of kernels without an entry; share of the time on the GPU */
    } origin[ORIGINS];
    const char *unmet;     /* entries that named no kernel, as a list, or NULL */
    const char *precision; /* kernels held against their own PTX, the first note, or NULL */
    const char *contracts; /* a line for each contract of the registry, or NULL */
    const char *lint;      /* lines of CUVET_LINT, or NULL */
    bool calls;            /* entries name library calls */
    bool cupti;            /* CUPTI's callbacks report launches, at a price of their own */
};

struct summary *summary_create(void); /* NULL: no memory */
void summary_destroy(struct summary *summary);

/* A mismatch, with the path of its bundle or NULL. Copies what it needs. */
void summary_finding(struct summary *summary, const struct check_report *report,
                     const char *bundle);
/* Of the findings that name the launch as the other one: it is found that it stands alone. */
void summary_stands_alone(struct summary *summary, const struct parity_report *found);
/* A sentence for the reader at exit, such as a kernel whose signature does not fit. */
void summary_note(struct summary *summary, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same of a kernel, as an autotuner has dozens of one name: of one name and reason the first
 * sentence is kept, with the number of kernels. True: this is the first. */
bool summary_kernel_note(struct summary *summary, const char *name, const char *reason,
                         const char *sentence);

/* The text; and the text to standard error, in one write. */
void summary_text(struct summary *summary, struct counters *counters,
                  const struct summary_facts *facts, struct textbuf *out);
void summary_print(struct summary *summary, struct counters *counters,
                   const struct summary_facts *facts);

#endif
