/*
 * check_report.h - the values that the judgement hands to those who speak of it.
 */
#ifndef VERIFY_CHECK_REPORT_H
#define VERIFY_CHECK_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include "bind/binding.h"
#include "value/kernel_spec.h"
#include "value/verdict.h"

/* What a check has cost, in nanoseconds: time of the program's thread inside cuvet, of our copies
 * in the program's stream, of the reference beside it. */
struct check_cost {
    uint64_t thread, copy, reference;
    uint64_t look;    /* of the outlier gate in the program's stream */
    uint64_t overlap; /* of all these, at the same time as another of them, or as other work */
};

/* Why the outlier gate called a launch. */
struct outlier_call_report {
    const char *input;     /* name of the array; NULL: another gate picked the launch */
    const char *statistic; /* "absmax" */
    double score;          /* how far from the usual: standard deviations; centroid: the ratio */
    double threshold;      /* that the score exceeds */
    bool sigmas;           /* the score is in standard deviations */
};

/* What the projection of a whole product said (project.h). Rows are counted through the batch. */
struct projection_report {
    const char *array;   /* the product; NULL: the launch was not projected */
    uint64_t rows, left; /* that were held against their bound; that nothing could be said of */
    uint64_t violations; /* rows outside it ... */
    int64_t first, last; /* ... which lie between these */
    int64_t worst;       /* the one that is off by the most: by `ratio` times its bound */
    double ratio;
    int64_t of; /* rows of one matrix of a batch; 0: there is one alone */
};

/* One judged launch. Valid during the call that passes it on. */
struct check_report {
    const struct kernel_spec *spec;
    const struct binding *binding; /* names, shapes and roles of the arrays */
    struct ref_verdict numbers;
    enum verdict verdict;
    bool statistics;  /* its errors' spread and lean mean something: notes.h */
    unsigned notes;   /* enum verdict_note, or'ed */
    const char *gate; /* why it was checked: "first", "random" or "outlier" */
    struct outlier_call_report outlier;
    bool differs; /* its output is not that of launch `earlier`, for the same input */
    uint64_t earlier;
    struct projection_report projection;
    uint64_t launch; /* number of this launch among those of its kernel, from 0 */
    int device;      /* ordinal */
    uint32_t grid[3], block[3], shared_bytes;
};

/* Where a bundle gets its bytes. Called on the collector thread; each may block for a while. */
struct bundle_source {
    void *user;
    /* Bytes [offset, offset + size) of array `array` of the binding as a dense row-major tensor:
     * before the launch (after = 0) or after it (after = 1). */
    enum status (*read_array)(void *user, int array, int after, uint64_t offset, void *out,
                              size_t size);
    /* Whether that side of the array was snapshotted at all. */
    int (*has_array)(void *user, int array, int after);
    /* Whether the reference computes that tensor of the ref_call: it is an output of it. */
    int (*has_reference)(void *user, int tensor);
    /* Reference values of elements [first, first + count) of tensor `tensor` of the ref_call, f64;
     * NaN where the reference did not look (a sampled subset). */
    enum status (*read_reference)(void *user, int tensor, int64_t first, int64_t count,
                                  double *out);
    const void *image; /* the module that holds the kernel, or NULL with a reason */
    size_t image_bytes;
    const char *no_image; /* "larger than 32 MiB", ... */
    const struct param_layout *layout;
    const void *params; /* the packed parameters of the launch, layout-sized */
    size_t params_bytes;
};

#endif
