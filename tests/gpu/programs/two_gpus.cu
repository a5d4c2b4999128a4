/*
 * two_gpus.cu - one process, two devices, interleaved launches of one kernel name; on the second
 * device a mutant runs too. Exits 77 with a reason where there is one device.
 */
#include "kernels.cuh"

extern "C" __global__ void gpu_rmsnorm(const float *x, const float *w, float *y, int cols,
                                       float eps)
{
    size_t row = (size_t)blockIdx.x * cols;
    rmsnorm_row(x + row, w, y + row, cols, cols, eps);
}

extern "C" __global__ void gpu_rmsnorm_tail(const float *x, const float *w, float *y, int cols,
                                            float eps)
{
    size_t row = (size_t)blockIdx.x * cols;
    rmsnorm_row(x + row, w, y + row, cols, cols - 40, eps);
}

int main()
{
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2) {
        printf("needs two devices, has %d\n", devices);
        return 77;
    }
    enum { ROWS = 32, COLS = 1000 };
    const size_t count = (size_t)ROWS * COLS;
    float *x[2], *w[2], *y[2];
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        x[d] = device_array<float>(count, 10 + d, 1.0f);
        w[d] = device_array<float>(COLS, 20 + d, 1.0f);
        y[d] = device_array<float>(count, 0, 0);
    }
    for (int i = 0; i < 200; i++) {
        for (int d = 0; d < 2; d++) {
            CHECK(cudaSetDevice(d));
            gpu_rmsnorm<<<ROWS, 256>>>(x[d], w[d], y[d], COLS, 1e-6f);
            if (d == 1)
                gpu_rmsnorm_tail<<<ROWS, 256>>>(x[d], w[d], y[d], COLS, 1e-6f);
            CHECK(cudaGetLastError());
        }
    }
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaDeviceSynchronize());
        printf("device %d %016llx\n", d, (unsigned long long)device_fnv(y[d], count));
    }
    return 0;
}
