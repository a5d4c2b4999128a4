/* copy_work.h - what copy.c needs of a copy beyond graph.h: how the host takes part in it. */
#ifndef SOFTGPU_COPY_WORK_H
#define SOFTGPU_COPY_WORK_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include "driver/stream/stream.h"

enum copy_way {
    COPY_ON_DEVICE,
    COPY_PINNED,        /* the host's side is pinned */
    COPY_FROM_PAGEABLE, /* the source is to be taken at the call */
    COPY_TO_PAGEABLE,   /* the call returns when all is there */
};

/* The device itself can touch all of it: device, managed, pinned or registered memory. */
bool device_reaches(CUdeviceptr address, size_t bytes);

enum copy_way copy_work_way(const struct work *work);
/* Takes the source now. On an error the work is as before. */
CUresult copy_work_stage(struct context *context, struct work *work);

#endif
