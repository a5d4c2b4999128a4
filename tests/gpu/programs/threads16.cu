/*
 * threads16.cu - 16 host threads, each with its own stream and buffers, launch 3 x 600 registered
 * kernels each. Thread 5's rmsnorm is a mutant of its own name: it alone must be found.
 */
#include <thread>
#include "kernels.cuh"

enum { THREADS = 16, ROUNDS = 600, ROWS = 16, COLS = 777 };

extern "C" __global__ void t16_rmsnorm(const float *x, const float *w, float *y, int cols,
                                       float eps)
{
    size_t row = (size_t)blockIdx.x * cols;
    rmsnorm_row(x + row, w, y + row, cols, cols, eps);
}

extern "C" __global__ void t16_rmsnorm_tail(const float *x, const float *w, float *y, int cols,
                                            float eps)
{
    size_t row = (size_t)blockIdx.x * cols;
    rmsnorm_row(x + row, w, y + row, cols, cols - 64, eps);
}

extern "C" __global__ void t16_softmax(const float *x, float *y, int cols)
{
    size_t row = (size_t)blockIdx.x * cols;
    softmax_row(x + row, y + row, cols, cols);
}

/* In place, so that a check which mixed up launches of one thread would see wrong inputs. */
extern "C" __global__ void t16_residual(float *residual, const float *x, int rows, int cols)
{
    int count = rows * cols;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        residual[i] = residual[i] + x[i];
}

static uint64_t result[THREADS];

static void work(int thread)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const size_t count = (size_t)ROWS * COLS;
    float *x = device_array<float>(count, thread + 1, 1.0f),
          *w = device_array<float>(COLS, 99, 1.0f);
    float *y = device_array<float>(count, 0, 0), *z = device_array<float>(count, 0, 0);
    for (int i = 0; i < ROUNDS; i++) {
        if (thread == 5)
            t16_rmsnorm_tail<<<ROWS, 256, 0, stream>>>(x, w, y, COLS, 1e-6f);
        else
            t16_rmsnorm<<<ROWS, 256, 0, stream>>>(x, w, y, COLS, 1e-6f);
        t16_softmax<<<ROWS, 128, 0, stream>>>(y, z, COLS);
        t16_residual<<<12, 256, 0, stream>>>(x, z, ROWS, COLS);
        CHECK(cudaGetLastError());
        if (i % 50 == 49)
            CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    result[thread] = device_fnv(x, count) ^ device_fnv(y, count) * 31 ^ device_fnv(z, count) * 961;
    CHECK(cudaStreamDestroy(stream));
}

int main()
{
    CHECK(cudaFree(0));
    std::vector<std::thread> threads;
    for (int i = 0; i < THREADS; i++)
        threads.emplace_back(work, i);
    for (auto &thread : threads)
        thread.join();
    for (int i = 0; i < THREADS; i++)
        printf("thread %d %016llx\n", i, (unsigned long long)result[i]);
    return 0;
}
