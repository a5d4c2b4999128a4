/*
 * static_cudart.cu - C++ on the static runtime with <<<>>>: a correct and a mutated rmsnorm (the
 * columns past the last whole block are left out of the mean) and a templated row softmax.
 */
#include "kernels.cuh"

__global__ void rmsnorm_good(const float *x, const float *w, float *y, int cols, float eps)
{
    size_t row = (size_t)blockIdx.x * cols;
    rmsnorm_row(x + row, w, y + row, cols, cols, eps);
}

__global__ void rmsnorm_tail(const float *x, const float *w, float *y, int cols, float eps)
{
    size_t row = (size_t)blockIdx.x * cols;
    rmsnorm_row(x + row, w, y + row, cols, cols / blockDim.x * blockDim.x, eps);
}

template <typename T> __global__ void softmax_of(const T *x, T *y, int rows, int cols)
{
    for (int row = blockIdx.x; row < rows; row += gridDim.x)
        softmax_row(x + (size_t)row * cols, y + (size_t)row * cols, cols, cols);
}

template <typename T> static void run_softmax(int rows, int cols)
{
    T *x = device_array<T>((size_t)rows * cols, 3, 8.0f),
      *y = device_array<T>((size_t)rows * cols, 0, 0);
    const int blocks = rows < 48 ? rows : 48;
    softmax_of<T><<<blocks, 128>>>(x, y, rows, cols);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    printf("softmax %zu bytes %dx%d %016llx\n", sizeof(T), rows, cols,
           (unsigned long long)device_fnv(y, (size_t)rows * cols));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
}

int main()
{
    static const int shapes[][2] = {{1, 1000}, {7, 257}, {64, 1000}, {33, 4100}, {128, 300}};
    for (auto &shape : shapes) {
        int rows = shape[0], cols = shape[1];
        size_t count = (size_t)rows * cols;
        float *x = device_array<float>(count, 1, 1.0f), *w = device_array<float>(cols, 2, 1.0f);
        float *good = device_array<float>(count, 0, 0), *tail = device_array<float>(count, 0, 0);
        rmsnorm_good<<<rows, 256>>>(x, w, good, cols, 1e-6f);
        rmsnorm_tail<<<rows, 256>>>(x, w, tail, cols, 1e-6f);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        printf("rmsnorm %dx%d %016llx %016llx\n", rows, cols,
               (unsigned long long)device_fnv(good, count),
               (unsigned long long)device_fnv(tail, count));
        run_softmax<float>(rows, cols);
        run_softmax<__half>(rows, cols);
        run_softmax<__nv_bfloat16>(rows, cols);
        for (void *p : {(void *)x, (void *)w, (void *)good, (void *)tail})
            CHECK(cudaFree(p));
    }
    return 0;
}
