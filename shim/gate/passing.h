/*
 * passing.h - the shared words that a launch that is passed over reads, on one cache line
 * (base/hot.h). There is one in a process. Its counters serve all tables of kernels and all gates,
 * of which a process has one each: a second one (tests) only causes additional revalidation.
 */
#ifndef GATE_PASSING_H
#define GATE_PASSING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gate_note;
struct kernel_table;
struct tally;

struct passing {
    _Alignas(64) const struct kernel_table *kernels; /* the hook's, as the next two are */
    struct gate_note *notes;                         /* of all threads */
    _Atomic(struct tally *) unregistered;            /* NULL: no launch is passed over */
    _Atomic(uint64_t) handles; /* counts module unloads: older entries of tables are doubtful */
    _Atomic(uint64_t) draws;   /* changes of a gate, by twos: what was noted before is void */
    _Atomic(uint32_t) hook_ns; /* that the hook takes of a launch that is passed over; 0: unknown */
    _Atomic(uint32_t) threads; /* that had tallies of their own at once, at most (tally.h) */
    atomic_bool off; /* switched off: launches of registered kernels are counted as such */
};

extern struct passing passing;

#endif
