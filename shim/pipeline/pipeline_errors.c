/*
 * pipeline_errors.c - errors of work that had been launched before: returned by a call of the
 * program that waits, or, under CUVET_SYNC, by a synchronisation after the launch. And errors of
 * such calls of their own.
 */
#include <stdatomic.h>
#include <string.h>
#include "base/uninterrupted.h"
#include "gate/recent.h"
#include "gates/gates.h"

static void report(const struct pipeline *pipeline, const struct api_error *error)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    pipeline->sink->api_failed(pipeline->sink->user, error);
    uninterrupted_end(&kept);
}

/* True once for each call and error, for the first OWN of these. */
static bool error_is_new(const char *api, CUresult result)
{
    enum { OWN = 64 };
    static _Atomic(uint64_t) seen[OWN];
    uint64_t hash = (uint64_t)result + 1;
    for (const char *c = api; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < OWN; i++) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&seen[i], &there, hash))
            return true;
        if (there == hash)
            return false;
    }
    return false;
}

/* Programs provoke some errors on purpose: it is a note and no finding. */
static void own_error(const struct pipeline *pipeline, const char *api, CUresult result)
{
    struct api_error error = {.api = api, .own = true, .error = cuda_error_name(result)};
    bool ends = result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_INVALID_CONTEXT ||
                result == CUDA_ERROR_CONTEXT_IS_DESTROYED; /* usual where a program ends */
    if (!ends && !recent_is_fault(result) && error_is_new(api, result))
        report(pipeline, &error);
}

void pipeline_api_failed(const struct pipeline *pipeline, const char *api, CUresult result,
                         const void *stream)
{
    struct api_error error = {.api = api};
    if (recent_fault(result, stream, &error))
        report(pipeline, &error);
    else if (strncmp(api, "cu", 2) == 0) /* a launch that is refused has a report of its own */
        own_error(pipeline, api, result);
}

/* No capture of the program's is disturbed by the wait. */
static CUresult wait_for_call(const struct launch *launch)
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
    CUresult result = wait_for_call(launch);
    if (!recent_new_fault(result))
        return;
    error->api = "cuStreamSynchronize";
    error->error = cuda_error_name(result);
    memcpy(error->grid, launch->grid, sizeof(error->grid));
    memcpy(error->block, launch->block, sizeof(error->block));
    report(pipeline, error);
}
