/*
 * launch_decode.h - the parameters of a launch API, in CUPTI's parameter structs, turned into a
 * struct launch. Pure: no driver call, no allocation.
 */
#ifndef HOOK_LAUNCH_DECODE_H
#define HOOK_LAUNCH_DECODE_H

#include <cupti.h>
#include <stdbool.h>
#include "base/hot.h"
#include "core/core.h"

/* How an API lays its parameters out; PTSZ: NULL means the per-thread default stream. */
enum launch_shape {
    SHAPE_PLAIN,
    SHAPE_PLAIN_PTSZ,
    SHAPE_CONFIG,
    SHAPE_CONFIG_PTSZ,
    SHAPE_COOPERATIVE,
    SHAPE_COOPERATIVE_PTSZ,
};

/* False when they make no launch (a null config or function, a grid or block that no device runs):
 * the driver refuses it before it reads the kernel's parameters, which are not read here either,
 * and *out holds the rest. Symbol and context are left NULL. *out borrows from `params` and lives
 * as long as the call. */
bool launch_decode(const void *params, enum launch_shape shape, struct launch *out);

/* NULL is spelt out, so that the library's own calls mean the same stream whatever API they go
 * through. */
CUstream launch_stream(CUstream stream, bool per_thread);

/* The kernel's handle. */
HOT_INLINE const void *launch_raw_handle(const void *params, enum launch_shape shape)
{
    _Static_assert(offsetof(cuLaunchCooperativeKernel_params, f) ==
                       offsetof(cuLaunchKernel_params, f),
                   "a cooperative launch has its kernel where others have it");
    if (shape == SHAPE_CONFIG || shape == SHAPE_CONFIG_PTSZ)
        return ((const cuLaunchKernelEx_params *)params)->f;
    return ((const cuLaunchKernel_params *)params)->f;
}

/* The stream as the call names it; NULL also where there is none. */
HOT_INLINE CUstream launch_raw_stream(const void *params, enum launch_shape shape)
{
    _Static_assert(offsetof(cuLaunchCooperativeKernel_params, hStream) ==
                       offsetof(cuLaunchKernel_params, hStream),
                   "a cooperative launch has its stream where others have it");
    if (shape == SHAPE_CONFIG || shape == SHAPE_CONFIG_PTSZ) {
        const CUlaunchConfig *config = ((const cuLaunchKernelEx_params *)params)->config;
        return config ? config->hStream : NULL;
    }
    return ((const cuLaunchKernel_params *)params)->hStream;
}

/* The launch's numbers and its parameters, for core_passes. */
HOT_INLINE struct core_shape launch_numbers(const void *params, enum launch_shape shape)
{
    _Static_assert(offsetof(cuLaunchKernel_params, sharedMemBytes) ==
                           offsetof(cuLaunchKernel_params, gridDimX) + 6 * sizeof(uint32_t) &&
                       offsetof(CUlaunchConfig, gridDimX) == 0 &&
                       offsetof(CUlaunchConfig, sharedMemBytes) == 6 * sizeof(uint32_t),
                   "the numbers of a launch lie side by side");
    _Static_assert(offsetof(cuLaunchCooperativeKernel_params, gridDimX) ==
                           offsetof(cuLaunchKernel_params, gridDimX) &&
                       offsetof(cuLaunchCooperativeKernel_params, sharedMemBytes) ==
                           offsetof(cuLaunchKernel_params, sharedMemBytes) &&
                       offsetof(cuLaunchCooperativeKernel_params, kernelParams) ==
                           offsetof(cuLaunchKernel_params, kernelParams),
                   "a cooperative launch has its parameters where others have them");
    if (shape == SHAPE_CONFIG || shape == SHAPE_CONFIG_PTSZ) {
        const cuLaunchKernelEx_params *with_config = params;
        return (struct core_shape){(const void *)with_config->config,
                                   with_config->config ? with_config->kernelParams : NULL};
    }
    const cuLaunchKernel_params *plain = params;
    return (struct core_shape){&plain->gridDimX, plain->kernelParams};
}

#endif
