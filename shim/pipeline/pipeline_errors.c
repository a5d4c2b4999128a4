/*
 * pipeline_errors.c - errors of work that had been launched before: returned by a call of the
 * program that waits, or, under CUVET_SYNC, by a synchronisation after the launch.
 */
#include <stdatomic.h>
#include <string.h>
#include "base/uninterrupted.h"
#include "gate/recent.h"
#include "gates/gates.h"

/* Errors that work which was enqueued before leaves in its context. Other ones are the failed
 * call's own. The last three are by number: headers of older toolkits have no names for them. */
static const int faults[] = {
    CUDA_ERROR_ECC_UNCORRECTABLE,
    CUDA_ERROR_NVLINK_UNCORRECTABLE,
    CUDA_ERROR_ILLEGAL_ADDRESS,
    CUDA_ERROR_LAUNCH_TIMEOUT,
    CUDA_ERROR_ASSERT,
    CUDA_ERROR_HARDWARE_STACK_ERROR,
    CUDA_ERROR_ILLEGAL_INSTRUCTION,
    CUDA_ERROR_MISALIGNED_ADDRESS,
    CUDA_ERROR_INVALID_ADDRESS_SPACE,
    CUDA_ERROR_INVALID_PC,
    CUDA_ERROR_LAUNCH_FAILED,
    CUDA_ERROR_EXTERNAL_DEVICE,
    226, /* CUDA_ERROR_CONTAINED */
    721, /* CUDA_ERROR_TENSOR_MEMORY_LEAK */
    810, /* CUDA_ERROR_MPS_CLIENT_TERMINATED */
};
enum { FAULTS = sizeof(faults) / sizeof(*faults) };

/* The row of `faults`, or -1. */
static int fault_of(CUresult result)
{
    for (int i = 0; i < FAULTS; i++) {
        if (faults[i] == (int)result)
            return i;
    }
    return -1;
}

/* Such an error stays, and every later call returns it: it is reported once for each device. */
static bool is_new_fault(CUresult result)
{
    enum { DEVICES = 64 };
    static _Atomic(uint32_t) seen[DEVICES];
    CUdevice device = 0;
    int fault = fault_of(result);
    if (fault < 0)
        return false;
    if (cuda.cuCtxGetDevice(&device) || device < 0)
        device = 0;
    uint32_t bit = 1U << (unsigned)fault;
    return !(atomic_fetch_or(&seen[device % DEVICES], bit) & bit);
}

static void report(const struct pipeline *pipeline, const struct api_error *error)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    pipeline->sink->api_failed(pipeline->sink->user, error);
    uninterrupted_end(&kept);
}

void pipeline_api_failed(const struct pipeline *pipeline, const char *api, CUresult result,
                         const void *stream)
{
    struct api_error error = {.api = api};
    if (!is_new_fault(result))
        return;
    error.error = cuda_error_name(result);
    error.names = recent_names(stream, error.name, API_ERROR_NAMES);
    report(pipeline, &error);
}

/* No capture of the program's is disturbed by the wait. */
static CUresult wait_for(const struct launch *launch)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    cuda.cuThreadExchangeStreamCaptureMode(&mode);
    CUresult result = cuda.cuStreamSynchronize((CUstream)(uintptr_t)launch->stream);
    cuda.cuThreadExchangeStreamCaptureMode(&mode);
    return result;
}

void pipeline_sync(const struct pipeline *pipeline, const struct launch *launch,
                   struct api_error *error)
{
    if (gates_captures(launch, NULL) == SKIP_CAPTURED)
        return; /* a fault that was quicker is an error of this call, too */
    CUresult result = wait_for(launch);
    if (!is_new_fault(result))
        return;
    error->api = "cuStreamSynchronize";
    error->error = cuda_error_name(result);
    memcpy(error->grid, launch->grid, sizeof(error->grid));
    memcpy(error->block, launch->block, sizeof(error->block));
    report(pipeline, error);
}
