/*
 * own.h - a thread's own state at every launch, on one cache line: whether it is doing cuvet's own
 * work, and how far it is with the launch under way.
 */
#ifndef GATE_OWN_H
#define GATE_OWN_H

#include <stdbool.h>
#include <stdint.h>
#include "base/hot.h"

enum own_work {
    OWN_NONE,
    /* Driver calls made meanwhile are not the program's and callbacks of them are ignored. Set for
     * life on the collector, and around each callback that does more than count. */
    OWN_WORK,
    OWN_TIMED, /* the next callback is timed */
};

struct own_thread {
    uint8_t work;    /* enum own_work */
    uint32_t passed; /* cbid of the launch under way, if it was passed over at ENTER; or 0 */
    uint32_t tally;  /* tally.h: the number of its tallies, from 1; 0: none yet */
    /* The same, where a launch may be counted at ENTER by a plain addition; 0: the thread has no
     * tallies of its own, or the pipeline has to see each launch. */
    uint32_t passes;
    uint32_t until_sample; /* launches without an entry until one is recorded: unregistered.h */
    struct here *here;     /* the router's; NULL: no launch went to the pipeline so far */
    uint32_t
        passed_as; /* enum skip that a registered launch under way was counted as, where passed */
};

extern HOT_TLS struct own_thread own_thread;

#endif
