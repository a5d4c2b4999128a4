/* kernel_call.c - one launch of a kernel: checked, with its arguments copied, and run. */
#include "driver/launch/kernel_call.h"

#include <stdlib.h>
#include <string.h>
#include "driver/module/code.h"
#include "driver/context/device.h"
#include "driver/module/module.h"
#include "driver/launch/occupancy.h"
#include "driver/base/settings.h"

/* In one piece of memory with the pointers and the arguments behind it. */
struct kernel_call {
    struct function *function;         /* held */
    CUDA_KERNEL_NODE_PARAMS_v2 params; /* as given, but for the arguments' pointers */
    bool cooperative;
    size_t param_bytes;
    size_t total;     /* bytes of this piece */
    uint8_t *buffer;  /* param_bytes bytes */
    void *pointers[]; /* one for each parameter, into the buffer */
};

static size_t limit(const struct device *device, CUdevice_attribute attribute)
{
    bool known;
    int value = device_attribute(device, attribute, &known);
    return value > 0 ? (size_t)value : 0;
}

/* -- checks -- */

static bool in_range(unsigned value, const struct device *device, CUdevice_attribute attribute)
{
    return value && value <= limit(device, attribute);
}

static CUresult check_shape(const struct function *function, const struct device *device,
                            const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    const struct exec_info *info = function->info;
    uint64_t threads = (uint64_t)p->blockDimX * p->blockDimY * p->blockDimZ;
    if (!in_range(p->gridDimX, device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) ||
        !in_range(p->gridDimY, device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y) ||
        !in_range(p->gridDimZ, device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z) ||
        !in_range(p->blockDimX, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) ||
        !in_range(p->blockDimY, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y) ||
        !in_range(p->blockDimZ, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z))
        return CUDA_ERROR_INVALID_VALUE;
    if (threads > limit(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
        threads > info->max_threads)
        return CUDA_ERROR_INVALID_VALUE;
    if (info->reqntid[0] && (p->blockDimX != info->reqntid[0] || p->blockDimY != info->reqntid[1] ||
                             p->blockDimZ != info->reqntid[2]))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult check_shared(const struct function *function, const struct device *device,
                             unsigned dynamic)
{
    int most = function_max_dynamic(function, function->attributes);
    size_t all = function->info->static_shared + (size_t)dynamic;
    if (dynamic > (unsigned)most ||
        all > limit(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* All blocks must be resident at once. */
static CUresult check_cooperative(const struct function *function, const struct device *device,
                                  const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    uint64_t blocks = (uint64_t)p->gridDimX * p->gridDimY * p->gridDimZ;
    unsigned each = occupancy_blocks(function, device, p->blockDimX * p->blockDimY * p->blockDimZ,
                                     p->sharedMemBytes);
    return blocks > each * limit(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
               ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
               : CUDA_SUCCESS;
}

/* Clusters of more than one block are beyond the interpreter; the device's attributes agree. */
static CUresult check_cluster(const struct function *function)
{
    for (int i = 0; i < 3; i++) {
        CUfunction_attribute which = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i;
        if (atomic_load(&function->attributes->value[which]) > 1) {
            say_once("this device runs no clusters of more than one block");
            return CUDA_ERROR_NOT_SUPPORTED;
        }
    }
    return CUDA_SUCCESS;
}

static CUresult check(struct function *function, const CUDA_KERNEL_NODE_PARAMS_v2 *params,
                      bool cooperative)
{
    const struct device *device = context_device(function->module->context);
    CUresult result = check_shape(function, device, params);
    if (!result)
        result = check_cluster(function);
    if (!result)
        result = function_prepare(function);
    if (!result)
        result = check_shared(function, device, params->sharedMemBytes);
    if (!result && cooperative)
        result = check_cooperative(function, device, params);
    return result;
}

/* -- arguments -- */

/* A packed buffer and its size, from the list that `extra` is. */
static CUresult read_extra(void **extra, const void **buffer, size_t *bytes)
{
    const size_t *size = NULL;
    *buffer = NULL;
    for (; extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    *bytes = size ? *size : 0;
    return CUDA_SUCCESS;
}

static CUresult copy_packed(struct kernel_call *call, void **extra)
{
    const void *buffer;
    size_t bytes;
    CUresult result = read_extra(extra, &buffer, &bytes);
    if (!result && (bytes < call->param_bytes || (call->param_bytes && !buffer)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result && call->param_bytes)
        memcpy(call->buffer, buffer, call->param_bytes);
    return result;
}

static CUresult copy_each(struct kernel_call *call, void **from)
{
    const struct exec_info *info = call->function->info;
    for (unsigned i = 0; i < info->param_count; i++) {
        if (!from || !from[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(call->pointers[i], from[i], info->params[i].bytes);
    }
    return CUDA_SUCCESS;
}

/* -- life -- */

static void point(struct kernel_call *call)
{
    const struct exec_info *info = call->function->info;
    size_t head = sizeof(*call) + info->param_count * sizeof(void *);
    call->buffer = (uint8_t *)call + (head + 15) / 16 * 16;
    for (unsigned i = 0; i < info->param_count; i++)
        call->pointers[i] = call->buffer + info->params[i].offset;
    call->params.kernelParams = info->param_count ? call->pointers : NULL;
    call->params.extra = NULL;
}

static struct kernel_call *allocate(struct function *function)
{
    const struct exec_info *info = function->info;
    size_t total =
        sizeof(struct kernel_call) + info->param_count * sizeof(void *) + 16 + info->param_bytes;
    struct kernel_call *call = calloc(1, total);
    if (!call)
        return NULL;
    call->function = function_hold(function);
    call->param_bytes = info->param_bytes;
    call->total = total;
    return call;
}

static void drop(void *data)
{
    struct kernel_call *call = data;
    function_drop(call->function);
    free(call);
}

static void *copy(const void *data)
{
    const struct kernel_call *from = data;
    struct kernel_call *call = malloc(from->total);
    if (!call)
        return NULL;
    memcpy(call, from, from->total);
    function_hold(call->function);
    point(call);
    return call;
}

CUresult kernel_call_build(struct function *function, const CUDA_KERNEL_NODE_PARAMS_v2 *params,
                           bool cooperative, struct kernel_call **out)
{
    CUresult result = check(function, params, cooperative);
    if (result)
        return result;
    if (params->kernelParams && params->extra)
        return CUDA_ERROR_INVALID_VALUE;
    struct kernel_call *call = allocate(function);
    if (!call)
        return CUDA_ERROR_OUT_OF_MEMORY;
    call->params = *params;
    call->params.ctx = context_handle(function->module->context);
    call->cooperative = cooperative;
    point(call);
    result =
        params->extra ? copy_packed(call, params->extra) : copy_each(call, params->kernelParams);
    if (result)
        drop(call);
    else
        *out = call;
    return result;
}

CUresult kernel_call_create(struct context *context, const CUDA_KERNEL_NODE_PARAMS_v2 *params,
                            bool cooperative, struct kernel_call **call)
{
    const void *handle = params->func ? (const void *)params->func : (const void *)params->kern;
    struct function *function;
    CUresult result = function_resolve(handle, context, &function);
    if (result)
        return result;
    result = kernel_call_build(function, params, cooperative, call);
    function_drop(function);
    return result;
}

void kernel_call_params(const struct kernel_call *call, CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
    *params = call->params;
}

/* -- running -- */

static CUresult error_of(enum exec_outcome outcome)
{
    switch (outcome) {
    case EXEC_DONE:
        return CUDA_SUCCESS;
    case EXEC_ILLEGAL_ADDRESS:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case EXEC_MISALIGNED:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case EXEC_ILLEGAL_INSTRUCTION:
        return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case EXEC_TRAP:
        return CUDA_ERROR_LAUNCH_FAILED;
    case EXEC_ASSERT:
        return CUDA_ERROR_ASSERT;
    case EXEC_STACK_OVERFLOW:
        return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case EXEC_STOPPED:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    }
    return CUDA_ERROR_UNKNOWN;
}

/* The first failure is the one that is reported. */
static CUresult fail(struct context *context, CUresult error, const char *sentence)
{
    if (!context_sticky(context))
        say(sentence);
    context_poison(context, error, sentence);
    return error;
}

static CUresult run(struct context *context, void *data)
{
    struct kernel_call *call = data;
    const CUDA_KERNEL_NODE_PARAMS_v2 *p = &call->params;
    const struct exec_launch launch = {
        .kernel = call->function->exec,
        .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
        .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
        .dynamic_shared = p->sharedMemBytes,
        .params = call->buffer,
        .cooperative = call->cooperative,
        .device = (unsigned)device_ordinal(context_device(context)),
        .seed = settings()->seed,
        .step_limit = settings()->steps,
        .stop = stream_stop_flag(context),
    };
    struct exec_fault fault;
    if (!atomic_load(&call->function->module->loaded))
        return fail(context, CUDA_ERROR_ILLEGAL_ADDRESS,
                    "a kernel was run whose module had been unloaded");
    enum exec_outcome outcome = exec_run(&launch, &fault);
    if (outcome == EXEC_DONE)
        return CUDA_SUCCESS;
    if (outcome == EXEC_STOPPED && atomic_load(launch.stop))
        return context_sticky(context); /* another kernel's failure, or the end of the process */
    return fail(context, error_of(outcome), fault.text);
}

const struct work_type kernel_work = {WORK_KERNEL, run, copy, drop};
