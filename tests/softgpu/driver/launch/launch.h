/*
 * launch.h - the launch behind all its forms.
 */
#ifndef SOFTGPU_LAUNCH_H
#define SOFTGPU_LAUNCH_H

#include <cuda.h>
#include <stdbool.h>

struct call;

/* `handle` is a CUfunction or a CUkernel, and stands in `params` as well. */
CUresult launch(const struct call *call, const void *handle, CUstream stream_handle,
                const CUDA_KERNEL_NODE_PARAMS_v2 *params, bool cooperative);

#endif
