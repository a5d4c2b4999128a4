/* kernels.cu - y = 2 x of pointers behind more than 4 KiB of parameters, right and wrong in one
 * element. */
#include "job.h"
#include "kernels.cuh"

extern "C" __global__ void wide_right(__grid_constant__ const wide_job job)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < job.n)
        job.y[i] = job.factor[i & 1023] * job.x[i];
}

extern "C" __global__ void wide_wrong(__grid_constant__ const wide_job job)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < job.n)
        job.y[i] = job.factor[i & 1023] * job.x[i] + (i == 5);
}
