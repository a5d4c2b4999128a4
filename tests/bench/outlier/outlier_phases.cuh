/* outlier_phases.cuh - one look with the times of its phases, in the block that judges. */
#ifndef BENCH_OUTLIER_PHASES_H
#define BENCH_OUTLIER_PHASES_H

#include <cuda_runtime.h>
#include "device/outlier_abi.h"

/* Reads and adds up its part; waits for the others and merges; judges; publishes; updates, as far as
 * that takes longer. */
enum { OUTLIER_PHASES = 5 };

/* Waits for the stream. False when the launch failed. */
bool outlier_phases(const outlier_call_few &call, unsigned blocks, cudaStream_t stream,
                    double phase_us[OUTLIER_PHASES]);

#endif
