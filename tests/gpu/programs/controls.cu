/*
 * controls.cu - correct kernels over many shapes, seeds and scales: nothing may be found.
 *
 *   controls [BATCHES] [PAUSE_US]      default 1000 batches of 135 launches
 *
 * A batch fills the inputs anew, launches nine kernels in three dtypes over five shapes, adds all
 * output bits to one checksum, and pauses, so that the checks keep up and none is dropped.
 */
#include <unistd.h>
#include "kernels.cuh"

#define ROW ((size_t)blockIdx.x * cols)

#define KERNELS(D, T)                                                                              \
    extern "C" __global__ void ctl_rmsnorm_##D(const T *x, const T *w, T *y, int cols, float eps)  \
    {                                                                                              \
        rmsnorm_row(x + ROW, w, y + ROW, cols, cols, eps);                                         \
    }                                                                                              \
    extern "C" __global__ void ctl_layernorm_##D(const T *x, const T *w, const T *b, T *y,         \
                                                 int cols, float eps)                              \
    {                                                                                              \
        layernorm_row(x + ROW, w, b, y + ROW, NULL, NULL, cols, eps);                              \
    }                                                                                              \
    extern "C" __global__ void ctl_softmax_##D(const T *x, T *y, int cols)                         \
    {                                                                                              \
        softmax_row(x + ROW, y + ROW, cols, cols);                                                 \
    }                                                                                              \
    extern "C" __global__ void ctl_row_sum_##D(const T *x, T *y, int cols)                         \
    {                                                                                              \
        row_sum_row(x + ROW, y + blockIdx.x, cols);                                                \
    }                                                                                              \
    extern "C" __global__ void ctl_silu_##D(const T *x, T *y, int cols)                            \
    {                                                                                              \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            y[ROW + c] = T(silu_value(float(x[ROW + c])));                                         \
    }                                                                                              \
    extern "C" __global__ void ctl_gelu_tanh_##D(const T *x, T *y, int cols)                       \
    {                                                                                              \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            y[ROW + c] = T(gelu_tanh_value(float(x[ROW + c])));                                    \
    }                                                                                              \
    extern "C" __global__ void ctl_swiglu_##D(const T *gate, const T *up, T *y, int cols)          \
    {                                                                                              \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            y[ROW + c] = T(silu_value(float(gate[ROW + c])) * float(up[ROW + c]));                 \
    }                                                                                              \
    extern "C" __global__ void ctl_add_##D(const T *a, const T *b, T *y, int cols)                 \
    {                                                                                              \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            y[ROW + c] = T(float(a[ROW + c]) + float(b[ROW + c]));                                 \
    }                                                                                              \
    extern "C" __global__ void ctl_matmul_##D(const T *a, const T *b, T *y, int m, int n, int k)   \
    {                                                                                              \
        for (int c = threadIdx.x; c < n; c += blockDim.x) {                                        \
            float sum = 0;                                                                         \
            for (int i = 0; i < k; i++)                                                            \
                sum += float(a[(size_t)blockIdx.x * k + i]) * float(b[(size_t)i * n + c]);         \
            y[(size_t)blockIdx.x * n + c] = T(sum);                                                \
        }                                                                                          \
    }

KERNELS(f32, float)
KERNELS(f16, __half)
KERNELS(bf16, __nv_bfloat16)

enum { MAX_ROWS = 48, MAX_COLS = 1100, MAX = MAX_ROWS * MAX_COLS, MATMUL_N = 40 };
static const int SHAPES[][2] = {{1, 1},    {48, 64},  {13, 100}, {32, 257}, {5, 1024},
                                {16, 777}, {2, 1100}, {40, 32},  {7, 7},    {24, 512}};

template <typename T> static __global__ void fill(T *array, int count, uint64_t seed, float scale)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        array[i] = T(random_value(seed, i, scale));
}

/* Adds a hash of each 16-bit word and its place to *sum, in whatever order. */
static __global__ void hash_words(const uint16_t *word, size_t count, uint64_t seed,
                                  unsigned long long *sum)
{
    unsigned long long local = 0;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        uint64_t z = (seed + i) * 0x9E3779B97F4A7C15ull + word[i];
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        local += z ^ (z >> 27);
    }
    for (int step = 16; step; step >>= 1)
        local += __shfl_xor_sync(~0u, local, step);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, local);
}

/* Inputs and the outputs of one batch, one dtype. */
template <typename T> struct arrays {
    T *x, *w, *b, *out;
    size_t used;
    T *next(size_t count)
    {
        T *y = out + used;
        used += (count + 127) / 128 * 128;
        return y;
    }
};

enum { BATCH_SHAPES = 5, OUT = (7 * MAX + 8192) * BATCH_SHAPES };

template <typename T> static void make(arrays<T> &a)
{
    CHECK(cudaMalloc(&a.x, MAX * sizeof(T)));
    CHECK(cudaMalloc(&a.b, MAX * sizeof(T)));
    CHECK(cudaMalloc(&a.w, MAX * sizeof(T)));
    CHECK(cudaMalloc(&a.out, OUT * sizeof(T)));
}

template <typename T> static void refill(arrays<T> &a, uint64_t seed)
{
    static const float scales[] = {1.0f, 0.02f, 8.0f, 0.3f};
    float scale = scales[seed % 4];
    fill<<<64, 256>>>(a.x, MAX, seed * 3 + 1, scale);
    fill<<<64, 256>>>(a.b, MAX, seed * 3 + 2, scale);
    fill<<<64, 256>>>(a.w, MAX, seed * 3 + 3, 1.5f);
    CHECK(cudaMemsetAsync(a.out, 0, OUT * sizeof(T)));
    a.used = 0;
}

#define LAUNCH_ALL(D, T)                                                                           \
    static void launch_##D(arrays<T> &a, int rows, int cols)                                       \
    {                                                                                              \
        const size_t count = (size_t)rows * cols;                                                  \
        const int threads = cols > 300 ? 256 : 64;                                                 \
        ctl_rmsnorm_##D<<<rows, threads>>>(a.x, a.w, a.next(count), cols, 1e-6f);                  \
        ctl_layernorm_##D<<<rows, threads>>>(a.x, a.w, a.b, a.next(count), cols, 1e-5f);           \
        ctl_softmax_##D<<<rows, threads>>>(a.x, a.next(count), cols);                              \
        ctl_row_sum_##D<<<rows, threads>>>(a.x, a.next(rows), cols);                               \
        ctl_silu_##D<<<rows, threads>>>(a.x, a.next(count), cols);                                 \
        ctl_gelu_tanh_##D<<<rows, threads>>>(a.x, a.next(count), cols);                            \
        ctl_swiglu_##D<<<rows, threads>>>(a.x, a.b, a.next(count), cols);                          \
        ctl_add_##D<<<rows, threads>>>(a.x, a.b, a.next(count), cols);                             \
        ctl_matmul_##D<<<rows, 64>>>(a.x, a.b, a.next((size_t)rows * MATMUL_N), rows, MATMUL_N,    \
                                     cols);                                                        \
        CHECK(cudaGetLastError());                                                                 \
    }

LAUNCH_ALL(f32, float)
LAUNCH_ALL(f16, __half)
LAUNCH_ALL(bf16, __nv_bfloat16)

int main(int argc, char **argv)
{
    const int batches = argc > 1 ? atoi(argv[1]) : 1000, pause_us = argc > 2 ? atoi(argv[2]) : 5000;
    arrays<float> f32;
    arrays<__half> f16;
    arrays<__nv_bfloat16> bf16;
    unsigned long long *sum, total = 0;
    make(f32);
    make(f16);
    make(bf16);
    CHECK(cudaMalloc(&sum, sizeof *sum));
    CHECK(cudaMemset(sum, 0, sizeof *sum));
    for (int batch = 0; batch < batches; batch++) {
        refill(f32, batch * 3);
        refill(f16, batch * 3 + 1);
        refill(bf16, batch * 3 + 2);
        for (int s = 0; s < BATCH_SHAPES; s++) {
            const int *shape = SHAPES[(batch * 3 + s) % 10];
            launch_f32(f32, shape[0], shape[1]);
            launch_f16(f16, shape[0], shape[1]);
            launch_bf16(bf16, shape[0], shape[1]);
        }
        hash_words<<<256, 256>>>((uint16_t *)f32.out, 2 * f32.used, batch * 7ull, sum);
        hash_words<<<256, 256>>>((uint16_t *)f16.out, f16.used, batch * 11ull, sum);
        hash_words<<<256, 256>>>((uint16_t *)bf16.out, bf16.used, batch * 13ull, sum);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(cudaStreamLegacy));
        if (pause_us)
            usleep(pause_us);
    }
    CHECK(cudaMemcpy(&total, sum, sizeof total, cudaMemcpyDeviceToHost));
    printf("%d launches %016llx\n", batches * BATCH_SHAPES * 27, total);
    return 0;
}
