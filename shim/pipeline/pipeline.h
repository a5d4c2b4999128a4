/*
 * pipeline.h - the coordinator of a launch: find its record, gate, snapshot, submit; section "The
 * life of a launch" of shim/README.md in code.
 *
 * pipeline_enter and pipeline_exit run on the program's thread, around the real launch, with a
 * ticket between them. They enqueue and never wait: no allocation, module load, synchronisation or
 * file I/O, but for the first launch of a kernel and the first in a new context.
 */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "judge/collector.h"
#include "bind/earlier.h"
#include "gate/gate.h"
#include "judge/modules/images.h"
#include "gate/kernels.h"
#include "extra/outlier.h"
#include "extra/project.h"
#include "context/side.h"
#include "timing/timing.h"
#include "value/sink.h"
#include "copy/snapshot.h"

struct recorder;
struct trace;
struct caches;
struct pairs;

struct pipeline {
    struct kernels *kernels;
    struct gate *gate;
    struct outliers *outliers;
    struct sides *sides;
    struct collector *collector;
    struct images *images; /* NULL: no bundle has one */
    const struct sink *sink;
    struct trace *trace;       /* NULL: none is taken */
    struct recorder *recorder; /* NULL: nothing is recorded */
    struct timing *timing;     /* NULL: no launch is timed */
    uint64_t seed;             /* of the subsets that references draw */
    uint64_t subset;           /* bytes of a larger launch that are checked, CUVET_SUBSET; 0: all */
    struct caches *caches;
    struct pairs *pairs; /* of contracts; NULL: no launch follows another */
    double freivalds;    /* probability that a check of a product projects it, CUVET_FREIVALDS */
    bool sync;           /* each launch is waited for, CUVET_SYNC */
    int ready_wait_ms;   /* for the set-up, by the first launch of a context that needs it */
    bool eager;          /* contexts are set up when they appear, not at their first check */
};

/* What a launch carries from ENTER to EXIT; one a thread, large, so not on the stack. */
struct ticket {
    struct known_kernel *kernel;
    const struct kernel_spec *spec; /* of a sampled launch; its types are the launch's */
    enum skip skip;                 /* SKIP_NONE: sampled, `check` holds it */
    bool has_earlier;               /* `earlier`, far behind, holds something */
    struct side *side;
    struct check *check;
    struct gate_answer gate;
    enum gate_result drawn; /* of a node of a graph: what its replay decided */
    enum skip otherwise; /* the bucket of the launch where the outlier gate cannot probe it; NONE:
                          * it is checked */
    double rate;         /* launches of the signature in each ns; 0: not known */
    int64_t wait;        /* ns until the budget allows its check */
    struct account account;    /* that is charged for it; its budget NULL: it was not read */
    int64_t began;             /* clock_ns() when the pipeline began with it */
    uint64_t number, executed; /* as in struct check */
    uint32_t build;            /* which function of its symbol, kernels_build() */
    struct binding binding;
    struct snapshot_plan plan;
    struct outlier_plan outlier;
    struct project_plan projection;
    struct timing_pair timed; /* events around the launch */
    struct ticket_state {
        struct state_moment moment;
        bool follows, settles; /* checked because the launch before it was; a gate picked it */
    } state;
    bool torn;              /* something went before the launch, and the driver refused the rest */
    bool blind;             /* the outlier gate cannot read its inputs; read of nodes alone */
    struct earlier earlier; /* what the thread launched before; all zero at first */
};

/* Whether the launch was passed over: then it is counted already (sink.tallies), and pipeline_exit
 * is not called. */
bool pipeline_enter(struct pipeline *pipeline, const struct launch *launch, struct ticket *ticket);

/* `result`: what the launch API returned. */
void pipeline_exit(struct pipeline *pipeline, const struct launch *launch, struct ticket *ticket,
                   CUresult result);

/* A launch that was passed over, by pipeline_enter or because no entry names its kernel, and that
 * the driver then refused. Same thread. */
void pipeline_passed_failed(struct pipeline *pipeline, const struct launch *launch,
                            CUresult result);

/* A launch whose parameters were not read, and that the driver refused. Same thread. */
void pipeline_refused(struct pipeline *pipeline, const struct launch *launch, CUresult result);

/* The steps of pipeline_enter and pipeline_exit, for launches that are nodes of a CUDA graph,
 * behind gates_select: begin passes the other gates, takes all that the check needs and enqueues
 * what comes before the launch; enqueue_after what comes behind it. */
enum skip pipeline_begin(struct pipeline *pipeline, const struct launch *launch,
                         struct ticket *ticket);
enum status pipeline_enqueue_after(struct ticket *ticket, const struct launch *launch,
                                   struct error *why);

/* A call of the program returned an error. Reported where it is an earlier launch's, once for each
 * error, with the last launches: on `stream`, or, NULL, on all streams. */
void pipeline_api_failed(const struct pipeline *pipeline, const char *api, CUresult result,
                         const void *stream);

/* Waits for a launch that the driver took, and reports it where it faults: `error` has its name,
 * and those of the kernels of a graph. */
void pipeline_sync(const struct pipeline *pipeline, const struct launch *launch,
                   struct api_error *error);

/* Reports why a kernel goes unchecked, once for each reason; SKIP_NONE: a note on one that does
 * not.
 */
void pipeline_warn(struct pipeline *pipeline, struct known_kernel *kernel, enum skip skip,
                   const char *sentence);

/* A launch of another kind (graph, legacy API): seen and counted, nothing else. */
void pipeline_count(struct pipeline *pipeline, enum skip skip);

/* The program enters or leaves a call that waits for the whole context. */
void pipeline_wait_begins(struct pipeline *pipeline, CUcontext context);
void pipeline_wait_ends(struct pipeline *pipeline, CUcontext context);

void pipeline_context_created(struct pipeline *pipeline, CUcontext context);
void pipeline_context_going(struct pipeline *pipeline, CUcontext context);

#endif
