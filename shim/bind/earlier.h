/*
 * earlier.h - the latest launch of this thread on each of a few streams, where an entry names it
 * with `after`: the first of two kernels that complete a result together.
 *
 * The program's thread alone, no lock, no allocation. Copies of what a launch passed by value; what
 * its pointers point at is the program's.
 */
#ifndef BIND_EARLIER_H
#define BIND_EARLIER_H

#include <stdbool.h>
#include "gate/kernels.h"
#include "value/launch.h"

enum { EARLIER_STREAMS = 4, EARLIER_PARAMS = 1024 };

struct earlier_launch {
    const struct known_kernel *kernel; /* NULL: the place is empty */
    struct launch launch;              /* packed, by the kernel's layout; no bytes: too many */
    uint8_t params[EARLIER_PARAMS];
};

/* Of one thread; all zero at first. */
struct earlier {
    unsigned kept, next;
    struct earlier_launch of[EARLIER_STREAMS];
};

/* A launch has been enqueued: it replaces the earlier launch of its stream if an entry names its
 * kernel with `after`, else clears it. */
void earlier_note(struct earlier *earlier, const struct known_kernel *kernel,
                  const struct launch *launch);

/* What would be the launch before this one on its stream; NULL: no kernel that `after` names. */
const struct earlier_launch *earlier_find(const struct earlier *earlier,
                                          const struct launch *launch);

#endif
