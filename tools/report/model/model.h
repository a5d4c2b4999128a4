/*
 * model.h - what the journals of any number of processes add up to.
 *
 * The memory is bounded whatever the journals hold: rows of kernels, processes, findings and
 * warnings are kept up to the limits below, later ones are only counted in the totals.
 *
 * A process whose journal ends with its `end` line is counted by that line and its `totals`. One
 * that was killed is counted by its last `interim` lines, and by the findings and inconclusive
 * launches behind them, whose number is the `occurrence` of their last line.
 */
#ifndef TOOLS_REPORT_MODEL_H
#define TOOLS_REPORT_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "report/counters.h"
#include "tools/report/model/lines.h"
#include "tools/report/model/timeline.h"
#include "value/skip.h"
#include "value/verdict.h"

enum {
    MODEL_KERNELS = 16384,
    MODEL_PROCESSES = 16384,
    MODEL_FINDINGS = 1000,
    MODEL_PER_KERNEL = 32, /* findings kept of one kernel ... */
    MODEL_PER_PROCESS = 4, /* ... of them in one process */
    MODEL_WARNINGS = 200,
    MODEL_ERRORS = 200,
    MODEL_LINT = 200,
    MODEL_ELEMENT = 160
};

struct model_element {
    char place[MODEL_ELEMENT]; /* "y[17][300]"; "": none */
    double got, reference, bound;
};

/* What lines of counters add up to. */
struct model_counts {
    uint64_t launches, verdict[VERDICT_COUNT], skip[SKIP_COUNT];
    uint64_t other_skips; /* for reasons that this version does not have */
    uint64_t elements, violations;
    double max_ratio;
    uint64_t ratios[COUNTERS_RATIOS]; /* checked launches by worst error/bound */
    uint64_t spread_launches, lean_launches;
};

struct model_kernel {
    char *symbol, *label, *reference, *where;
    struct model_counts counts;
    struct model_counts interim; /* so far, of the process `interim_epoch` */
    uint64_t interim_epoch;
    unsigned findings; /* kept */
    /* Of the process that is being read, before its totals: */
    uint64_t epoch, open_mismatch, open_inconclusive;
    unsigned open_findings;    /* kept */
    struct model_kernel *next; /* of its hash */
};

struct model_process {
    char *host, *run, *program, *file;
    int64_t pid, rank; /* rank -1: none */
    int64_t begin_ms, last_ms;
    int64_t interim_ms; /* of its last counts so far; 0: none */
    bool ended, balanced;
    uint64_t seen, verdict[VERDICT_COUNT], lost_lines;
    double cost, elapsed; /* seconds */
};

struct model_finding {
    const struct model_kernel *kernel;
    uint32_t process;
    int64_t time_ms;
    uint64_t launch, elements, violations, of;
    uint32_t grid[3], block[3];
    double max_ratio;
    struct model_element worst, first;
    char *gate, *bundle; /* bundle: where it is now; NULL: none */
    char *why;           /* a broken rule, a sentence; NULL: the elements are wrong */
    /* Of a case of `cuvet fuzz`, else NULL: "fault", the seed, the registry's files, the image. */
    char *outcome, *seed, *config, *image;
    bool bundle_found;
};

struct model_sentence {
    char *text;
    uint64_t count;
};

struct model {
    struct model_kernel *kernel[MODEL_KERNELS], *hash[MODEL_KERNELS], other; /* other: no row */
    uint32_t kernels;
    struct model_process *process[MODEL_PROCESSES];
    uint32_t processes; /* rows */
    uint64_t all_processes, unended, unbalanced, lost_lines, lines, cut, files;
    struct model_finding finding[MODEL_FINDINGS];
    uint32_t findings;
    uint64_t all_findings; /* lines */
    struct model_sentence warning[MODEL_WARNINGS], launch_error[MODEL_ERRORS], lint[MODEL_LINT];
    uint32_t warnings, launch_errors, lints;
    uint64_t other_sentences;
    uint64_t seen, verdict[VERDICT_COUNT], skip[SKIP_COUNT], other_skips;
    struct timeline timeline;
    /* The process that is being read: */
    struct model_process *open, spare;
    struct model_counts interim; /* its counts */
    uint64_t epoch;
    const char *file;
};

struct model *model_create(void); /* NULL: no memory */
void model_destroy(struct model *model);

/* Adds one journal. STATUS_INVALID and a sentence with file and line for what is no journal. */
enum status model_read(struct model *model, const char *path, struct error *err);
enum status model_read_stream(struct model *model, FILE *file, const char *path, struct error *err);

/* Sorts the kernels: mismatches first, then inconclusive ones, then the busiest. */
void model_finish(struct model *model);

/* "demo_softmax", or the symbol where there is no label. */
const char *model_kernel_name(const struct model_kernel *kernel);
/* Whether it was held against its own PTX: precision alone, and no reference to replay it with. */
bool model_is_lifted(const struct model_kernel *kernel);
uint64_t model_checked(const uint64_t verdict[VERDICT_COUNT]);
/* "rank 3 on node7, pid 4711", cut to `size`. */
void model_process_text(const struct model_process *process, char *out, size_t size);

#endif
