/* session_summary.h - what the last reports hold beside the counters: time on the GPU, and the
 * kernels that have no entry. */
#ifndef SESSION_SUMMARY_H
#define SESSION_SUMMARY_H

#include <stddef.h>
#include "compile/compiler.h"
#include "gate/kernels.h"
#include "report/summary.h"
#include "timing/timing.h"

/* Estimates what all launches took on the GPU, after timing_stop: into the counters. */
void session_gpu_time(struct counters *counters, struct kernels *kernels,
                      const struct timing *timing);

/* Prints the summary; `facts` gets the `most` kernels without an entry that took the most time on
 * the GPU, or were launched most often where nothing was timed, by their demangled names. */
void session_summary_print(struct summary *summary, struct counters *counters,
                           struct summary_facts *facts, size_t most);

/* Stops the compiler (NULL: there is none), and notes what it did not come to. */
void session_end_compiler(struct compiler *compiler, struct summary *summary, int wait_ms);

#endif
