/*
 * pipeline.h - THE coordinator of a launch: look up, gate, snapshot, hand over. Reads as section
 * "life of a launch" of shim/README.md.
 *
 * pipeline_enter and pipeline_exit run on the program's thread, around the real launch, with a
 * ticket between them. They enqueue and never wait: no allocation, module load, synchronisation or
 * file I/O, but for the first sight of a kernel and the first launch in a new context.
 */
#ifndef VERIFY_PIPELINE_H
#define VERIFY_PIPELINE_H

#include "judge/collector.h"
#include "bind/earlier.h"
#include "gate/gate.h"
#include "judge/images.h"
#include "gate/kernels.h"
#include "extra/project.h"
#include "context/side.h"
#include "value/sink.h"
#include "copy/snapshot.h"

struct pipeline {
    struct kernels *kernels;
    struct gate *gate;
    struct outliers *outliers;
    struct sides *sides;
    struct collector *collector;
    struct images *images; /* NULL: no bundle has one */
    const struct sink *sink;
    uint64_t seed;     /* of the subsets that references draw */
    uint64_t subset;   /* bytes of a larger launch that are checked, CUVET_SUBSET; 0: all */
    double freivalds;  /* probability that a check of a product projects it, CUVET_FREIVALDS */
    int ready_wait_ms; /* for the set-up, by the first launch of a context that needs it */
    bool eager;        /* contexts are set up when they appear, not at their first check */
};

/* What a launch carries from ENTER to EXIT; one a thread, large, so not on the stack. */
struct ticket {
    struct known_kernel *kernel;
    enum skip skip; /* SKIP_NONE: sampled, `check` holds it */
    bool remembers; /* `earlier`, far behind, holds something */
    struct side *side;
    struct check *check;
    enum gate_result gate;
    struct gate_turn *turn;
    struct gate_note *note; /* gate_answer's */
    struct budget_use *use; /* of its signature */
    uint64_t signature;     /* gate_answer's */
    enum skip otherwise;    /* what becomes of the launch where the outlier gate cannot look */
    enum outlier_detector detector;
    int index;             /* of the statistics that the outlier gate uses */
    struct budget *budget; /* that pays for it; NULL: the accounts were not asked */
    struct budget *looks;  /* the outlier gate's, where that was asked; else NULL */
    int64_t began;         /* clock_ns() when the pipeline began with it */
    uint64_t number;
    struct binding binding;
    struct snapshot_plan plan;
    struct outlier_plan outlier;
    struct project_plan projection;
    bool torn;              /* something went before the launch, and the driver refused the rest */
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

/* A launch whose parameters nobody read, and that the driver refused. Same thread. */
void pipeline_refused(struct pipeline *pipeline, const struct launch *launch, CUresult result);

/* A launch of another kind (graph, legacy API): seen and counted, nothing else. */
void pipeline_count(struct pipeline *pipeline, enum skip skip);

/* The program enters or leaves a call that waits for the whole context. */
void pipeline_wait_begins(struct pipeline *pipeline, CUcontext context);
void pipeline_wait_ends(struct pipeline *pipeline, CUcontext context);

void pipeline_context_created(struct pipeline *pipeline, CUcontext context);
void pipeline_context_going(struct pipeline *pipeline, CUcontext context);

#endif
