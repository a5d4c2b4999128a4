/*
 * check.h - one sampled launch on its way to a verdict: the value that travels from the program's
 * thread to the collector. Lives in a slot of its context's side; the state names the thread that
 * owns the slot.
 */
#ifndef CONTEXT_CHECK_H
#define CONTEXT_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>
#include "bind/binding.h"
#include "context/reclaim.h"
#include "value/check_report.h"
#include "gate/gate.h"
#include "gate/ledger.h"

enum check_state {
    CHECK_FREE,      /* in the free list */
    CHECK_FILLING,   /* the program's thread, between ENTER and EXIT of the launch */
    CHECK_SUBMITTED, /* the collector: waiting for the seal */
    CHECK_ABANDONED, /* the collector: the launch failed; release once sealed */
};

/* Parameters of nearly all launches, and of those with as many as CUDA allows, of which
 * LARGE_PARAMS may be under way in a context. */
enum { CHECK_PARAMS = 4096, CHECK_LARGE_PARAMS = 32764, LARGE_PARAMS = 16 };
enum { CHECK_RANGE = 160, CHECK_FLOWS = 9, NOT_COPIED = -1 };

/* Where an array's bytes lie in the snapshot. */
struct placement {
    int64_t before, after; /* offsets of element 0, or NOT_COPIED */
    int64_t stride[8];     /* elements, in the snapshot, for bound_array.dim */
    uint64_t bytes;        /* of the copied span, from element 0 */
    int64_t scratch;       /* of indices that name rows, see touch.h; 0: they name none */
};

/* Of a launch whose entry has `state` or `flow`: where it stands among those of its cache, and of
 * its arrays, caches.h. */
struct state_moment {
    uint64_t cache;            /* its address; 0: there is none */
    const atomic_bool *shared; /* appends to it come on several streams; NULL: there is none */
    uint64_t appends;          /* launches that wrote it before this one ... */
    uint64_t replays;          /* ... and replays of graphs with such kernels, and other breaks */
    struct flow_moment {
        uint64_t array; /* address of an array of the entry's `flow`, the last the token of named
                         * positions; 0: not known */
        uint64_t turn;  /* launches that had the array before this one */
    } flow[CHECK_FLOWS];
};

/* Other rows of the cache may change while the launch runs. */
static inline bool moment_is_shared(const struct state_moment *moment)
{
    return moment->shared && atomic_load_explicit(moment->shared, memory_order_relaxed);
}

/* What the GPU wrote behind the snapshot, judge/seal.h. */
struct sealed {
    bool read;     /* by the collector ... */
    int64_t at;    /* ... at this time, clock_ns() */
    bool ordinary; /* the outlier gate did not select the launch, nothing was copied */
    bool missed;   /* an address in device memory was not followed */
    uint64_t value[SNAPSHOT_VALUES]; /* the words of binding.values */
};

struct side_reference;

struct check {
    _Atomic(enum check_state) state;
    uint32_t slot;
    struct arena_room room;
    struct sealed seal;
    bool started;                           /* the collector has given it a lane */
    uint64_t sequence;                      /* what the seal will hold */
    const struct side_reference *reference; /* the kernel that judges it; the collector's */
    struct known_kernel *kernel;
    const struct kernel_spec *typed; /* of the types that the launch decided; NULL: kernel->spec */
    uint64_t launch;                 /* among the launches of its kernel */
    uint64_t executed;               /* the same without those that were captured */
    struct graph_place place;
    char range[CHECK_RANGE]; /* the NVTX ranges that it was launched in, ranges.h */
    struct state_moment moment_of_state;
    struct gate_answer gate; /* its turn is given back where there is no room for the snapshot */
    struct account account;  /* its probes: NULL unless the outlier gate probes the launch */
    struct check_cost cost;
    struct outlier_probe { /* of that probe */
        int index;         /* of the signature's statistics */
        uint32_t epoch;    /* of those */
        bool centroid;     /* its detector passes distances to the collector */
        const char *input[OUTLIER_SPEC_INPUTS];
        struct outlier_call_report found; /* the collector's, from the seal */
    } probe;
    struct check_projection { /* the launch's, where it is projected: project.h */
        bool made;
        int output;      /* tensor of the call */
        uint64_t offset; /* of the answer in the snapshot */
        int64_t rows; /* of one matrix of a batch, or part of the columns; 0: there is one alone */
        int64_t columns; /* of a part; 0: there are none */
    } projection;
    struct check_module {
        struct kernel_home home;
        uint64_t moment;  /* images_moment() behind the launch */
        uint64_t unloads; /* module_unloads() before it */
    } module;
    struct configuration how; /* its function is known where there is a contract */
    uint32_t cluster[3];
    bool cooperative;
    struct binding binding;
    struct placement placement[SPEC_MAX_ARRAYS];
    struct check_params {      /* packed, for the bundle */
        size_t bytes;          /* 0: there is no room for them */
        const uint8_t *packed; /* `few`, or one of slot.large_params: ... */
        int large;             /* ... number of that, from 1; 0: none */
        uint8_t few[CHECK_PARAMS];
    } params;
};

/* What the launch is judged by. */
static inline const struct kernel_spec *check_spec(const struct check *check)
{
    return check->typed ? check->typed : check->kernel->spec;
}

#endif
