/*
 * subsets.cu - launches of 64 MB and more, which are checked on some of their rows or columns:
 * right kernels, and kernels that are wrong at the end of each row, in the last row, or in the last
 * elements.
 */
#include "kernels.cuh"

enum { ROWS = 16384, COLS = 1021, PITCH = 1024, COUNT = 33000001, LAUNCHES = 16 };
enum { NONE = -1, TAILS = -2 };

/* Row by row; the last column of `wrong` is not written. */
__device__ static void norm(const float *x, const float *w, float *y, int pitch, int wrong)
{
    const float *from = x + (size_t)blockIdx.x * pitch;
    float *to = y + (size_t)blockIdx.x * pitch, squares = 0;
    int written = wrong == TAILS || wrong == (int)blockIdx.x ? COLS - 1 : COLS;
    for (int c = threadIdx.x; c < COLS; c += blockDim.x)
        squares += from[c] * from[c];
    float inverse = rsqrtf(block_reduce(squares, false) / COLS + 1e-6f);
    for (int c = threadIdx.x; c < written; c += blockDim.x)
        to[c] = from[c] * inverse * w[c];
}

#define NORM(name, wrong)                                                                          \
    extern "C" __global__ void name(const float *x, const float *w, float *y, int pitch)           \
    {                                                                                              \
        norm(x, w, y, pitch, wrong);                                                               \
    }
NORM(subset_norm, NONE)
NORM(subset_norm_tails, TAILS)
NORM(subset_norm_last, (int)gridDim.x - 1)

/* In place, one long row. */
#define SCALE(name, end)                                                                           \
    extern "C" __global__ void name(float *x, int n)                                               \
    {                                                                                              \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x)  \
            x[i] *= -1.0f;                                                                         \
    }
SCALE(subset_scale, n)
SCALE(subset_scale_tail, n / 4 * 4)

int main()
{
    float *x = device_array<float>((size_t)ROWS * PITCH, 1, 1.0f);
    float *y = device_array<float>((size_t)ROWS * PITCH, 2, 1.0f);
    float *w = device_array<float>(COLS, 3, 1.0f), *z = device_array<float>(COUNT, 4, 1.0f);
    size_t bytes = (size_t)ROWS * PITCH * sizeof(float);
    uint64_t hash = FNV_START;
    for (int i = 0; i < LAUNCHES; i++) {
        int pitch = i % 2 ? PITCH : COLS;
        subset_norm<<<ROWS, 256>>>(x, w, y, pitch);
        wait_for_checks();
        CHECK(cudaMemset(y, 0, bytes)); /* what is not written must not be right by chance */
        subset_norm_tails<<<ROWS, 256>>>(x, w, y, pitch);
        wait_for_checks();
        CHECK(cudaMemset(y, 0, bytes));
        subset_norm_last<<<ROWS, 256>>>(x, w, y, pitch);
        wait_for_checks();
        subset_scale<<<512, 256>>>(z, COUNT);
        wait_for_checks();
        subset_scale_tail<<<512, 256>>>(z, COUNT);
        wait_for_checks();
    }
    hash = hash * 31 + device_fnv(y, (size_t)ROWS * PITCH);
    hash = hash * 31 + device_fnv(z, COUNT);
    printf("%016llx\n", (unsigned long long)hash);
    return 0;
}
