#include "extra/fetch.h"

#include <time.h>

static enum status wait_idle(struct side *side, struct error *err)
{
    const struct timespec pause = {.tv_nsec = 50000};
    for (int i = 0; i < 200000; i++) {
        CUresult result = cuda.cuStreamQuery(side->stream);
        if (result != CUDA_ERROR_NOT_READY)
            return cuda_check(err, result, "cuStreamQuery");
        nanosleep(&pause, NULL);
    }
    return error_set(err, STATUS_TIMEOUT, "the side stream is busy for 10 s");
}

enum status fetch(struct side *side, CUdeviceptr from, size_t bytes)
{
    struct error err = {{0}};
    enum status status = side_staging_host(side, &err);
    if (!status)
        status = cuda_check(
            &err, cuda.cuMemcpyDtoHAsync(side->staging_host, from, bytes, side->stream), "copy");
    return status ? status : wait_idle(side, &err);
}
