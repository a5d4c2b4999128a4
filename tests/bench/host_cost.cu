/*
 * host_cost.cu - nanoseconds of the host for one launch of a kernel that does nothing.
 *
 *   host_cost [LAUNCHES] [BATCH]
 *
 * Times batches of launches, each followed by a wait that is not timed, and prints one JSON line:
 * median, tenth and ninetieth percentile of ns per launch, ns per launch with the waits, and the
 * most memory that the process had resident.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <sys/resource.h>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t check_error = (call);                                                          \
        if (check_error != cudaSuccess) {                                                          \
            printf("%s: %s\n", #call, cudaGetErrorName(check_error));                              \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

/* As far as the registry is concerned: y = relu(x), where all x are 0 and y stays 0. */
extern "C" __global__ void bench_empty(const float *x, float *y, int n)
{
}

typedef std::chrono::steady_clock steady;

static double ns(steady::time_point from, steady::time_point to)
{
    return (double)std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count();
}

int main(int argc, char **argv)
{
    const int launches = argc > 1 ? atoi(argv[1]) : 200000, batch = argc > 2 ? atoi(argv[2]) : 200;
    const int n = 256;
    float *x, *y;
    cudaStream_t stream;
    std::vector<double> cost;
    CHECK(cudaMalloc(&x, n * sizeof *x));
    CHECK(cudaMalloc(&y, n * sizeof *y));
    CHECK(cudaMemset(x, 0, n * sizeof *x));
    CHECK(cudaMemset(y, 0, n * sizeof *y));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 2000; i++)
        bench_empty<<<1, 32, 0, stream>>>(x, y, n);
    CHECK(cudaStreamSynchronize(stream));
    steady::time_point begin = steady::now();
    for (int done = 0; done < launches; done += batch) {
        steady::time_point start = steady::now();
        for (int i = 0; i < batch; i++)
            bench_empty<<<1, 32, 0, stream>>>(x, y, n);
        cost.push_back(ns(start, steady::now()) / batch);
        CHECK(cudaStreamSynchronize(stream));
    }
    double total = ns(begin, steady::now()) / launches;
    CHECK(cudaGetLastError());
    std::sort(cost.begin(), cost.end());
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"median\": %.1f, \"p10\": %.1f, \"p90\": %.1f, \"with_waits\": %.1f, "
           "\"resident_mib\": %.1f}\n",
           cost[cost.size() / 2], cost[cost.size() / 10], cost[cost.size() * 9 / 10], total,
           usage.ru_maxrss / 1024.0);
    return 0;
}
