/*
 * outliers.cu - kernels that are wrong on one launch in 500, of input with one large value; their
 * twins are right. On two streams, 2,000 launches each, waited for every 32,
 * which keeps the looks under way below the number of slots.
 */
#include "kernels.cuh"

enum { ROWS = 2048, COLS = 1024, LAUNCHES = 2000, EVERY = 500 };

/* The program's own data: new values for each launch, and a large one in every 500th. */
__global__ void make_input(float *x, size_t count, uint64_t seed, bool rare)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        x[i] = rare && i % 4096 == 77 ? 100.0f : random_value(seed, i, 1.0f);
}

/* The squares of the sum saturate. */
__device__ static inline void narrow_row(const float *x, const float *w, float *y, float most)
{
    float squares = 0;
    for (int c = threadIdx.x; c < COLS; c += blockDim.x)
        squares += fminf(x[c] * x[c], most);
    float inverse = rsqrtf(block_reduce(squares, false) / COLS + 1e-6f);
    for (int c = threadIdx.x; c < COLS; c += blockDim.x)
        y[c] = x[c] * inverse * w[c];
}

extern "C" __global__ void outlier_norm(const float *x, const float *w, float *y)
{
    narrow_row(x + (size_t)blockIdx.x * COLS, w, y + (size_t)blockIdx.x * COLS, 1e30f);
}

extern "C" __global__ void outlier_norm_narrow(const float *x, const float *w, float *y)
{
    narrow_row(x + (size_t)blockIdx.x * COLS, w, y + (size_t)blockIdx.x * COLS, 1000.0f);
}

/* In place. */
extern "C" __global__ void outlier_scale_narrow(float *x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x[i] = fminf(x[i], 50.0f) * 0.5f;
}

int main()
{
    const size_t count = (size_t)ROWS * COLS;
    float *x[2], *y[2], *w = device_array<float>(COLS, 1, 1.0f);
    cudaStream_t stream[2];
    uint64_t hash = FNV_START;
    for (int s = 0; s < 2; s++) {
        x[s] = device_array<float>(count, 2 + s, 1.0f);
        y[s] = device_array<float>(count, 4 + s, 1.0f);
        CHECK(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
    }
    for (int i = 0; i < LAUNCHES; i++) {
        bool rare = i % EVERY == EVERY - 1;
        for (int s = 0; s < 2; s++) {
            make_input<<<256, 256, 0, stream[s]>>>(x[s], count, 2 * i + s, rare);
            outlier_norm<<<ROWS, 256, 0, stream[s]>>>(x[s], w, y[s]);
            outlier_norm_narrow<<<ROWS, 256, 0, stream[s]>>>(x[s], w, y[s]);
            outlier_scale_narrow<<<256, 256, 0, stream[s]>>>(x[s], (int)count);
        }
        if (i % 32 == 31)
            wait_for_checks();
    }
    CHECK(cudaDeviceSynchronize());
    for (int s = 0; s < 2; s++) {
        hash = hash * 31 + device_fnv(x[s], count);
        hash = hash * 31 + device_fnv(y[s], count);
    }
    printf("%016llx\n", (unsigned long long)hash);
    return 0;
}
