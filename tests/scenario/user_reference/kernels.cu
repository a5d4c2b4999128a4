/* kernels.cu - activations without a built-in reference, right and wrong in one element. */

#define KERNELS(name, expression)                                                                  \
    extern "C" __global__ void name##_right(const float *v, float *y, float c, int n)              \
    {                                                                                              \
        int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);                                      \
        float x = i < n ? v[i] : 0;                                                                \
        if (i < n)                                                                                 \
            y[i] = expression;                                                                     \
    }                                                                                              \
    extern "C" __global__ void name##_wrong(const float *v, float *y, float c, int n)              \
    {                                                                                              \
        int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);                                      \
        float x = i < n ? v[i] : 0;                                                                \
        if (i < n)                                                                                 \
            y[i] = (expression) + (i == n / 2 ? 1e-4f : 0);                                        \
    }

KERNELS(softsign, x / (fabsf(x) + c))
KERNELS(bent, (sqrtf(x * x + 1) - 1) * c + x)
KERNELS(squareplus, (x + sqrtf(x * x + c)) * 0.5f)
KERNELS(broken, x *c)
