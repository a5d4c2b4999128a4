/*
 * driver_kernels.cu - the kernels of driver_api, loaded from driver_kernels.fatbin. One name for
 * each way to launch, so that the journal shows which way was checked; *_bad are mutants.
 */
#include "../programs/kernels.cuh"

#define RMSNORM(name)                                                                              \
    extern "C" __global__ void name(const float *x, const float *w, float *y, int cols, float eps) \
    {                                                                                              \
        size_t row = (size_t)blockIdx.x * cols;                                                    \
        rmsnorm_row(x + row, w, y + row, cols, cols, eps);                                         \
    }

RMSNORM(via_params)      /* cuLaunchKernel, kernelParams */
RMSNORM(via_extra)       /* cuLaunchKernel, extra */
RMSNORM(via_ex)          /* cuLaunchKernelEx */
RMSNORM(via_ex_extra)    /* cuLaunchKernelEx, extra */
RMSNORM(via_cooperative) /* cuLaunchCooperativeKernel */
RMSNORM(via_ptds)        /* per-thread default stream */
RMSNORM(via_ptds_ex)     /* the same through cuLaunchKernelEx */
RMSNORM(via_legacy)      /* the legacy stream, spelt out */
RMSNORM(via_library)     /* a CUkernel of a CUlibrary */
RMSNORM(via_reload)      /* a module that is loaded and unloaded for each launch */
RMSNORM(fails)           /* refused by the driver: too many threads */
RMSNORM(in_place)        /* an out-of-place kernel called with y == x */
RMSNORM(nullable)        /* w null, then not */

struct norm_arguments {
    const float *x;  /* @0  */
    float *y;        /* @8  */
    int rows, cols;  /* @16 @20 */
    const float *w;  /* @24 */
    float eps;       /* @32 */
    long long pitch; /* @40 */
};

extern "C" __global__ void by_value(norm_arguments a, int unused)
{
    (void)unused;
    for (int row = blockIdx.x; row < a.rows; row += gridDim.x)
        rmsnorm_row(a.x + row * a.pitch, a.w, a.y + row * a.pitch, a.cols, a.cols, a.eps);
}

extern "C" __global__ void by_value_bad(norm_arguments a, int unused)
{
    (void)unused;
    for (int row = blockIdx.x; row < a.rows; row += gridDim.x)
        rmsnorm_row(a.x + row * a.pitch, a.w, a.y + row * a.pitch, a.cols, a.cols - 32, a.eps);
}

extern "C" __global__ void strided(const float *x, const float *w, float *y, long long x_stride,
                                   long long y_stride, int cols, float eps)
{
    rmsnorm_row(x + blockIdx.x * x_stride, w, y + blockIdx.x * y_stride, cols, cols, eps);
}

/* The last row is normalised with eight columns too few. */
extern "C" __global__ void strided_bad(const float *x, const float *w, float *y, long long x_stride,
                                       long long y_stride, int cols, float eps)
{
    int used = blockIdx.x + 1 == gridDim.x ? cols - 8 : cols;
    rmsnorm_row(x + blockIdx.x * x_stride, w, y + blockIdx.x * y_stride, cols, used, eps);
}

extern "C" __global__ void residual(float *y, const float *x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = y[i] + x[i];
}

/* The very last element is left alone. */
extern "C" __global__ void residual_bad(float *y, const float *x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n - 1; i += gridDim.x * blockDim.x)
        y[i] = y[i] + x[i];
}

/* y += alpha * x: `scale` into an accumulated output. */
extern "C" __global__ void accumulate(const float *x, float *y, float alpha, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] += alpha * x[i];
}

/* Overwrites where it should add. */
extern "C" __global__ void accumulate_bad(const float *x, float *y, float alpha, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = alpha * x[i];
}

extern "C" __global__ void layernorm_stats(const float *x, const float *w, const float *b, float *y,
                                           float *mean, float *rstd, int cols, float eps)
{
    size_t row = (size_t)blockIdx.x * cols;
    layernorm_row(x + row, w, b, y + row, mean ? mean + blockIdx.x : NULL,
                  rstd ? rstd + blockIdx.x : NULL, cols, eps);
}
