/* launch.c - cuLaunchKernel and its kin. */
#include <string.h>

#include "driver/call/call.h"
#include "driver/module/code.h"
#include "driver/context/device.h"
#include "driver/launch/kernel_call.h"
#include "driver/launch/launch.h"
#include "driver/module/module.h"
#include "driver/stream/stream.h"
#include "impls.h"

CUresult launch(const struct call *call, const void *handle, CUstream stream_handle,
                const CUDA_KERNEL_NODE_PARAMS_v2 *params, bool cooperative)
{
    struct stream *stream = stream_resolve(call, stream_handle);
    struct function *function;
    CUresult result = stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    if (!result)
        result = function_resolve(handle, stream_context(stream), &function);
    if (result)
        return result;
    struct kernel_call *kernel = NULL;
    if (function->module->context != stream_context(stream))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result)
        result = kernel_call_build(function, params, cooperative, &kernel);
    if (!result)
        result = stream_enqueue(call, stream, (struct work){&kernel_work, kernel});
    function_drop(function);
    return result;
}

CUresult impl_cuLaunchKernel(const struct call *call, cuLaunchKernel_params *p)
{
    const CUDA_KERNEL_NODE_PARAMS_v2 params = {
        p->f,         p->gridDimX,       p->gridDimY,     p->gridDimZ, p->blockDimX, p->blockDimY,
        p->blockDimZ, p->sharedMemBytes, p->kernelParams, p->extra,    NULL,         NULL,
    };
    return launch(call, p->f, p->hStream, &params, false);
}

CUresult impl_cuLaunchCooperativeKernel(const struct call *call,
                                        cuLaunchCooperativeKernel_params *p)
{
    const CUDA_KERNEL_NODE_PARAMS_v2 params = {
        p->f,         p->gridDimX,       p->gridDimY,     p->gridDimZ, p->blockDimX, p->blockDimY,
        p->blockDimZ, p->sharedMemBytes, p->kernelParams, NULL,        NULL,         NULL,
    };
    return launch(call, p->f, p->hStream, &params, true);
}

/* -- cuLaunchKernelEx -- */

/* What the attributes request. */
struct wishes {
    bool cooperative;
    CUevent after; /* recorded when the launch is done, which is as late as may be */
};

static CUresult refuse(const char *sentence)
{
    say_once(sentence);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult check_cluster(const CUlaunchConfig *config, const CUlaunchAttributeValue *value)
{
    unsigned x = value->clusterDim.x, y = value->clusterDim.y, z = value->clusterDim.z;
    if (!x || !y || !z || config->gridDimX % x || config->gridDimY % y || config->gridDimZ % z)
        return CUDA_ERROR_INVALID_VALUE;
    if (x > 1 || y > 1 || z > 1)
        return refuse("this device runs no clusters of more than one block");
    return CUDA_SUCCESS;
}

/* The rest are hints about speed, or about memory that here is coherent anyway. */
static CUresult read_attribute(const CUlaunchConfig *config, const CUlaunchAttribute *attribute,
                               struct wishes *wishes)
{
    const CUlaunchAttributeValue *value = &attribute->value;
    switch ((int)attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        wishes->cooperative = value->cooperative != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
        return check_cluster(config, value);
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        wishes->after = value->programmaticEvent.event;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        wishes->after = value->launchCompletionEvent.event;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        return value->deviceUpdatableKernelNode.deviceUpdatable
                   ? refuse("kernel nodes that the device updates are not there")
                   : CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult read_attributes(const struct call *call, const CUlaunchConfig *config,
                                struct wishes *wishes)
{
    *wishes = (struct wishes){0};
    if (config->numAttrs && !config->attrs)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        CUresult result = read_attribute(config, &config->attrs[i], wishes);
        if (result)
            return result;
    }
    struct stream *stream = wishes->after ? stream_resolve(call, config->hStream) : NULL;
    if (stream && stream_is_capturing(stream))
        return refuse("a launch with an event among its attributes cannot be captured");
    return CUDA_SUCCESS;
}

CUresult impl_cuLaunchKernelEx(const struct call *call, cuLaunchKernelEx_params *p)
{
    const CUlaunchConfig *c = p->config;
    struct wishes wishes;
    CUresult result = c ? read_attributes(call, c, &wishes) : CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    const CUDA_KERNEL_NODE_PARAMS_v2 params = {
        p->f,         c->gridDimX,       c->gridDimY,     c->gridDimZ, c->blockDimX, c->blockDimY,
        c->blockDimZ, c->sharedMemBytes, p->kernelParams, p->extra,    NULL,         NULL,
    };
    result = launch(call, p->f, c->hStream, &params, wishes.cooperative);
    cuEventRecord_params record = {wishes.after, c->hStream};
    return result || !wishes.after ? result : impl_cuEventRecord(call, &record);
}

/* Each launch stands for itself: the devices' own kernels are waited for as in any cooperative
 * launch, barriers over several devices are not there. */
CUresult impl_cuLaunchCooperativeKernelMultiDevice(const struct call *call,
                                                   cuLaunchCooperativeKernelMultiDevice_params *p)
{
    if (!p->launchParamsList || !p->numDevices || p->numDevices > device_count())
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < p->numDevices; i++) {
        const CUDA_LAUNCH_PARAMS *one = &p->launchParamsList[i];
        if (!one->hStream || one->hStream == CU_STREAM_LEGACY)
            return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; !result && i < p->numDevices; i++) {
        const CUDA_LAUNCH_PARAMS *one = &p->launchParamsList[i];
        const CUDA_KERNEL_NODE_PARAMS_v2 params = {
            one->function,     one->gridDimX,  one->gridDimY,  one->gridDimZ,
            one->blockDimX,    one->blockDimY, one->blockDimZ, one->sharedMemBytes,
            one->kernelParams, NULL,           NULL,           NULL,
        };
        result = launch(call, one->function, one->hStream, &params, true);
    }
    return result;
}

/* -- names -- */

/* Where each call keeps its handle. The name lives as long as the module. */
static const void *launched(const char *entry_name, const void *params)
{
    const cuLaunchCooperativeKernelMultiDevice_params *several = params;
    if (!strncmp(entry_name, "cuLaunchKernelEx", 16))
        return ((const cuLaunchKernelEx_params *)params)->f;
    if (!strcmp(entry_name, "cuLaunchCooperativeKernelMultiDevice"))
        return several->launchParamsList && several->numDevices
                   ? (const void *)several->launchParamsList->function
                   : NULL;
    if (!strncmp(entry_name, "cuLaunchKernel", 14))
        return ((const cuLaunchKernel_params *)params)->f;
    if (!strncmp(entry_name, "cuLaunchCooperativeKernel", 25))
        return ((const cuLaunchCooperativeKernel_params *)params)->f;
    if (!strcmp(entry_name, "cuLaunch"))
        return ((const cuLaunch_params *)params)->f;
    if (!strcmp(entry_name, "cuLaunchGrid"))
        return ((const cuLaunchGrid_params *)params)->f;
    if (!strcmp(entry_name, "cuLaunchGridAsync"))
        return ((const cuLaunchGridAsync_params *)params)->f;
    return NULL;
}

const char *launch_symbol(const char *entry_name, const void *params)
{
    const void *handle = launched(entry_name, params);
    struct function *function = function_find((CUfunction)(uintptr_t)handle);
    if (function) {
        const char *name = function->ptx->name;
        function_drop(function);
        return name;
    }
    return kernel_symbol((CUkernel)(uintptr_t)handle);
}
