/*
 * simple.cu - one registered kernel, launched by the argument; the subject of bad_input:
 *   plain (default)  twelve launches over four shapes
 *   empty            rows = 0 as an argument, a real grid
 *   null             a null array that the kernel leaves alone
 *   big              one launch on 2 x 8 MB
 *   burst            4,000 launches on 2 x 256 KB without a pause
 */
#include "kernels.cuh"

extern "C" __global__ void simple_rmsnorm(const float *x, const float *w, float *y, int rows,
                                          int cols, float eps)
{
    if (!x)
        return;
    for (int row = blockIdx.x; row < rows; row += gridDim.x)
        rmsnorm_row(x + (size_t)row * cols, w, y + (size_t)row * cols, cols, cols, eps);
}

static void run(int rows, int cols, int launches, bool null)
{
    size_t count = (size_t)rows * cols;
    float *x = device_array<float>(count, 5, 1.0f), *w = device_array<float>(cols, 6, 1.0f);
    float *y = device_array<float>(count, 7, 1.0f);
    for (int i = 0; i < launches; i++) {
        simple_rmsnorm<<<rows ? rows : 1, 256>>>(null ? NULL : x, w, y, rows, cols, 1e-6f);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());
    printf("%dx%d %d %016llx\n", rows, cols, launches, (unsigned long long)device_fnv(y, count));
    CHECK(cudaFree(x));
    CHECK(cudaFree(w));
    CHECK(cudaFree(y));
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "plain";
    if (!strcmp(mode, "empty")) {
        run(0, 512, 3, false);
    } else if (!strcmp(mode, "null")) {
        run(4, 512, 3, true);
    } else if (!strcmp(mode, "big")) {
        run(1024, 2048, 1, false);
    } else if (!strcmp(mode, "burst")) {
        run(64, 1024, 4000, false);
    } else {
        for (int cols : {64, 300, 1024, 4096})
            run(8, cols, 3, false);
    }
    return 0;
}
