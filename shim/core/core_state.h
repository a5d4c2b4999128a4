/* core_state.h - what the files behind core.h share. Included by core*.c alone. */
#ifndef CORE_STATE_H
#define CORE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/uninterrupted.h"
#include "core/core.h"
#include "gate/own.h"

struct core {
    atomic_bool muted;
    atomic_bool calls; /* may be checked */
    struct core_parts parts;
    _Atomic(int64_t) timed_ns, timed; /* launches that were passed over and timed: ns, number */
};
extern __attribute__((visibility("hidden"))) struct core core;

/* The stream of the graph that the calling thread launches; NULL without memory. */
__attribute__((visibility("hidden"))) const void **core_graph_stream(void);

/* What is between these two is not the program's, and its thread is not cancelled there. False:
 * muted. */
static inline bool work_begins(int *state)
{
    if (atomic_load_explicit(&core.muted, memory_order_relaxed))
        return false;
    *state = uncancelled_begin();
    own_thread.work = OWN_WORK;
    return true;
}

static inline void work_ends(int state, enum own_work next)
{
    own_thread.work = next;
    uncancelled_end(state);
}

#endif
