/*
 * kernels.cu - one name for each way to launch and each kind of argument, right and wrong, so that
 * reports show which way was checked.
 */
#include "kernels.cuh"

#define BOTH(name) RMSNORM_RIGHT(name##_right) RMSNORM_WRONG(name##_wrong)
BOTH(params)
BOTH(extra)
BOTH(ex)
BOTH(ex_extra)
BOTH(cooperative)
BOTH(per_thread)
BOTH(per_thread_ex)
BOTH(legacy)
BOTH(library)
BOTH(in_place)

struct rows {
    const float *x;  /* @0 */
    float *y;        /* @8 */
    int rows, cols;  /* @16 @20 */
    const float *w;  /* @24 */
    float eps;       /* @32 */
    long long pitch; /* @40 */
};

__device__ static inline void by_value(const rows &a, int used)
{
    for (int row = blockIdx.x; row < a.rows; row += gridDim.x)
        rmsnorm_row(a.x + row * a.pitch, a.w, a.y + row * a.pitch, a.cols, used, a.eps);
}

extern "C" __global__ void struct_right(rows a, int unused)
{
    (void)unused;
    by_value(a, a.cols);
}

extern "C" __global__ void struct_wrong(rows a, int unused)
{
    (void)unused;
    by_value(a, a.cols - 8);
}

#define UPDATE(which, end)                                                                         \
    extern "C" __global__ void inout_##which(float *y, const float *x, int n)                      \
    {                                                                                              \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x)  \
            y[i] = y[i] + x[i];                                                                    \
    }
UPDATE(right, n)
UPDATE(wrong, n - 1)

/* w may be null. The wrong one adds a needless bias when it is. */
#define NULLABLE(which, extra)                                                                     \
    extern "C" __global__ void nullable_##which(const float *x, const float *w, float *y,          \
                                                int cols, float eps)                               \
    {                                                                                              \
        size_t row = (size_t)blockIdx.x * cols;                                                    \
        rmsnorm_row(x + row, w, y + row, cols, cols, w ? eps : eps + extra);                       \
    }
NULLABLE(right, 0.0f)
NULLABLE(wrong, 0.125f)
