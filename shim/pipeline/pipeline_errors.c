/*
 * pipeline_errors.c - errors of work that had been launched before: returned by a call of the
 * program that waits, or, under CUVET_SYNC, by a synchronisation after the launch.
 */
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

void pipeline_api_failed(const struct pipeline *pipeline, const char *api, CUresult result,
                         const void *stream)
{
    struct api_error error = {.api = api};
    if (recent_fault(result, stream, &error))
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
    if (!recent_new_fault(result))
        return;
    error->api = "cuStreamSynchronize";
    error->error = cuda_error_name(result);
    memcpy(error->grid, launch->grid, sizeof(error->grid));
    memcpy(error->block, launch->block, sizeof(error->block));
    report(pipeline, error);
}
