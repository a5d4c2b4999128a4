/* kernels.cu - a small kernel, and large ones: right, right, and wrong in the last element. */
#include "kernels.cuh"

RMSNORM_RIGHT(norm_right)

#define ADD(name, written)                                                                         \
    extern "C" __global__ void name(const float *a, const float *b, float *y, int n)               \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < (written))                                                                         \
            y[i] = a[i] + b[i];                                                                    \
    }
ADD(large_right, n)
ADD(large_other, n)
ADD(large_wrong, n - 1)
