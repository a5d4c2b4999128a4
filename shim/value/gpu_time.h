/* gpu_time.h - what is known of the time that one kernel's launches take on the GPU. Counted by
 * several threads; lives as long as the process. */
#ifndef VALUE_GPU_TIME_H
#define VALUE_GPU_TIME_H

#include <stdatomic.h>
#include <stdint.h>

struct gpu_time {
    _Atomic(uint64_t) timed, ns;             /* launches that were timed, and their sum */
    _Atomic(uint64_t) replayed, replayed_ns; /* launches inside CUDA graphs, and their estimate */
    _Atomic(uint32_t) tries; /* launches that timing_due or timing_loaded was called for */
};

/* An estimate for the whole process, ns on the GPU. */
struct gpu_shares {
    uint64_t timed; /* launches and replays that it is made of; 0: nothing is known */
    double all, registered, checked;
};

/* Mean time of a timed launch, ns; 0: none was timed. */
static inline double gpu_time_mean(const struct gpu_time *time)
{
    uint64_t timed = atomic_load_explicit(&time->timed, memory_order_acquire);
    uint64_t ns = atomic_load_explicit(&time->ns, memory_order_relaxed);
    return timed ? (double)ns / (double)timed : 0;
}

#endif
