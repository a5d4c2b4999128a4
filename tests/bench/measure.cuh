/* measure.cuh - what the benchmarks share: error checks, medians, times of the GPU. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

/* For calls of the driver and of the runtime. */
#define CHECK(call)                                                                                \
    do {                                                                                           \
        int check_error = (int)(call);                                                             \
        if (check_error) {                                                                         \
            fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, check_error);      \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

template <typename T> static T median(std::vector<T> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

static inline cudaEvent_t made_event()
{
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    return event;
}

/* Microseconds between the stream's coming to what `run` enqueues and its end. */
template <typename Run> static double time_us(cudaStream_t stream, Run run)
{
    static const cudaEvent_t before = made_event(), after = made_event();
    float ms;
    CHECK(cudaEventRecord(before, stream));
    run();
    CHECK(cudaEventRecord(after, stream));
    CHECK(cudaEventSynchronize(after));
    CHECK(cudaEventElapsedTime(&ms, before, after));
    return (double)ms * 1000;
}

/* The median of `repeat` times; what `prepare` enqueues before each is not in it. */
template <typename Prepare, typename Run>
static double median_us(cudaStream_t stream, int repeat, Prepare prepare, Run run)
{
    std::vector<double> times;
    for (int i = 0; i < repeat; i++) {
        prepare();
        times.push_back(time_us(stream, run));
    }
    return median(times);
}

/* Enqueues a write of more than any cache of the GPU holds. */
static inline void clear_cache(cudaStream_t stream)
{
    const size_t bytes = (size_t)256 << 20;
    static void *room;
    if (!room)
        CHECK(cudaMalloc(&room, bytes));
    CHECK(cudaMemsetAsync(room, 0, bytes, stream));
}

#endif
