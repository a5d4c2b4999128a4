/*
 * kernel_call.h - launches as launch.c makes them: module.h's kernel_call_create() is for graphs.
 */
#ifndef SOFTGPU_KERNEL_CALL_H
#define SOFTGPU_KERNEL_CALL_H

#include <cuda.h>
#include <stdbool.h>

struct function;
struct kernel_call;

/* The function is held by the call from then on, and once more by the caller as before. Errors as
 * cuLaunchKernel's. */
CUresult kernel_call_build(struct function *function, const CUDA_KERNEL_NODE_PARAMS_v2 *params,
                           bool cooperative, struct kernel_call **call);

#endif
