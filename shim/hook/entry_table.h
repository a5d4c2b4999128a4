/*
 * entry_table.h - what the wrappers of the entry-point back end share: the driver's functions, and
 * whether a call is to be reported. Included by entry*.c alone.
 */
#ifndef HOOK_ENTRY_TABLE_H
#define HOOK_ENTRY_TABLE_H

#include <stdatomic.h>
#include <stddef.h>
#include "base/hot.h"
#include "core/core.h"
#include "driver/cuda_api.h"
#include "hook/entry.h"

/* cuda.h calls the newest form of these by the name of the first. */
#undef cuCtxCreate
#undef cuCtxDestroy
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuGetProcAddress
#undef cuGraphAddNode
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphExecUpdate
#undef cuGraphInstantiate
#undef cuGraphKernelNodeSetParams
#undef cuMemFree

enum entry_id {
#define ENTRY(symbol, name, version, stream) ENTRY_##symbol,
#include "hook/entry_apis.def"
#undef ENTRY
    ENTRY_COUNT
};

/* The driver's functions, NULL until they are first needed; those of launches on the line of `on`.
 */
struct entry_table {
    _Alignas(64) atomic_bool on;
    _Atomic(void *) real[ENTRY_COUNT];
};
extern __attribute__((visibility("hidden"))) struct entry_table entry_table;

/* NULL: libcuda.so.1 is not loaded, or has no such function. */
void *entry_find(enum entry_id id);

HOT_INLINE void *entry_real(enum entry_id id)
{
    void *real = atomic_load_explicit(&entry_table.real[id], memory_order_relaxed);
    return USUAL(real) ? real : entry_find(id);
}

HOT_INLINE bool entry_on(void)
{
    return atomic_load_explicit(&entry_table.on, memory_order_acquire);
}

/* Whether a call of the program is reported: not one of the library's own work. */
HOT_INLINE bool entry_reports(void)
{
    return entry_on() && !core_own();
}

/* What cuGetProcAddress gave for a name, or the wrapper that stands for it. */
void *entry_substitute(const char *name, int version, bool per_thread, void *given);

/* Of the calling thread; NULL: none. Where the back end is on. */
CUcontext entry_context(void);

/* Around the program's cuInit, in which the session may start; after it has succeeded. */
void entry_before_init(void);
void entry_after_init(void);

/* cuInit was over at the latest now: the core gets the event once. */
void entry_init_finished(void);

/* The wrapper of a driver function. Its name is exported, and is no other library's. */
#define ENTRY_WRAPPER(symbol)                                                                      \
    __attribute__((visibility("default"))) CUresult CUDAAPI cuvet_entry_##symbol

/* `before` and `after` run where the call is reported; `after` has its `result`. */
#define ENTRY_CALL(symbol, params, args, before, after)                                            \
    ENTRY_WRAPPER(symbol) params;                                                                  \
    ENTRY_WRAPPER(symbol) params                                                                   \
    {                                                                                              \
        CUresult(*real) params = entry_real(ENTRY_##symbol);                                       \
        if (!real)                                                                                 \
            return CUDA_ERROR_NOT_INITIALIZED;                                                     \
        if (!entry_reports())                                                                      \
            return real args;                                                                      \
        before;                                                                                    \
        CUresult result = real args;                                                               \
        after;                                                                                     \
        return result;                                                                             \
    }

#endif
