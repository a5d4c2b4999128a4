#include "context/enqueue.h"

#include <stdint.h>

bool enqueue_waits(CUfunction function)
{
    int version = 0;
    return cuda.cuLaunchKernelEx && cuda.cuFuncGetAttribute &&
           !cuda.cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, function) &&
           version >= 90;
}

enum status enqueue_kernel(const struct own_kernel *kernel, void *call, const struct launch *launch,
                           struct error *err)
{
    void *params[] = {call};
    if (launch->replayed)
        return launch->replayed->put(launch->replayed, kernel, params, err);
    CUstream stream = (CUstream)(uintptr_t)launch->stream;
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value.programmaticStreamSerializationAllowed = 1};
    CUlaunchConfig config = {.gridDimX = kernel->blocks,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = kernel->threads,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream,
                             .attrs = &early,
                             .numAttrs = 1};
    CUresult result = kernel->waits
                          ? cuda.cuLaunchKernelEx(&config, kernel->function, params, NULL)
                          : cuda.cuLaunchKernel(kernel->function, kernel->blocks, 1, 1,
                                                kernel->threads, 1, 1, 0, stream, params, NULL);
    return cuda_check(err, result, kernel->doing);
}
