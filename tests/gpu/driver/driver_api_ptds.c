/* driver_api_ptds.c - compiled with -DCUDA_API_PER_THREAD_DEFAULT_STREAM: a null stream means the
 * per-thread one here, through the _ptsz entry points. */
#include <string.h>
#include "driver_api_ptds.h"

#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
#error "compile with -DCUDA_API_PER_THREAD_DEFAULT_STREAM"
#endif

CUresult ptds_launch(CUfunction function, unsigned grid, unsigned block, void **params)
{
    return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, NULL, params, NULL);
}

CUresult ptds_launch_ex(CUfunction function, unsigned grid, unsigned block, void **params)
{
    CUlaunchConfig config;
    memset(&config, 0, sizeof config);
    config.gridDimX = grid;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = block;
    config.blockDimY = config.blockDimZ = 1;
    return cuLaunchKernelEx(&config, function, params, NULL);
}
