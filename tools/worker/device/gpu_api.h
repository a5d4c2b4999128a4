/*
 * gpu_api.h - the driver's entry points as the worker has found them, and the busy blocks that may
 * run beside a launch. device_gpu.c fills the table when it opens a GPU. One thread, one GPU.
 */
#ifndef TOOLS_WORKER_GPU_API_H
#define TOOLS_WORKER_GPU_API_H

#include <cuda.h>
#include "tools/worker/worker.h"

struct gpu_api {
#define GPU_API(name)          __typeof__(name) *name;
#define GPU_API_OPTIONAL(name) __typeof__(name) *name;
#include "tools/worker/device/gpu_api.def"
#undef GPU_API
#undef GPU_API_OPTIONAL
};

extern struct gpu_api gpu;

const char *gpu_name(CUresult result);

/*
 * Starts the busy blocks that run beside the launch, and waits until they run. The launch then
 * goes to the default stream. False: it is refused, and why is in out->sentence.
 *
 * A busy block that is to hold a multiprocessor has 1024 threads and all shared memory that a block
 * can have, so that no other block fits beside it. Each block leaves when gpu_busy_end() is called,
 * or after a time limit: what the driver does at a launch may wait for it.
 */
bool gpu_busy_begin(CUfunction kernel, const struct worker_launch *launch,
                    struct worker_result *out);
void gpu_busy_end(struct worker_result *out);

#endif
