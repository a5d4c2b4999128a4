/*
 * check_report.h - the values that the judgement passes to the reports.
 */
#ifndef VALUE_CHECK_REPORT_H
#define VALUE_CHECK_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include "value/bound.h"
#include "value/kernel_spec.h"
#include "value/launch.h"
#include "value/verdict.h"

/* What a check has cost, in nanoseconds: time of the program's thread inside cuvet, of our copies
 * in the program's stream, of the reference beside it. */
struct check_cost {
    uint64_t thread, copy, reference;
    uint64_t probe;   /* of the outlier gate in the program's stream */
    uint64_t overlap; /* of all these, at the same time as another of them, or as other work */
};

/* What overlaps counts once. */
static inline uint64_t check_cost_sum(const struct check_cost *cost)
{
    return cost->thread + cost->copy + cost->reference + cost->probe - cost->overlap;
}

/* Why the outlier gate called a launch. */
struct outlier_call_report {
    const char *input;     /* name of the array; NULL: another gate picked the launch */
    const char *statistic; /* "absmax" */
    double score;          /* how far from the usual: standard deviations; centroid: the ratio */
    double threshold;      /* that the score exceeds */
    bool sigmas;           /* the score is in standard deviations */
};

/* The result of the projection of a whole product (project.h). Rows are counted through the
 * batch, or through the parts of the columns. */
struct projection_report {
    const char *array;   /* the product; NULL: the launch was not projected */
    uint64_t rows, left; /* that were compared with their bound; that could not be judged */
    uint64_t violations; /* rows outside it ... */
    int64_t first, last; /* ... which lie between these */
    int64_t worst;       /* the one that is off by the most: by `ratio` times its bound */
    double ratio;
    int64_t of; /* rows of one matrix of a batch, or part of the columns; 0: there is one alone */
    int64_t columns; /* of a part, of which each row is counted; 0: there are none */
};

/* Hashes of what a launch read and wrote (extra/digest.h). */
struct digest_report {
    bool made;
    uint64_t input, output;
    uint64_t sequence; /* of the check among those of its context */
    unsigned unseen;   /* arrays that it may read and that are not hashed */
    uint64_t executed; /* number of the launch among those of its kernel that ran: were not captured
                        */
};

/* The launch's items compared with those of earlier launches (extra/parity.h). */
struct parity_report {
    const struct contract *contract; /* NULL: the kernel has none */
    uint64_t items;                  /* that were hashed ... */
    uint64_t met;                    /* ... that an earlier launch had, too ... */
    uint64_t differ;                 /* ... and that got another output */
    bool reveals;                    /* none differs from most, and an earlier launch alone does */
    int64_t item;                    /* the first such item of this launch, and ... */
    int64_t other_item;              /* ... of the other one, which is ... */
    const struct kernel_spec *other; /* ... of this kernel */
    uint64_t other_launch;
    struct graph_place other_place;
    bool single; /* both launches have this item alone, and differ in bits */
    struct configuration how, other_how;
    unsigned with, others; /* configurations that gave this output, and the other one */
    unsigned agree;  /* found since: as many gave this output, and the other launch stands alone; 0:
                        not known */
    int64_t element; /* of a contract with a margin: the first element beyond it ... */
    double got, other_got; /* ... and the two values */
};

enum { STATE_SLOTS = 256, STATE_LIVE = 8 };

/* Hashes of rows that the launch left in a cache (state/cache_rows.h). */
struct state_slots {
    uint32_t cache, count; /* number of the cache; rows */
    struct {
        int64_t row;
        uint64_t hash;
    } slot[STATE_SLOTS];
};

/* Rows that sequences have: some of those that a launch appended or read. */
struct state_live {
    uint64_t cache; /* its address; 0: there are none */
    int count;
    int64_t row[STATE_LIVE];
};

/* What the launch did against what holds between launches (state/state.h). */
struct state_report {
    const char *rule; /* "stale"; NULL: nothing */
    char sentence[480];
    const struct state_slots *slots; /* of an append, with digests; else NULL */
    struct state_live live;
};

/* Whether a mismatch repeats, and the device that it was seen on (extra/hardware.h). */
struct hardware_report {
    bool enabled;                 /* CUVET_PROFILE=sdc */
    bool suspected;               /* it does not repeat, so the hardware is */
    bool again, repeats;          /* the reference ran again; and finds the worst element wrong */
    uint64_t matches, mismatches; /* earlier checks of launches of the same signature */
    char uuid[48];                /* "": not known */
    uint32_t clock;               /* of the multiprocessors, MHz; 0: not known */
    int32_t celsius;              /* -1: not known */
    int64_t ecc;                  /* uncorrected errors of the memory; -1: not known */
};

/* The case of `cuvet fuzz` that the launch is. */
struct case_report {
    const char *outcome;        /* "write outside"; NULL: the launch is no case with a finding */
    const char *sentence;       /* what was found */
    uint64_t seed;              /* that draws the case */
    const char *config, *image; /* the registry's files, separated by ':'; the kernel's image */
};

/* One judged launch. Valid during the call that passes it on. */
struct check_report {
    const struct kernel_spec *spec;
    const struct binding *binding; /* names, shapes and roles of the arrays */
    struct ref_verdict numbers;
    enum verdict verdict; /* verdict_of_launch, once all judges are through */
    bool statistics;      /* its errors' spread and lean mean something: notes.h */
    unsigned notes;       /* enum verdict_note, or'ed */
    const char *gate;     /* why it was checked: "first", "random" or "outlier" */
    struct outlier_call_report outlier;
    bool differs; /* its output is not that of launch `earlier`, for the same input */
    uint64_t earlier;
    struct projection_report projection;
    struct digest_report digest;
    struct parity_report parity;
    struct state_report state;
    struct hardware_report hardware;
    struct case_report drawn;
    uint64_t launch;          /* number of this launch among those of its kernel, from 0 */
    int device;               /* ordinal */
    struct graph_place place; /* place.graph 0: a launch by itself */
    const char *range;        /* the NVTX ranges that it was launched in; NULL or "": none */
    uint32_t grid[3], block[3], shared_bytes;
    uint32_t cluster[3]; /* zeros: the launch sets none */
    bool cooperative;
};

/* A pointer among the parameters, and the allocation that it points into. */
struct param_pointer {
    uint32_t offset;  /* in the packed parameters */
    uint64_t address; /* that stands there */
    uint64_t base, bytes;
};

/* The machine that the launch ran on; 0: not known. */
struct report_machine {
    int sm;     /* 90 */
    int driver; /* 13000 */
    int multiprocessors;
};

/* A variable of the kernel's module. */
struct bundle_variable {
    const char *name; /* mangled */
    uint64_t bytes;
    const void *value; /* at the time of the report; NULL: not known ... */
    const char *why;   /* ... for this reason */
};

/* Those that do not hold what the image begins with, and those of which that is not known. */
struct bundle_variables {
    const struct bundle_variable *list;
    size_t count;
    uint64_t unchanged; /* hold what the image begins with */
    uint64_t unread;    /* further ones, which were not read */
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
     * NaN where the reference has no value (outside a sampled subset). */
    enum status (*read_reference)(void *user, int tensor, int64_t first, int64_t count,
                                  double *out);
    const void *image; /* the module that holds the kernel, or NULL with a reason */
    size_t image_bytes;
    const char *no_image;    /* "larger than 32 MiB", ... */
    const char *vendor;      /* NVIDIA's library that the image is of, "cuBLAS"; NULL: of none */
    const char *vendor_file; /* where that lies; NULL: not known */
    /* The variables of the kernel's module, valid as long as the source. False: not known. Once for
     * a bundle; NULL: not known. */
    bool (*variables)(void *user, struct bundle_variables *out);
    const struct param_layout *layout;
    const void *params; /* the packed parameters of the launch, layout-sized */
    size_t params_bytes;
    const struct param_pointer *pointer;
    size_t pointers;
    const void *around; /* all bytes of [around_address, around_address + around_bytes) before the
                         * launch, in which the arrays lie; NULL: not known */
    uint64_t around_address;
    size_t around_bytes;
    struct report_machine machine;
};

#endif
