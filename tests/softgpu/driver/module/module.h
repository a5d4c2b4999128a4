/*
 * module.h - modules, libraries, functions, and the launch of a kernel.
 */
#ifndef SOFTGPU_MODULE_H
#define SOFTGPU_MODULE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "driver/stream/stream.h"

struct kernel_call;

/* One launch with its arguments copied: the data of a WORK_KERNEL. Errors as cuLaunchKernel's
 * (CUDA_ERROR_INVALID_VALUE, _INVALID_HANDLE, _LAUNCH_OUT_OF_RESOURCES, _INVALID_IMAGE ...). */
CUresult kernel_call_create(struct context *context, const CUDA_KERNEL_NODE_PARAMS_v2 *params,
                            bool cooperative, struct kernel_call **call);
extern const struct work_type kernel_work;
/* What cuGraphKernelNodeGetParams gives back: pointers live as long as the call. */
void kernel_call_params(const struct kernel_call *call, CUDA_KERNEL_NODE_PARAMS_v2 *params);

/* The symbolName of a call marked CALL_LAUNCH, from its params; NULL where the handle is not known.
 */
const char *launch_symbol(const char *entry_name, const void *params);

#endif
