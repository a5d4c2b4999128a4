/*
 * fuzz_target.cu - a hundred distinct kernels of five families (by the last digit, modulo five),
 * launched in a loop: the live program that fuzz_signatures.py describes wrongly. Any CUDA error
 * ends it with status 3; the checksum covers every output.
 */
#include "kernels.cuh"

#define FUZZ_RMSNORM(n)                                                                            \
    extern "C" __global__ void fuzz_##n(const float *x, const float *w, float *y, int rows,        \
                                        int cols, float eps)                                       \
    {                                                                                              \
        size_t row = (size_t)blockIdx.x * cols;                                                    \
        if (blockIdx.x < rows)                                                                     \
            rmsnorm_row(x + row, w, y + row, cols, cols, eps);                                     \
    }
#define FUZZ_STRIDED(n)                                                                            \
    extern "C" __global__ void fuzz_##n(const float *x, const float *w, float *y, long long xs,    \
                                        long long ys, int cols, float eps)                         \
    {                                                                                              \
        rmsnorm_row(x + blockIdx.x * xs, w, y + blockIdx.x * ys, cols, cols, eps);                 \
    }
#define FUZZ_SWIGLU(n)                                                                             \
    extern "C" __global__ void fuzz_##n(const __nv_bfloat16 *gate, const __nv_bfloat16 *up,        \
                                        __nv_bfloat16 *y, long long count)                         \
    {                                                                                              \
        for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count;                       \
             i += gridDim.x * blockDim.x)                                                          \
            y[i] = __nv_bfloat16(silu_value(float(gate[i])) * float(up[i]));                       \
    }
#define FUZZ_RESIDUAL(n)                                                                           \
    extern "C" __global__ void fuzz_##n(float *y, const float *x, int count)                       \
    {                                                                                              \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count;                             \
             i += gridDim.x * blockDim.x)                                                          \
            y[i] += x[i];                                                                          \
    }
#define FUZZ_SOFTMAX(n)                                                                            \
    extern "C" __global__ void fuzz_##n(const __half *x, __half *y, int rows, int cols,            \
                                        unsigned flags)                                            \
    {                                                                                              \
        for (int row = blockIdx.x; row < rows; row += gridDim.x)                                   \
            softmax_row(x + (size_t)row * cols, y + (size_t)row * cols, cols, cols);               \
    }

/* clang-format never comes to rest on these. */
// clang-format off
#define FUZZ_TEN(d)                                                                                \
    FUZZ_RMSNORM(d##0) FUZZ_STRIDED(d##1) FUZZ_SWIGLU(d##2) FUZZ_RESIDUAL(d##3) FUZZ_SOFTMAX(d##4) \
    FUZZ_RMSNORM(d##5) FUZZ_STRIDED(d##6) FUZZ_SWIGLU(d##7) FUZZ_RESIDUAL(d##8) FUZZ_SOFTMAX(d##9)
#define FUZZ_ROW(d)                                                                                \
    (const void *)fuzz_##d##0, (const void *)fuzz_##d##1, (const void *)fuzz_##d##2,               \
        (const void *)fuzz_##d##3, (const void *)fuzz_##d##4, (const void *)fuzz_##d##5,           \
        (const void *)fuzz_##d##6, (const void *)fuzz_##d##7, (const void *)fuzz_##d##8,           \
        (const void *)fuzz_##d##9

FUZZ_TEN(0)
FUZZ_TEN(1)
FUZZ_TEN(2)
FUZZ_TEN(3)
FUZZ_TEN(4) FUZZ_TEN(5) FUZZ_TEN(6) FUZZ_TEN(7) FUZZ_TEN(8) FUZZ_TEN(9)

    static const void *const kernels[] = {
        FUZZ_ROW(0), FUZZ_ROW(1), FUZZ_ROW(2), FUZZ_ROW(3), FUZZ_ROW(4),
        FUZZ_ROW(5), FUZZ_ROW(6), FUZZ_ROW(7), FUZZ_ROW(8), FUZZ_ROW(9),
};
// clang-format on

enum { ROWS = 16, COLS = 300, PITCH = 320, ROUNDS = 4 };

int main()
{
    const size_t count = (size_t)ROWS * PITCH;
    float *x = device_array<float>(count, 1, 1.0f), *w = device_array<float>(COLS, 2, 1.0f);
    float *y = device_array<float>(count, 3, 1.0f), *residual = device_array<float>(count, 4, 1.0f);
    __nv_bfloat16 *gate = device_array<__nv_bfloat16>(count, 5, 4.0f);
    __nv_bfloat16 *up = device_array<__nv_bfloat16>(count, 6, 1.0f);
    __nv_bfloat16 *glu = device_array<__nv_bfloat16>(count, 0, 0);
    __half *scores = device_array<__half>(count, 7, 6.0f),
           *shares = device_array<__half>(count, 0, 0);
    int rows = ROWS, cols = COLS, elements = (int)count;
    long long x_stride = PITCH, y_stride = COLS + 8, wide = (long long)count;
    unsigned flags = 0x40000000u;
    float eps = 1e-6f;
    void *arguments[5][7] = {
        {&x, &w, &y, &rows, &cols, &eps},
        {&x, &w, &y, &x_stride, &y_stride, &cols, &eps},
        {&gate, &up, &glu, &wide},
        {&residual, &x, &elements},
        {&scores, &shares, &rows, &cols, &flags},
    };
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < 100; k++)
            CHECK(cudaLaunchKernel(kernels[k], dim3(ROWS), dim3(128), arguments[k % 5], 0, NULL));
        CHECK(cudaDeviceSynchronize());
        printf("round %d %016llx %016llx %016llx %016llx\n", round,
               (unsigned long long)device_fnv(y, count),
               (unsigned long long)device_fnv(residual, count),
               (unsigned long long)device_fnv(glu, count),
               (unsigned long long)device_fnv(shares, count));
    }
    printf("error: %s\n", cudaGetErrorName(cudaGetLastError()));
    return 0;
}
