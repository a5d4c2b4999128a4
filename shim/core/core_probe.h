/*
 * core_probe.h - the inline part of core.h: what a back end runs at every launch. Included by
 * core.h alone.
 *
 * Most launches are of kernels that no entry names, or are passed over by the gates. They are
 * counted here, on as few cache lines as possible, because each line is cold again (base/hot.h).
 */
#ifndef CORE_PROBE_H
#define CORE_PROBE_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include "gate/gate_table.h"
#include "gate/kernel_table.h"
#include "gate/kernels.h"
#include "gate/ledger.h"
#include "value/launch.h"
#include "gate/own.h"
#include "gate/passing.h"
#include "gate/recent.h"
#include "gate/unregistered.h"

/* core_probe's answer for a launch of a kernel that no entry names. */
enum { CORE_COUNTED = KERNEL_PASSED };

/* Whether the call is the library's own, or to be timed (core_take_timed): tested before all else.
 */
HOT_INLINE bool core_occupied(void)
{
    return UNUSUAL(own_thread.work);
}

/* Whether the calling thread does the library's own work. */
HOT_INLINE bool core_own(void)
{
    return own_thread.work && own_thread.work != OWN_TIMED;
}

/* Whether the next launch that is passed over is to be timed; clears the mark. */
HOT_INLINE bool core_take_timed(void)
{
    bool timed = own_thread.work == OWN_TIMED;
    if (timed)
        own_thread.work = OWN_NONE;
    return timed;
}

/* The next launch that is passed over on this thread is to be timed. */
HOT_INLINE void core_time_next(void)
{
    own_thread.work = OWN_TIMED;
}

/* A number of the back end's, not 0, that marks the launch under way as passed over. */
HOT_INLINE void core_mark_passed(uint32_t mark)
{
    own_thread.passed = mark;
}

HOT_INLINE uint32_t core_passed_mark(void)
{
    return own_thread.passed;
}

/*
 * One probe of the table of kernels. `symbol`: the name where the back end has it, always the same
 * string for one handle; else NULL. Returns
 *   - with CORE_COUNTED set: the launch is counted; if the driver refuses it, core_launch_refused;
 *   - NULL: nothing is known: core_launch_enter;
 *   - else the kernel's record, for core_passes and core_launch_enter.
 */
HOT_INLINE uintptr_t core_probe(const void *handle, const char *symbol)
{
    struct tally *tallies = atomic_load_explicit(&passing.unregistered, memory_order_relaxed);
    uint32_t passes = own_thread.passes;
    if (UNUSUAL(!handle) || UNUSUAL(!passes) || UNUSUAL(!tallies))
        return 0;
    uintptr_t kernel = kernel_table_first(passing.kernels, handle, symbol);
    if (USUAL(kernel & KERNEL_PASSED)) {
        if (UNUSUAL(!unregistered_pass()))
            return 0; /* the pipeline records and times it */
        ledger_pass(tallies, passes, SKIP_UNREGISTERED);
    }
    return kernel;
}

/* The launch's numbers, GATE_SHAPE_WORDS of them, and its parameters, or NULL where they are not
 * one pointer each. */
struct core_shape {
    const uint32_t *shape;
    void *const *params;
};

/* What the launch is counted as, where it is known that it is neither checked nor read by the
 * outlier gate; else SKIP_NONE. */
HOT_INLINE enum skip core_passed_as(const struct core_shape *launch, struct known_kernel *kernel,
                                    uint32_t passes)
{
    uint32_t stamp = gate_stamp();
    if (atomic_load_explicit(&kernel->idle, memory_order_acquire) == stamp)
        return (enum skip)atomic_load_explicit(&kernel->idle_as, memory_order_relaxed);
    if (UNUSUAL(!launch->params) || UNUSUAL(!launch_can_run(launch->shape)))
        return SKIP_NONE;
    return gate_passes(gate_notes(passing.notes, passes), &kernel->recipe, launch->shape,
                       launch->params, stamp);
}

/* Whether the launch of a registered kernel is passed over: then it is counted, as by core_probe.
 */
HOT_INLINE bool core_passes(uintptr_t record, const struct core_shape *launch)
{
    struct known_kernel *kernel = (struct known_kernel *)record;
    uint32_t passes = own_thread.passes;
    struct tally *tallies = atomic_load_explicit(&kernel->tallies, memory_order_acquire);
    if (UNUSUAL(!tallies) || UNUSUAL(atomic_load_explicit(&passing.off, memory_order_relaxed)))
        return false;
    __builtin_prefetch(tally_at(tallies, passes - 1), 1);
    enum skip skip = core_passed_as(launch, kernel, passes);
    if (!skip)
        return false;
    ledger_pass(tallies, passes, skip);
    own_thread.passed_as = skip;
    return true;
}

#endif
