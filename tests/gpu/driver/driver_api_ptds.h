/* driver_api_ptds.h - launches on the per-thread default stream, for driver_api. */
#ifndef TESTS_GPU_DRIVER_API_PTDS_H
#define TESTS_GPU_DRIVER_API_PTDS_H

#include <cuda.h>

CUresult ptds_launch(CUfunction function, unsigned grid, unsigned block, void **params);
CUresult ptds_launch_ex(CUfunction function, unsigned grid, unsigned block, void **params);

#endif
