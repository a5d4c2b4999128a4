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

enum status fetch_begin(struct side *side, CUdeviceptr from, size_t bytes, size_t at)
{
    struct error err = {{0}};
    enum status status = side_staging_host(side, &err);
    return status ? status
                  : cuda_check(&err,
                               cuda.cuMemcpyDtoHAsync((char *)side->staging_host + at, from, bytes,
                                                      side->stream),
                               "copy");
}

enum status fetch_end(struct side *side)
{
    struct error err = {{0}};
    return wait_idle(side, &err);
}

enum status fetch(struct side *side, CUdeviceptr from, size_t bytes)
{
    enum status status = fetch_begin(side, from, bytes, 0);
    return status ? status : fetch_end(side);
}
