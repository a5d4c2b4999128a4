/*
 * graph_cost.cu - what a replay of a graph of tiny kernels takes, and what the process has lost of
 * the GPU's memory.
 *
 *   graph_cost [kernels=N] [set=N] [eager=N] [pad=MIB] [early=1] [arrays=N] [kib=N] [replays=N]
 *
 * kernels: of the graph, 64 unless given. set: parameters of so many nodes are set before each
 * replay. eager: launches of the same kernel before the graph is captured. pad: an allocation of so
 * many MiB before the graph's arrays, as another library might make. early: the arrays come before
 * both. arrays and kib: how many arrays the kernels take in turn, and their size.
 *
 * Prints one JSON line: microseconds of the GPU for a replay, median and quartiles of batches of
 * 20, and of the host for enqueueing one; MiB that the device had free at the start, when the
 * program had allocated nothing, less what is free at the end, less what the program has allocated;
 * the addresses of the first array, and a checksum of what the kernels have written.
 */
#include <chrono>
#include <cstring>
#include "measure.cuh"

enum { BATCH = 20 };

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
        CHECK(cudaMemset(array, i % 2 ? 0 : 1 + i % 50, bytes));
        (i % 2 ? made.y : made.x).push_back(array);
    }
    return made;
}

static void launch(const struct arrays &arrays, int number, cudaStream_t stream)
{
    int n = (int)(arrays.bytes / sizeof(float)), which = number % (int)arrays.x.size();
    bench_tiny<<<(n + 255) / 256, 256, 0, stream>>>(arrays.x[which], arrays.y[which], n);
}

struct graph {
    cudaGraph_t templ;
    cudaGraphExec_t exec;
    std::vector<cudaGraphNode_t> node;
};

static graph capture(const struct arrays &arrays, int kernels, cudaStream_t stream)
{
    graph made;
    size_t count = 0;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < kernels; i++)
        launch(arrays, i, stream);
    CHECK(cudaStreamEndCapture(stream, &made.templ));
    CHECK(cudaGraphInstantiate(&made.exec, made.templ, 0));
    CHECK(cudaGraphGetNodes(made.templ, NULL, &count));
    made.node.resize(count);
    CHECK(cudaGraphGetNodes(made.templ, made.node.data(), &count));
    return made;
}

/* Gives nodes the parameters that they have. */
static void set_nodes(const graph &graph, const struct arrays &arrays, int set)
{
    int n = (int)(arrays.bytes / sizeof(float));
    for (int i = 0; i < set; i++) {
        size_t which = i % arrays.x.size();
        void *args[] = {(void *)&arrays.x[which], (void *)&arrays.y[which], &n};
        cudaKernelNodeParams params = {
            (void *)bench_tiny, dim3((n + 255) / 256), dim3(256), 0, args, NULL};
        CHECK(cudaGraphExecKernelNodeSetParams(graph.exec, graph.node[i], &params));
    }
}

static unsigned long long checksum(const struct arrays &arrays)
{
    std::vector<unsigned> words(arrays.bytes / 4);
    unsigned long long sum = 0;
    for (float *array : arrays.y) {
        CHECK(cudaMemcpy(words.data(), array, arrays.bytes, cudaMemcpyDeviceToHost));
        for (unsigned word : words)
            sum = sum * 31 + word;
    }
    return sum;
}

/* Of one replay, by batches. */
template <typename Replay>
static void measure(Replay replay, cudaStream_t stream, int replays, std::vector<double> *gpu,
                    std::vector<double> *host)
{
    for (int done = 0; done < replays; done += BATCH) {
        double enqueue = 0;
        gpu->push_back(time_us(stream,
                               [&] {
                                   auto begin = std::chrono::steady_clock::now();
                                   for (int i = 0; i < BATCH; i++)
                                       replay();
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
    graph graph = capture(own, option(argc, argv, "kernels", 64), stream);
    int set = option(argc, argv, "set", 0);
    auto replay = [&] {
        set_nodes(graph, own, set);
        CHECK(cudaGraphLaunch(graph.exec, stream));
    };
    std::vector<double> gpu, host;
    measure(replay, stream, 200, &gpu, &host); /* warm */
    gpu.clear();
    host.clear();
    measure(replay, stream, option(argc, argv, "replays", 4000), &gpu, &host);
    CHECK(cudaMemGetInfo(&free_after, &total));
    printf("{\"gpu_us\": %.2f, \"low_us\": %.2f, \"high_us\": %.2f, \"host_us\": %.2f, "
           "\"lost_mib\": %.1f, \"x\": \"%p\", \"y\": \"%p\", \"sum\": %llu}\n",
           median(gpu), gpu[gpu.size() / 4], gpu[gpu.size() * 3 / 4], median(host),
           mib(free_before) - mib(free_after) - mib(pad), (void *)own.x[0], (void *)own.y[0],
           checksum(own));
    return 0;
}
