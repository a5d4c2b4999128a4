/*
 * ranges.h - the NVTX ranges that a thread has open, for the trace and for digests.
 *
 * NVTX loads the library that NVTX_INJECTION64_PATH names at its first call and lets it put its own
 * functions in. `ranges_offer` sets that variable, where a trace or digests are made and no other
 * tool has set it: a profiler keeps its ranges, and the trace then has none.
 */
#ifndef TRACE_RANGES_H
#define TRACE_RANGES_H

/* Before the program's first NVTX call; `library` is the path of this one. */
void ranges_offer(const char *library);

/* "step/layer3/attention", the names of the calling thread's open ranges from outside to inside; ""
 * where there is none. Cut where it is too long. Domains share one order. */
const char *ranges_open(void);

#endif
