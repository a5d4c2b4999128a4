/*
 * enqueue.h - launching a kernel of cuvet on the program's stream.
 *
 * Where the kernel waits for what is in front of it (device/early.cuh), it is brought to the GPU
 * while that still ends: bringing it there takes longer than most of what it does. All of its
 * threads wait until the kernel in front is complete, memory and all, and it lets nothing begin
 * early behind it; so a kernel behind it finds the stream as it would be without the attribute.
 */
#ifndef CONTEXT_ENQUEUE_H
#define CONTEXT_ENQUEUE_H

#include <stdbool.h>
#include "base/error.h"
#include "driver/cuda_api.h"
#include "value/launch.h"

/* Whether the function was compiled to wait: for compute_90 and later. What was compiled from older
 * PTX was not, whatever the GPU. */
bool enqueue_waits(CUfunction function);

/* How cuvet's kernels are enqueued beside a launch that is a node of a CUDA graph: as nodes of the
 * graph's twin. The copies call this one function and do not depend on graphs. */
struct own_kernel;
struct replayed {
    struct graph_place place;
    uint32_t build;    /* kernels_build() of its function */
    const char *range; /* NVTX ranges that it was captured in; NULL: none */
    bool whole;        /* all kernels of the replay that have rules between launches are checked */
    enum status (*put)(struct replayed *replayed, const struct own_kernel *kernel, void **params,
                       struct error *err);
};

/* `call` is the kernel's only parameter. Any thread, whose context is the launch's; never blocks.
 */
struct own_kernel {
    CUfunction function;
    bool waits;
    unsigned blocks, threads;
    const char *doing; /* for the sentence of an error */
};
enum status enqueue_kernel(const struct own_kernel *kernel, void *call, const struct launch *launch,
                           struct error *err);

#endif
