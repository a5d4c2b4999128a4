/* ids.c - the exported functions that give ids of contexts, streams and devices, and the time. */
#define CUPTI_LIB /* the header then exports what it declares */
#include <cupti.h>

#include <stdint.h>
#include <time.h>
#include "cupti/dispatch.h"
#include "cupti/driver.h"

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
    const struct driver *driver = driver_find();
    if (!contextId)
        return CUPTI_ERROR_INVALID_PARAMETER;
    uint32_t id = driver && context ? driver->context_uid(context) : 0;
    if (!id)
        return CUPTI_ERROR_INVALID_CONTEXT;
    *contextId = id;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream,
                               uint32_t *streamId)
{
    const struct driver *driver = driver_find();
    CUresult pushed = CUDA_ERROR_INVALID_CONTEXT;
    if (!streamId)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!driver)
        return CUPTI_ERROR_INVALID_STREAM;
    dispatch_pause();
    if (context)
        pushed = driver->push(context);
    uint32_t id = context && pushed ? 0 : driver->stream_uid(stream, perThreadStream != 0);
    if (!pushed)
        driver->pop(NULL);
    dispatch_resume();
    if (!id)
        return CUPTI_ERROR_INVALID_STREAM;
    *streamId = id;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId)
{
    return cuptiGetStreamIdEx(context, stream, 0, streamId);
}

/* NULL stands for the current context. */
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
    const struct driver *driver = driver_find();
    CUresult result = CUDA_ERROR_INVALID_CONTEXT;
    CUdevice device = 0;
    if (!deviceId)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!driver)
        return CUPTI_ERROR_INVALID_DEVICE;
    dispatch_pause();
    if (!context) {
        result = driver->device(&device);
    } else if (!driver->push(context)) {
        result = driver->device(&device);
        driver->pop(NULL);
    }
    dispatch_resume();
    if (result)
        return CUPTI_ERROR_INVALID_DEVICE;
    *deviceId = (uint32_t)device;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    struct timespec now;
    if (!timestamp)
        return CUPTI_ERROR_INVALID_PARAMETER;
    clock_gettime(CLOCK_REALTIME, &now);
    *timestamp = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return CUPTI_SUCCESS;
}
