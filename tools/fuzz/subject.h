/*
 * subject.h - a kernel on a worker's device, and what comes of launching it with a case.
 *
 * The case's pool is written twice: where the kernel works, and beside it as the reference's
 * inputs. Afterwards every byte that the kernel must not change is held against what it was, and
 * the outputs against the reference. One thread.
 */
#ifndef TOOLS_FUZZ_SUBJECT_H
#define TOOLS_FUZZ_SUBJECT_H

#include "tools/fuzz/case/case.h"
#include "tools/worker/worker.h"
#include "registry/registry.h"
#include "value/check_report.h"

/* An image in a worker, which all of its kernels share. */
struct fuzz_module {
    const void *image;
    size_t bytes;
    bool loaded;
    uint32_t id;
};

struct fuzz_subject {
    struct worker *worker;
    struct fuzz_module *module;
    char symbol[1024];
    enum worker_oracle oracle;
    struct worker_kernel kernel;
    const struct kernel_spec *spec;
    const struct fuzz_rule *rule;
    struct arena arena;
    struct arena dense; /* of the last case's plan, where its arrays' rows are touched by index */
    const struct binding_plan *whole;
    uint64_t room, pool, before; /* device memory: bytes of each, and their addresses */
    uint8_t *was, *is, *may;     /* host: the pool before and after, and what may change */
    uint64_t host_room;
    int lost;               /* cases in a row whose worker was killed from outside */
    struct binding binding; /* of the last case, where the result is `bound` */
};

struct fuzz_subject_source {
    struct worker *worker;
    struct fuzz_module *module; /* outlives the subject */
    const char *symbol;
    enum worker_oracle oracle;
    struct registry *registry;
    const struct fuzz_known *known; /* of the image */
};

/* Loads the image, resolves the kernel and compiles its rule. STATUS_NOT_FOUND: there is no such
 * kernel, no entry for it, or none with a `fuzz` mapping. STATUS_INVALID: the input is wrong. */
enum status fuzz_subject_open(struct fuzz_subject *subject,
                              const struct fuzz_subject_source *source, struct error *err);
void fuzz_subject_close(struct fuzz_subject *subject);

enum fuzz_outcome {
    FUZZ_MATCH,
    FUZZ_INCONCLUSIVE,
    FUZZ_NOT_RUN,   /* the device refused the launch, or the reference cannot judge it */
    FUZZ_LOST,      /* the worker was killed from outside: the kernel was not judged */
    FUZZ_MISMATCH,  /* outputs outside the bound: the first of the findings */
    FUZZ_UNWRITTEN, /* elements of outputs that nothing was written to */
    FUZZ_INPUT,     /* an array was changed that is read alone */
    FUZZ_OUTSIDE,   /* a byte was changed outside all arrays, or between their rows */
    FUZZ_FAULT,     /* the launch did not run to its end */
    FUZZ_HANG,
    FUZZ_PROBE, /* the case matches, and a probe of it has a finding */
    FUZZ_OUTCOMES
};
const char *fuzz_outcome_text(enum fuzz_outcome outcome);

static inline bool fuzz_is_finding(enum fuzz_outcome outcome)
{
    return outcome >= FUZZ_MISMATCH && outcome < FUZZ_OUTCOMES;
}

struct fuzz_result {
    enum fuzz_outcome outcome;
    enum verdict verdict;
    struct ref_verdict numbers; /* where the reference judged */
    bool judged;
    bool bound;          /* the subject's binding is that of the case: judged, or a fault or hang */
    char sentence[1024]; /* what was found; "" of a match */
};

/* Fails only where the worker or memory does: a fault of the subject is an outcome, and so is a
 * worker that was killed, unless that happens to several cases in a row. */
enum status fuzz_subject_run(struct fuzz_subject *subject, struct fuzz_case *c,
                             struct fuzz_result *out, struct error *err);

/* The case that the subject ran last, for journals and bundles. With a finding it is a mismatch,
 * whatever its elements are. The report borrows from all arguments. */
struct check_report fuzz_report_of(const struct fuzz_subject *subject, const struct fuzz_case *c,
                                   uint64_t number, const struct fuzz_result *result);

#endif
