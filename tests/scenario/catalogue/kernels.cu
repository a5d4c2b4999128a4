/*
 * kernels.cu - a kernel for every built-in reference and type, by the list that registry.c makes of
 * refs/. What it "computes" the program has computed on the host: it copies.
 */
#include "job.h"

#define KERNEL_OF(name)                                                                            \
    extern "C" __global__ void name(job job)                                                       \
    {                                                                                              \
        for (long long i = threadIdx.x; i < job.bytes; i += blockDim.x)                            \
            job.to[i] = job.from[i];                                                               \
    }
#include "kernels.inc"
