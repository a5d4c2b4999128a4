/*
 * outlier_side.h - what the outlier gate has in one CUDA context; extra/outlier.h uses it.
 *
 * Made on the collector's thread when the first probe is requested; freed with the side.
 */
#ifndef CONTEXT_OUTLIER_SIDE_H
#define CONTEXT_OUTLIER_SIDE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "context/outlier_window.h"
#include "device/outlier_abi.h"
#include "driver/cuda_api.h"

enum {
    OUTLIER_ENTRIES = 4096, /* inputs of launch signatures that have statistics, 1.3 MiB */
    OUTLIER_CENTROIDS = 64, /* signatures that have a centroid, 2 MiB */
};

enum outlier_state {
    OUTLIER_NONE,   /* no probe has been requested */
    OUTLIER_WANTED, /* the collector is to make what probes need */
    OUTLIER_READY,
    OUTLIER_BROKEN, /* it could not be made, or no entry has the gate */
};

/* What the gate has in one context. */
struct outlier_side {
    _Atomic(enum outlier_state) state;
    CUfunction kernel, few;
    bool waits;        /* these kernels do, see enqueue.h */
    CUdeviceptr slots; /* struct outlier_slot, one for each of the first check slots */
    uint32_t probes;   /* how many of those; launches in the other check slots are not probed */
    CUdeviceptr entries;
    CUdeviceptr centroids;         /* 0: no centroid detector here */
    struct outlier_answer *answer; /* pinned, one for each of the same check slots */
    CUdeviceptr answer_device;
    struct outlier_quantile *quantile; /* pinned, one a centroid */
    CUdeviceptr quantile_device;
    struct outlier_window *window[OUTLIER_CENTROIDS]; /* the collector's, made on first use ... */
    uint32_t window_epoch[OUTLIER_CENTROIDS];         /* ... for the probes of this epoch */
};

#endif
