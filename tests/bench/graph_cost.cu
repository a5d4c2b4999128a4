/*
 * graph_cost.cu - what a replay of a graph of 64 tiny kernels takes, and what the process has lost
 * of the GPU's memory.
 *
 *   graph_cost [eager=N] [pad=MIB] [early=1] [arrays=N] [kib=N] [replays=N]
 *
 * eager: launches of the same kernel before the graph is captured. pad: an allocation of so many
 * MiB before the graph's arrays, as another library might make. early: the arrays come before both.
 * arrays and kib: how many arrays the kernels take in turn, and their size.
 *
 * Prints one JSON line: microseconds of the GPU for a replay, median and quartiles of batches of
 * 20, and of the host for enqueueing one; MiB that the device had free at the start, when the
 * program had allocated nothing, less what is free at the end, less what the program has allocated;
 * and the addresses of the first array.
 */
#include <chrono>
#include <cstring>
#include "measure.cuh"

enum { KERNELS = 64, BATCH = 20 };

/* As far as the registry is concerned: y = relu(x). */
extern "C" __global__ void bench_tiny(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = fmaxf(x[i], 0.0f);
}

static int option(int argc, char **argv, const char *name, int fallback)
{
    for (int i = 1; i < argc; i++) {
        size_t length = strlen(name);
        if (!strncmp(argv[i], name, length) && argv[i][length] == '=')
            return atoi(argv[i] + length + 1);
    }
    return fallback;
}

struct arrays {
    std::vector<float *> x, y;
    size_t bytes;
};

static struct arrays make_arrays(int count, size_t bytes)
{
    struct arrays made = {{}, {}, bytes};
    for (int i = 0; i < 2 * count; i++) {
        float *array;
        CHECK(cudaMalloc(&array, bytes));
        CHECK(cudaMemset(array, 0, bytes));
        (i % 2 ? made.y : made.x).push_back(array);
    }
    return made;
}

static void launch(const struct arrays &arrays, int number, cudaStream_t stream)
{
    int n = (int)(arrays.bytes / sizeof(float)), which = number % (int)arrays.x.size();
    bench_tiny<<<(n + 255) / 256, 256, 0, stream>>>(arrays.x[which], arrays.y[which], n);
}

static cudaGraphExec_t capture(const struct arrays &arrays, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < KERNELS; i++)
        launch(arrays, i, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

/* Of one replay, by batches. */
static void measure(cudaGraphExec_t exec, cudaStream_t stream, int replays,
                    std::vector<double> *gpu, std::vector<double> *host)
{
    for (int done = 0; done < replays; done += BATCH) {
        double enqueue = 0;
        gpu->push_back(time_us(stream,
                               [&] {
                                   auto begin = std::chrono::steady_clock::now();
                                   for (int i = 0; i < BATCH; i++)
                                       CHECK(cudaGraphLaunch(exec, stream));
                                   std::chrono::duration<double, std::micro> took =
                                       std::chrono::steady_clock::now() - begin;
                                   enqueue = took.count();
                               }) /
                       BATCH);
        host->push_back(enqueue / BATCH);
    }
    std::sort(gpu->begin(), gpu->end());
}

static double mib(size_t bytes)
{
    return (double)bytes / (1 << 20);
}

int main(int argc, char **argv)
{
    size_t free_before, free_after, total, bytes = (size_t)option(argc, argv, "kib", 16) << 10;
    size_t pad = (size_t)option(argc, argv, "pad", 0) << 20;
    int count = option(argc, argv, "arrays", 2), early = option(argc, argv, "early", 0);
    cudaStream_t stream;
    struct arrays own;
    void *unused;
    CHECK(cudaFree(0));
    CHECK(cudaMemGetInfo(&free_before, &total));
    CHECK(cudaStreamCreate(&stream));
    if (early)
        own = make_arrays(count, bytes);
    struct arrays first = make_arrays(1, bytes);
    for (int i = 0; i < option(argc, argv, "eager", 0); i++)
        launch(first, i, stream);
    CHECK(cudaStreamSynchronize(stream));
    if (pad)
        CHECK(cudaMalloc(&unused, pad));
    if (!early)
        own = make_arrays(count, bytes);
    cudaGraphExec_t exec = capture(own, stream);
    std::vector<double> gpu, host;
    measure(exec, stream, 200, &gpu, &host); /* warm */
    gpu.clear();
    host.clear();
    measure(exec, stream, option(argc, argv, "replays", 4000), &gpu, &host);
    CHECK(cudaMemGetInfo(&free_after, &total));
    printf("{\"gpu_us\": %.2f, \"low_us\": %.2f, \"high_us\": %.2f, \"host_us\": %.2f, "
           "\"lost_mib\": %.1f, \"x\": \"%p\", \"y\": \"%p\"}\n",
           median(gpu), gpu[gpu.size() / 4], gpu[gpu.size() * 3 / 4], median(host),
           mib(free_before) - mib(free_after) - mib(pad), (void *)own.x[0], (void *)own.y[0]);
    return 0;
}
