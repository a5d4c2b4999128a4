/*
 * call.h - the way of one driver call: every exported function is a generated wrapper around
 * call_entry(), which brings the tool callbacks, the injected fault, the rules of where a call may
 * be made, and the implementation into one order.
 *
 *   wrapper (generated)   packs the arguments into NAME_params, as CUPTI's header declares it
 *   call_entry            callback ENTER -> fault? -> initialised? context? sticky error? capture?
 *                         -> impl_NAME -> callback EXIT
 *
 * A module that implements functions lists them in its own FILE.def, beside FILE.c:
 *
 *   ENTRY(cuMemAlloc_v2, CALL_UNSAFE_IN_CAPTURE)
 *
 * and defines   CUresult impl_cuMemAlloc_v2(const struct call *call, cuMemAlloc_v2_params *p);
 * (prototypes are in the generated impls.h). The row stands for the _ptsz or _ptds form as well,
 * where CUPTI's header has one: it comes to the same implementation with call->per_thread set. A
 * function that toolkits before 13.0 lack is listed as NEWER(name, flags), and implemented between
 * #ifdef HAVE_name and #endif. A function without parameters is listed as ENTRY0(cuCtxSynchronize,
 * flags) and gets a NULL `p`. The sources are compiled with __CUDA_API_VERSION_INTERNAL, so cuda.h
 * renames nothing and every name is literal.
 */
#ifndef SOFTGPU_CALL_H
#define SOFTGPU_CALL_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include "driver/base/newer_values.h"

struct context;

enum call_flags {
    CALL_BEFORE_INIT = 1,    /* works before cuInit */
    CALL_NO_CONTEXT = 2,     /* needs cuInit, but no current context */
    CALL_IGNORES_STICKY = 4, /* works in a context with a sticky error */
    CALL_UNSAFE_IN_CAPTURE =
        8,            /* what cuStreamBeginCapture's modes forbid: it may synchronise or allocate */
    CALL_LAUNCH = 16, /* has a symbolName: launch_symbol() gives it */
};

struct call;
typedef CUresult call_fn(const struct call *call, void *params);

struct entry {
    const char *name; /* "cuLaunchKernel_ptsz" */
    unsigned cbid;    /* CUpti_driver_api_trace_cbid */
    call_fn *run;
    unsigned flags;
    bool per_thread; /* the default stream is the calling thread's own */
};

struct call {
    const struct entry *entry;
    bool per_thread;
    struct context
        *context; /* current at entry; NULL only with CALL_NO_CONTEXT or CALL_BEFORE_INIT */
};

extern const struct entry entries[]; /* generated; sorted by name (strcmp) */
extern const size_t entry_count;
extern void *const entry_addresses[]; /* the exported wrapper of each */

/* `from` is the return address of the exported function: who called. */
CUresult call_entry(const struct entry *entry, void *params, const void *from);

/* NULL where this library has no function of that name. */
const struct entry *entry_find(const char *name);

#endif
