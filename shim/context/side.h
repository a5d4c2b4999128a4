/*
 * side.h - everything of cuvet in one CUDA context: the arena, the checks, the side stream, the
 * kernels, the pinned words that the GPU publishes to.
 *
 * Life: sides_open when the context appears (on the program's thread: only a note), side_request at
 * the first check, side_set_up by the collector (allocations, module loads), used by both,
 * sides_close when the context goes: then the driver frees device memory with the context, and the
 * collector must have let go before. What only some checks need is made at the first of those: the
 * outlier gate's tables, the modules of references, the staging buffer of bundles.
 */
#ifndef CONTEXT_SIDE_H
#define CONTEXT_SIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include "driver/cuda_api.h"
#include "refs/abi/ref_abi.h"
#include "refs/abi/ref_list.h"
#include "context/check.h"
#include "context/outlier_side.h"
#include "device/digest_abi.h"
#include "device/project_abi.h"
#include "device/snapshot_abi.h"
#include "bind/ranges.h"
#include "context/reclaim.h"
#include "context/refused.h"
#include "context/side_user.h"
#include "context/slots.h"

enum side_state {
    SIDE_FRESH,  /* noted; no check has needed it yet */
    SIDE_WANTED, /* the collector is to set it up */
    SIDE_READY,
    SIDE_BROKEN, /* could not be set up, or the context is in error */
    SIDE_GONE,   /* its context is being destroyed */
};

/* Two launches of references may be under way in a context, so that the verdicts of one are read
 * while the next runs. */
enum { SIDE_BATCHES = 2 };

/* One check whose reference is under way. Owned by the collector. */
struct lane {
    struct check *check;      /* NULL: idle */
    CUdeviceptr partial;      /* the batch's, as are the next two */
    struct ref_call *calls;   /* pinned: the calls of a launch, where there are several ... */
    CUdeviceptr calls_device; /* ... and their copy on the device */
    CUdeviceptr ticket;
    struct ref_verdict *answer; /* pinned; its device address is answer_device */
    CUdeviceptr answer_device;
    uint64_t sequence;
    double share; /* of its launch's time that is this check's, by the size of the snapshots */
    int piece, pieces;
    struct ref_verdict numbers;            /* merged over the pieces done so far */
    CUdeviceptr digest;                    /* struct digest_sums ... */
    struct digest_sums *digest_host;       /* ... and pinned */
    bool digested;                         /* the check under way has its hashes made ... */
    uint32_t items;                        /* ... and so many of its items; 0: none */
    struct ref_product_answer *projection; /* pinned: of the check under way */
    void *state_host; /* pinned: what the rules of state/ read; NULL: not made yet */
    bool fetched;     /* the check under way has it */
};

/* One launch, of the references of several checks; a check in pieces is alone. It begins when all
 * lanes are idle, and each of them ends by itself. */
struct batch {
    struct lane lane[REF_BATCH];
};

/* What is loaded at the set-up. */
struct side_kernels {
    CUfunction snapshot, snapshot_few, snapshot_rows;
    CUfunction touch_find, touch_number;
    CUfunction digest, digest_items;
    CUfunction project_before, project_factors, project_rows;
    bool waits; /* the copy kernels do, see enqueue.h */
};

struct side_lifts;
struct ptx_compiler;
struct side_references {
    CUmodule module, wide; /* of built-in ones; NULL: not loaded yet */
    struct side_reference {
        CUfunction function;  /* NULL: not loaded yet */
        unsigned blocks;      /* that the GPU holds at once */
    } * each;                 /* by index in ref_builtins, then users', REF_VARIANTS each */
    struct side_users users;  /* that the registry brings along */
    struct side_lifts *lifts; /* kernels' own PTX, lifted/; NULL: none is held against it */
};

/* Where snapshots lie: a ring that the GPU hands out. */
struct side_arena {
    uint64_t bytes, lap;        /* of the ring */
    CUdeviceptr head, base;     /* struct snapshot_arena; where the ring begins */
    struct reclaim *reclaim;    /* the collector's */
    uint64_t *tail;             /* pinned: how far the ring is free again */
    _Atomic(uint64_t) newest;   /* the end of the latest snapshot whose seal the collector has
                                 * read */
    _Atomic(uint64_t) unsealed; /* bytes of those whose seal it has not read, outlier probes not
                                 * counted */
    struct refused refused;
};

/* Slots of checks, and what each has. */
struct side_slots {
    uint32_t count;
    struct slots *free;
    struct check *check;
    _Atomic(uint64_t) *submitted; /* a bit for each that the collector is to visit */
    struct snapshot_seal *seal;   /* pinned */
    CUdeviceptr seal_device;
    CUdeviceptr place;        /* struct snapshot_place */
    CUdeviceptr ticket;       /* u32, for the snapshot kernel */
    struct slots *free_large; /* buffers of large_params */
    uint8_t *large_params;    /* LARGE_PARAMS of CHECK_LARGE_PARAMS bytes; pages once used */
};

struct side {
    CUcontext context;
    _Atomic(enum side_state) state;
    atomic_bool late;         /* its set-up took longer than a launch waits: no other waits */
    atomic_int synchronising; /* threads of the program inside a context-wide wait */
    int device;               /* ordinal */
    int multiprocessors;
    struct budget budget; /* of all kernels that have none of their own */
    struct budget probes; /* the outlier gate's share of it */
    struct side_mark {
        _Atomic(uint64_t) probe; /* of the outlier gate: sequence << PROBE_BITS | slot ... */
        _Atomic(int64_t) at;     /* ... enqueued at this time, clock_ns() */
    } mark;                      /* see paying.c */
    CUstream stream;             /* lowest priority, non-blocking */
    struct side_kernels kernel;
    struct ranges ranges; /* that addresses in device memory may lead to */
    struct outlier_side outlier;
    struct side_references refs;
    struct side_arena arena;
    struct side_slots slot;
    CUdeviceptr staging; /* see side_staging: STAGING_BYTES on the device, for bundles ... */
    void *staging_host;  /* ... and pinned */
    struct batch batch[SIDE_BATCHES];
    _Atomic(uint64_t) sequence; /* of seals and verdicts; never 0 */
    atomic_uint pending;        /* checks claimed and not yet in a bucket */
    atomic_bool held;           /* the collector is working with the context */
    atomic_bool chore;          /* a job is due on the collector's thread in the context */
    struct side_round {
        uint32_t next_slot;            /* that the collector visits next */
        uint32_t ended;                /* checks that it ended without a reference, in this round */
        struct timespec last_progress; /* to detect a context in error */
    } round;                           /* the collector's */
};

enum { STAGING_BYTES = 4 << 20, PROBE_BITS = 20 };

struct side_settings {
    uint64_t memory;           /* bytes of the arena at most */
    uint32_t queue;            /* slots */
    double budget;             /* share of time; 0: no limit */
    bool outlier;              /* some entry has the outlier gate, ... */
    bool centroid;             /* ... some its centroid detector */
    struct ptx_compiler *lift; /* kernels are held against their own PTX; NULL: none is */
    struct compiler *compiler; /* of the registry's own references; NULL: it has none */
};

/* All sides of the process, found by context. */
struct sides;
struct sides *sides_create(void);
void sides_destroy(struct sides *sides);

/* Notes a new context. NULL when there are too many (64). Any thread, no driver call. */
struct side *sides_open(struct sides *sides, CUcontext context);
/* The side of a context that a launch names and whose creation was not reported; two first launches
 * get the same one. NULL: the context has gone, or there are too many. Any thread, no driver call.
 */
struct side *sides_open_unseen(struct sides *sides, CUcontext context);
/* The side of a live context, or NULL. Lock-free. */
struct side *sides_find(struct sides *sides, CUcontext context);
/* Calls `visit` for each side that is not gone. */
void sides_each(struct sides *sides, void (*visit)(struct side *side, void *user), void *user);
/* Takes the side out of sides_find; its host memory stays until sides_destroy, because threads
 * may still hold it. */
void sides_close(struct sides *sides, struct side *side);

/* Makes everything in the context, which must be current. Collector only; blocks. On failure the
 * side is SIDE_BROKEN and `err` has the reason; what was made is freed with the context. */
enum status side_set_up(struct side *side, const struct side_settings *settings, struct error *err);

/* Makes the outlier gate's tables, and loads its kernels, where a launch has requested them
 * (side_request_probes). Collector only, context current; blocks. On failure the gate is off
 * here. */
void side_set_up_probes(struct side *side, const struct side_settings *settings);

/* Makes side.staging or side.staging_host unless it is there. Collector only, context current. */
enum status side_staging(struct side *side, struct error *err);
enum status side_staging_host(struct side *side, struct error *err);

/* A variant of the reference, loaded with its module on first use by the collector. NULL when the
 * driver refuses it. Context current; a reference of the registry's own has its module already. */
const struct side_reference *side_reference(struct side *side, const struct ref_builtin *reference,
                                            enum ref_variant variant, struct error *err);

/* Passes a filled check on to the collector, which must be woken after it. Any thread. */
void side_submit(struct side *side, struct check *check, enum check_state state);
/* The next slot from `from` on whose bit is set, or -1. Collector only. */
int side_next_submitted(struct side *side, uint32_t from);
/* The ring as it will be when all that was enqueued has its room. Any thread. */
struct refused_ring side_ring(const struct side *side);
/* A check was enqueued that takes room of the ring; it has it, or will not take any. */
void side_note_unsealed(struct side *side, struct check *check, uint64_t bytes);
void side_note_sealed(struct side *side, struct check *check);

/* The snapshot's bytes are free again. Collector only, after the seal and before side_release. */
void side_reclaim(struct side *side, const struct check *check);
/* A buffer for the check's parameters, which do not fit into params.few, until it ends; NULL: none
 * is free. Any thread, no lock, allocates nothing. */
uint8_t *side_large_params(struct side *side, struct check *check);
/* Ends a check: its slot is free again. */
void side_release(struct side *side, struct check *check);

/* Requests the set-up of a fresh side: true on the first request, and the collector is to be woken
 * for it. Any thread. */
bool side_request(struct side *side);
/* The same for what the outlier gate needs. */
bool side_request_probes(struct side *side);

/* Waits until the side, or its outlier gate, is ready or broken, at most `timeout_ms`; not at all
 * once a wait has timed out. For the first launches that need it, on the program's thread. */
bool side_wait_ready(struct side *side, int timeout_ms);
bool side_wait_probes(struct side *side, int timeout_ms);

#endif
