/* kernels.cu - the kernels of the edited graphs. */
#include "kernels.cuh"

RMSNORM_RIGHT(norm_right)
RMSNORM_RIGHT(norm_other)
RMSNORM_WRONG(norm_wrong)
RMSNORM_RIGHT(plain) /* has no entry */

/* Updates its output. */
extern "C" __global__ void update(float *y, const float *x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = y[i] + x[i];
}
