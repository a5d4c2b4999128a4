/*
 * counters.h - one bucket for each launch seen.
 *
 * Invariant: with nothing in flight, launches seen = sum of all buckets, where each launch went
 * into one by counters_skip or counters_check. The kernels' rows and the process's row (launches
 * of no spec: unregistered ones, graph launches, ...) are disjoint; totals add them all.
 *
 * The hot functions (seen, skip) are one relaxed atomic add in a tally that the calling thread
 * shares with few others: a few nanoseconds, no lock, no allocation, safe after fork. Launches may
 * be counted in the tallies themselves, too (gate/tally.h). NULL counters
 * are allowed everywhere and count nothing.
 *
 *     counters_add_kernel(c, spec);                     at a kernel's first launch
 *     counters_seen(c);                                 each launch
 *     counters_skip(c, -1, SKIP_UNREGISTERED);          ... one of these two
 *     counters_check(c, &report);
 */
#ifndef REPORT_COUNTERS_H
#define REPORT_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/status.h"
#include "value/check_report.h"
#include "value/gpu_time.h"
#include "value/skip.h"
#include "value/verdict.h"

struct counters;
struct tally;

struct counters *counters_create(void);                     /* NULL: no memory */
uint64_t counters_elapsed(const struct counters *counters); /* ns since then */
void counters_destroy(struct counters *counters);

/* Makes the row of spec->number. Allocates, takes a lock; any thread, again for the same spec is
 * fine. Without a row (no memory) a kernel's launches count in the process's row. */
enum status counters_add_kernel(struct counters *counters, const struct kernel_spec *spec);

/* Hot, any thread. `number` is the spec's, or -1 for no spec. */
void counters_seen(struct counters *counters);
void counters_skip(struct counters *counters, int64_t number, enum skip skip);
/* `launches` at once, seen and skipped. */
void counters_skip_all(struct counters *counters, int64_t number, enum skip skip,
                       uint64_t launches);

/* TALLIES of them: the kernel's, where it has a row, else the process's. They live as long as the
 * counters. NULL for no counters. */
struct tally *counters_tallies(struct counters *counters, int64_t number);

/* A judged launch: its verdict's bucket and its numbers. True for the first of its kernel. Takes
 * the row's lock; collector thread. */
bool counters_check(struct counters *counters, const struct check_report *report);

/* What a check of the kernel has cost. Collector thread; number -1, for no kernel: any thread. */
void counters_spent(struct counters *counters, int64_t number, const struct check_cost *cost);

/* The program ends while checks are under way that cannot be counted one by one: counters_read then
 * has what is in no bucket as SKIP_EXIT, in `other`. */
void counters_cut_short(struct counters *counters);

/* What the hook takes of a launch that is passed over, ns; 0: not known. */
void counters_hook(struct counters *counters, uint32_t ns);

/* What the launches took on the GPU, for later readers. */
void counters_gpu(struct counters *counters, const struct gpu_shares *shares);

/* A launch that the driver refused (its bucket, SKIP_LAUNCH_FAILED, is counted besides). The first
 * COUNTERS_ERRORS distinct (kernel, error) pairs keep a row with their first grid and block, later
 * ones only add to a total. True for the first launch of a pair that got a row. Any thread; takes a
 * lock with a bounded wait. */
bool counters_launch_error(struct counters *counters, const char *symbol, const uint32_t grid[3],
                           const uint32_t block[3], const char *error_name);

/* Bins of checked launches by their worst error/bound: the first is below 2^-10, bin i is from
 * 2^(i-11) to below 2^(i-10), the last is 2^12 and more, or no number. */
enum { COUNTERS_RATIOS = 24, COUNTERS_RATIO_ONE = 11 /* from 1 on */ };
int counters_ratio_bin(double ratio);

/* Reading. Values are sums over the tallies at about the time of the call. */

enum { COUNTERS_ERRORS = 64, COUNTERS_SYMBOL = 256, COUNTERS_ERROR_NAME = 64 };

struct counters_buckets {
    uint64_t verdict[VERDICT_COUNT];
    uint64_t skip[SKIP_COUNT];
};

struct counters_totals {
    uint64_t seen;
    struct counters_buckets buckets; /* of all kernels and the process's row */
    struct counters_buckets other;   /* the process's row alone */
    struct check_cost cost;          /* of all checks that have ended */
    uint64_t elapsed;                /* ns since counters_create() */
    uint32_t hook_ns;                /* counters_hook's */
    struct gpu_shares gpu;           /* counters_gpu's */
    uint32_t kernels;                /* rows; their numbers may have holes: < counters_numbers */
};

struct counters_kernel {
    const struct kernel_spec *spec;
    struct counters_buckets buckets;
    uint64_t elements; /* checked, in all verdicts */
    uint64_t violations;
    uint64_t wide;                    /* elements whose bound was too wide to judge them */
    double max_ratio;                 /* worst error / bound of any element */
    uint64_t ratios[COUNTERS_RATIOS]; /* checked launches, see above */
    uint64_t subsets;                 /* checks of a part of the launch's items ... */
    double subset_share;              /* ... and the mean share of the items that they covered */
    uint64_t projections;             /* checks that projected the whole product as well ... */
    uint64_t rows_left;               /* ... and the rows of these without a verdict ... */
    uint64_t left_launches;           /* ... and how many launches have such rows */
    uint64_t spent_ns;                /* what its checks have cost, as counters_totals.cost */
    /* Launches with a note, and the strongest of each kind: */
    uint64_t spread_launches, lean_launches;
    double note_square, note_mean; /* R, mean error in output ulps */
    /* Over launches that matched and whose errors below the bound have statistics (notes.h): */
    uint64_t narrow_elements;
    double square_ratio; /* R, as verdict_square_ratio */
    double mean_signed;  /* mean error in output ulps, with its sign */
    double bias;         /* as verdict_bias */
};

struct counters_error {
    char symbol[COUNTERS_SYMBOL], error_name[COUNTERS_ERROR_NAME];
    uint32_t grid[3], block[3];
    uint64_t count;
};

void counters_read(struct counters *counters, struct counters_totals *out);
uint64_t counters_sum(const struct counters_buckets *buckets);     /* verdicts and skips */
uint64_t counters_checked(const struct counters_buckets *buckets); /* verdicts */
bool counters_balanced(const struct counters_totals *totals); /* nothing in flight, none lost */

uint32_t counters_numbers(struct counters *counters); /* one past the largest row number */
bool counters_read_kernel(struct counters *counters, uint32_t number, struct counters_kernel *out);

/* All rows, kernels with findings first, then the busiest; the caller frees them. NULL, and a count
 * of 0: no memory. */
struct counters_kernel *counters_read_kernels(struct counters *counters, uint32_t *count);
void counters_sort(struct counters_kernel *kernels, uint32_t count);

/* Row i of the failed launches, false past the last; and those that got no row. */
bool counters_read_error(struct counters *counters, uint32_t i, struct counters_error *out);
uint64_t counters_other_errors(struct counters *counters);

#endif
