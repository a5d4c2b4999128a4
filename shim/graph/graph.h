/*
 * graph.h - one executable graph of the program; internal to this folder.
 *
 * `lock` guards everything but `state` and `replays`. It is held by the collector while a twin is
 * made, and by the program's thread from ENTER to EXIT of a launch that may run the twin.
 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <pthread.h>
#include <stdatomic.h>
#include "driver/cuda_api.h"
#include "context/enqueue.h"
#include "graph/bodies.h"
#include "graph/captured.h"
#include "pipeline/pipeline.h"

struct graph_node {
    CUgraphNode program;  /* the program's handle; the node of its template */
    CUgraphNode own;      /* of the clone ... */
    CUgraph level;        /* ... and the graph that it is in: of a child graph its own */
    CUgraphNodeType type; /* ... */
    const void *function; /* of a kernel node, CUfunction or CUkernel; NULL: of a call, others */
    const char *range;    /* NVTX ranges that it was captured in; NULL: none */
    const void *given;    /* the same kernel by the handle that the program last set; or NULL */
    int32_t subject;      /* its number, or that of the call that it is part of; or -1 */
    int32_t count;        /* of a kernel node: its row of graph.count; else -1 */
    bool off;             /* disabled by the program */
    bool changed;         /* the clone has parameters that the twin has not */
    bool behind;          /* the program's node has parameters that the clone has not */
};

/* Nodes for copies: before the kernel and after it; with those of a projection. */
enum { TWIN_BEFORE, TWIN_AFTER, TWIN_PARTS, TWIN_NODES = 3 };

/* A kernel node whose kernel an entry names, or the nodes of a library call that one names. */
struct graph_subject {
    struct known_kernel *kernel;
    uint32_t node;              /* in graph.node; of a call the first one */
    uint32_t number;            /* of that among the graph's kernel nodes */
    uint32_t build;             /* kernels_build() of its function */
    uint32_t count;             /* its row of graph.count */
    struct captured_call *call; /* NULL: a kernel */
    uint32_t *part; /* of a call, in graph.node; NULL: a kernel, which is its only part */
    uint32_t parts;
    bool changed;         /* its nodes no longer match the arguments of its call, or its node
                             runs a kernel without an entry */
    CUgraphNode previous; /* the program's: what it waits for, where that is one kernel node
                             and its entry has `after`; else NULL */
    CUgraph level;        /* the clone that the node is in: of a child graph its own */
    CUgraphNode beside[TWIN_PARTS][TWIN_NODES]; /* for the copies, in their order ... */
    uint8_t nodes[TWIN_PARTS];                  /* ... so many, ... */
    uint8_t needs[TWIN_PARTS];                  /* ... where so many are needed, ... */
    uint8_t armed[TWIN_PARTS];                  /* ... of which the first ones are enabled */
    bool chosen;                                /* in the replay at hand ... */
    bool probed;                                /* ... by the outlier gate alone */
    bool blind;                                 /* the outlier gate cannot read its inputs */
    uint64_t first;   /* gate_generation() at its first check; 0: it had none */
    uint32_t tries;   /* failed ones, at its first check */
    bool has_state;   /* its entry has `state` or `position`: ... */
    uint64_t follows; /* ... 1 + the replay behind a checked one, which is checked; 0: none */
};

/* The kernel nodes of one kernel, or one library call's. */
struct graph_count {
    struct known_kernel *kernel;    /* NULL: kernels that are part of calls */
    const struct kernel_spec *spec; /* that reports count them by; NULL: by none */
    enum skip skip;                 /* why they are not checked; SKIP_NONE: they may be */
    uint32_t nodes, chosen;         /* that are not disabled; of those in the replay at hand */
    bool detects;                   /* the outlier gate probes its launches */
};

enum graph_state {
    GRAPH_COUNTED, /* no registered kernel, or no twin can be made: its launches are counted */
    GRAPH_CLONED,
    GRAPH_WANTED, /* the collector is to make the twin */
    GRAPH_READY,  /* it has one */
    GRAPH_STALE,  /* it was updated, and its new template not read */
};

struct graph_armed {
    struct side *side;
    struct check *check;
};

struct graph {
    CUgraphExec exec;
    uint32_t number; /* from 1 */
    uint64_t flags;
    pthread_mutex_t lock;
    _Atomic(enum graph_state) state;
    _Atomic(uint64_t) replays;
    atomic_bool had_twin;  /* then each launch is put in order with the last one */
    atomic_bool stuck;     /* its lock was not to be had: its launches do without */
    atomic_bool pending;   /* a replay was picked while it was stale */
    _Atomic(CUgraph) kept; /* while it is stale: a clone of its new template, or NULL */
    atomic_uint missed;    /* picked replays since an update that cannot be read */
    bool renamed;          /* some update has brought other kernels */
    bool recast;           /* some node got another kernel: detectors are to be found again, ... */
    bool has_new;          /* ... and its time to be split anew: the kernel is new in this graph */
    atomic_bool switched;  /* which nodes are off is not known: one was when it was updated, or was
                              switched off when its handle was not known */
    atomic_bool reread;    /* some update was read */
    atomic_bool reported;  /* why there is no twin */
    enum skip no_twin;     /* SKIP_NONE: there may be one; else why there is none, of which ... */
    bool has_memory, has_conditions; /* ... these are the causes */

    CUgraph clone;
    struct graph_node *node;
    struct graph_subject *subject;
    struct graph_count *count;
    uint32_t nodes, subjects, counts, counts_room, kernels;
    struct node_map index;     /* from program's handles to nodes; made when it is needed */
    uint32_t begin;            /* the subject with which the next checked replay begins */
    uint64_t all_first;        /* gate_generation() when all subjects had their first check */
    bool has_states;           /* some subject has `state` or `position` */
    bool whole;                /* all of these are checked in the replay under way */
    bool detects;              /* the outlier gate probes some subject */
    _Atomic(uint64_t) follows; /* 1 + the replay that is picked for one of them; 0: none */

    _Atomic(struct side *) side; /* that the twin was made in */
    CUgraphExec twin;
    uint64_t twin_bytes; /* by estimate */
    uint64_t served;     /* launches of the twin since it was made */
    uint64_t used;       /* graphs.picks at the last of them, or when it was made */
    atomic_bool no_room; /* twins of other graphs took all of it */
    uint32_t waited;     /* picked replays without room, of all its life */
    uint32_t spliced;    /* nodes */
    bool changed;        /* some node is */
    atomic_uint behind;  /* nodes that are: such a graph runs no twin */
    uint64_t decided;    /* 1 + replays when it was last decided whether nodes are followed ... */
    bool followed;       /* ... and the decision */
    bool lacks_nodes;    /* some subject does: the twin is to be made again */
    struct ticket *ticket;
    struct graph_armed *armed; /* in the replay at hand */
    uint32_t armed_count;

    CUevent event;                     /* behind the last launch, where ... */
    bool event_recorded;               /* ... that is so */
    bool streams;                      /* it is launched on several */
    _Atomic(uint64_t) last_stream;     /* of its last launch: order_number(), 0 if there was none */
    _Atomic(const void *) last_handle; /* of its last launch: the stream's handle, or NULL */

    struct timed_graph *time; /* of its replays, or NULL */

    struct graph *next; /* in the list that it is in */
};

/* ---- template.c: the program's template read ---- */

/* What is known of kernels, library calls and conditional nodes. */
struct graph_knowledge {
    struct kernels *kernels;
    struct captured *captured;
    struct bodies *bodies;
};
/* Fills nodes, subjects and counts from the template, and clones it if it has subjects. On failure
 * the graph is counted as far as it was read, and has no clone. Where there can be no twin, it has
 * neither a clone nor subjects: `no_twin`. */
enum status graph_read(struct graph *graph, const struct graph_knowledge *known, CUgraph template,
                       struct error *err);
/* The same from a clone that was kept, which becomes the graph's, also on failure or without
 * subjects; the program's handles of its nodes are not known. */
enum status graph_read_kept(struct graph *graph, const struct graph_knowledge *known, CUgraph kept,
                            struct error *err);
/* Of a graph without subjects the clone is not needed. */
void graph_drop_clone(struct graph *graph);
/* Why there is none, where no_twin is set. */
const char *graph_no_twin_sentence(const struct graph *graph);
/* Has its replays timed, and the time split among its kernels. Without memory: not. */
void graph_time(struct graph *graph, struct timing *timing);
/* Frees what graph_read made; the clone too, which must be unused. */
void graph_drop(struct graph *graph);
/* The node that the program calls so, or NULL. */
struct graph_node *graph_find_node(struct graph *graph, CUgraphNode program);
/* Of a library call some node has new parameters: it is no longer checked. Without memory: false.
 */
bool graph_change_call(struct graph *graph, struct graph_subject *subject);
/* The node of the clone runs another kernel than before: counts and subjects follow. False: it
 * cannot be followed. Sets `recast`. */
bool graph_change_kernel(struct graph *graph, const struct graph_knowledge *known,
                         struct graph_node *node);
/* Node number i of the subject, in graph.node. */
static inline uint32_t subject_part(const struct graph_subject *subject, uint32_t i)
{
    return subject->part ? subject->part[i] : subject->node;
}

/* What a kernel node runs, as a launch without a stream and a context; it borrows from `params`. */
void launch_of_node(const CUDA_KERNEL_NODE_PARAMS_v2 *params, struct known_kernel *kernel,
                    struct launch *launch);

/* ---- records.c: kernels without an entry, for `cuvet discover`; else nothing is done ---- */

/* The nodes of a template that lives; new parameters of one. */
void graph_record(const struct graph *graph, const struct pipeline *pipeline);
struct graph_new_params;
void graph_record_set(struct graph *graph, const struct pipeline *pipeline, CUgraphNode program,
                      const struct graph_new_params *new);

/* ---- twin.c ---- */

/* Lock held, context current; the collector's thread. `freivalds`: as pipeline.freivalds. */
enum status twin_make(struct graph *graph, struct side *side, double freivalds, struct error *err);
void twin_destroy(struct graph *graph);
/* Brings the twin up to date with the clone; what was enabled for an earlier replay is disabled. */
enum status twin_prepare(struct graph *graph, struct error *err);
/* Has kernels that are put beside the launch put into the subject's nodes. */
struct twin_place {
    struct replayed replayed;
    struct graph *graph;
    struct graph_subject *subject;
    int part;    /* TWIN_BEFORE, until the caller makes it TWIN_AFTER */
    bool lacked; /* there was no node left */
};
void twin_place_open(struct twin_place *place, struct graph *graph, struct graph_subject *subject,
                     uint64_t replay);
/* Of a subject whose check came to nothing. */
void twin_disarm(struct graph *graph, struct graph_subject *subject);

/* A twin and its original never run at the same time, as no two launches of an executable graph do.
 * On the program's thread. A stream has a number that no other has in the process's life, not even
 * one with its handle: default streams of two threads have the same handle. */
#define ORDER_UNKNOWN UINT64_MAX
uint64_t order_number(const void *stream);
/* Before a launch on that stream: it will wait for the last one. False: that left no event, so only
 * the program's own graph may follow. */
bool order_follow(struct graph *graph, uint64_t number, const void *stream);
/* Behind a launch; `number` ORDER_UNKNOWN: of a graph without subjects. False: it was the twin's,
 * and nothing can wait for it. */
bool order_note(struct graph *graph, uint64_t number, const void *stream, bool twin);

/* ---- replay.c: the replay at hand; lock held ---- */

/* How many would be checked in a drawn replay, as graph_count.chosen, where nothing is to be. */
void replay_estimate(struct graph *graph, const struct pipeline *pipeline, uint64_t replay);
/* Which subjects are to be checked: sets `chosen`. Returns how many. `forced`: the replay was not
 * drawn, but is to be one. `probes`: the outlier gate probes what is not checked. */
uint32_t replay_choose(struct graph *graph, const struct pipeline *pipeline, uint64_t replay,
                       bool forced, bool probes);
/* Sets `detects` of the graph and its kernels. */
void replay_find_detectors(struct graph *graph, const struct pipeline *pipeline);
/* Whether the budget allows a replay with outlier probes; any thread. */
bool replay_may_probe(const struct graph *graph, int64_t now);
/* Whether any replay may be picked. */
bool replay_may_pick(const struct graph *graph, const struct pipeline *pipeline);
/* Whether this one is; without the lock. */
bool replay_is_picked(const struct graph *graph, const struct pipeline *pipeline, uint64_t replay);
/* Whether some subject was checked in the replay before, and is to be in this one, too. */
static inline bool replay_follows(const struct graph *graph, uint64_t replay)
{
    return atomic_load_explicit(&graph->follows, memory_order_relaxed) == replay + 1;
}
/* The names of its kernels, each once, up to `most`, and how many; without the lock. */
size_t replay_names(const struct graph *graph, const char **name, size_t most);
/* Everything that the checks of the chosen subjects need before the launch: armed_count of them. */
void replay_arm(struct graph *graph, struct pipeline *pipeline, const void *stream,
                CUcontext context, uint64_t replay);
/* The launch is over: hands the checks over, or ends them. */
void replay_launched(struct graph *graph, struct pipeline *pipeline, CUresult result);

/* ---- trial.c ---- */

/* Whether the driver has all functions that twins need. */
bool trial_driver_serves(void);
/* Whether the driver supports what twins need; tried on test graphs. `direct`: without redirected
 * launches, which the hook provides. The collector's thread, context current; blocks for some
 * milliseconds. */
bool trial_run(struct side *side, bool direct, struct error *err);

#endif
