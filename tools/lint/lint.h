/*
 * lint.h - rules that a kernel's PTX is held against without being run.
 *
 * A report collects what the rules find in any number of texts. A rule is a row of lint_rules[]; it
 * gets one kernel at a time, as a flow, with the registry's entry where one names it. Findings of
 * one rule on one kernel are counted; the first LINT_EACH are kept.
 */
#ifndef LINT_LINT_H
#define LINT_LINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "registry/registry.h"

/* A warning is a finding (exit status 3). A note may be right as it is. A hint is shown on demand.
 */
enum lint_severity { LINT_HINT, LINT_NOTE, LINT_WARNING };
enum { LINT_EACH = 4 };

struct lint_kernel;
struct lint_rule {
    const char *id;
    enum lint_severity severity;
    const char *sentence; /* what is wrong, in one */
    const char *explain;  /* why it matters, and when it is right as it is */
    void (*check)(struct lint_kernel *kernel);
};
extern const struct lint_rule lint_rules[]; /* ends with a NULL id */
const struct lint_rule *lint_find_rule(const char *id);
const char *lint_severity_text(enum lint_severity severity);

struct lint_finding {
    const struct lint_rule *rule;
    enum lint_severity severity;
    const char *image;  /* where the PTX came from: "libx.so", "k.cubin" */
    const char *kernel; /* mangled */
    const char *text;
    unsigned line;      /* of the PTX */
    const char *source; /* file of .loc, or NULL */
    unsigned source_line;
    unsigned more; /* findings of this rule on this kernel that were not kept, on its last one */
};

/* A launch of the kernel that was seen. */
struct lint_launch {
    uint32_t grid[3], block[3];
    uint32_t shared; /* dynamic shared memory, bytes */
};

struct lint_settings {
    struct registry *registry;        /* or NULL */
    const char *kernel;               /* a pattern that symbols must match, or NULL */
    const char *symbol;               /* this kernel alone, or NULL */
    const struct lint_launch *launch; /* of the kernels that are linted, or NULL */
    const bool *ignored;              /* by rule, or NULL */
    enum lint_severity least;
};

struct lint_report {
    struct lint_settings settings;
    struct arena arena;
    struct lint_finding *finding;
    size_t findings, room;
    size_t texts, kernels, rows; /* PTX texts read, kernels linted, of them with an entry */
    size_t skipped;              /* kernels that could not be analysed */
    const char *first_skip;      /* why the first could not */
    const char *wrong;           /* the first wrong `lint:` of an entry, or NULL */
    size_t severity[3];
};

/* A PTX text. */
struct lint_text {
    const char *text;
    size_t length;
    const char *image;   /* names where it lay */
    const uint8_t *code; /* the cubin that carries it, whose tables may have its lines; or NULL */
    size_t code_bytes;
};

/* Lints each kernel of a PTX text. STATUS_INVALID: it is no PTX. */
enum status lint_text(struct lint_report *report, const struct lint_text *text, struct error *err);
void lint_release(struct lint_report *report);

#endif
