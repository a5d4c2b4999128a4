/*
 * ending.cu - ways to end a process while launches, and checks of them, are under way:
 *   return | exit | underscore (_exit) | abort | thread (exit() while another thread launches)
 *   illegal   a kernel of the program's own writes to a bad address: the error must be the
 * program's
 */
#include <atomic>
#include <thread>
#include <unistd.h>
#include "kernels.cuh"

extern "C" __global__ void end_rmsnorm(const float *x, const float *w, float *y, int cols,
                                       float eps)
{
    size_t row = (size_t)blockIdx.x * cols;
    rmsnorm_row(x + row, w, y + row, cols, cols, eps);
}

extern "C" __global__ void end_spin(long long cycles)
{
    for (long long start = clock64(); clock64() - start < cycles;)
        ;
}

extern "C" __global__ void end_illegal(int *bad)
{
    bad[threadIdx.x] = 1;
}

enum { ROWS = 64, COLS = 1000 };
static float *x, *w, *y;

static void launch(int count)
{
    for (int i = 0; i < count; i++)
        end_rmsnorm<<<ROWS, 256>>>(x, w, y, COLS, 1e-6f);
}

static int illegal(void)
{
    launch(20);
    CHECK(cudaDeviceSynchronize());
    end_illegal<<<1, 32>>>((int *)16);
    printf("sync: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    launch(3);
    printf("last: %s\n", cudaGetErrorName(cudaGetLastError()));
    printf("free: %s\n", cudaGetErrorName(cudaFree(x)));
    return 4;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "return";
    x = device_array<float>(ROWS * COLS, 1, 1.0f);
    w = device_array<float>(COLS, 2, 1.0f);
    y = device_array<float>(ROWS * COLS, 0, 0);
    launch(10);
    CHECK(cudaDeviceSynchronize());
    printf("%s %016llx\n", mode, (unsigned long long)device_fnv(y, ROWS * COLS));
    fflush(stdout);
    usleep(50000); /* so that some checks have ended, however busy the machine is */
    if (!strcmp(mode, "illegal"))
        return illegal();

    launch(100);
    end_spin<<<1, 1>>>(100000000); /* about 50 ms */
    launch(100);
    if (!strcmp(mode, "thread")) {
        std::atomic<bool> started{false};
        std::thread([&started] {
            for (;;) {
                launch(10);
                started = true;
                usleep(100);
            }
        }).detach();
        while (!started)
            usleep(100);
        exit(7);
    }
    if (!strcmp(mode, "exit"))
        exit(7);
    if (!strcmp(mode, "underscore"))
        _exit(7);
    if (!strcmp(mode, "abort"))
        abort();
    return 7;
}
