/*
 * host_cost.cu - nanoseconds of the host for one launch of a kernel that does nothing.
 *
 *   host_cost [LAUNCHES] [BATCH] [THREADS | entry]
 *
 * Times batches of launches, each followed by a wait that is not timed, and prints one JSON line:
 * median, tenth and ninetieth percentile of ns per launch, ns per launch with the waits, and the
 * most memory that the process had resident. With THREADS, each of them launches LAUNCHES on a
 * stream of its own, and the line has the seconds that they all took together, waits included, with
 * cuvet's own account of its cost meanwhile. With toggle_cupti.so for a libcupti: what the
 * subscriber adds, as the median difference of neighbouring batches with and without it. With the
 * word "entry", in a process whose calls of the driver are wrapped: what the wrapper of
 * cuLaunchKernel adds to the driver's own, in the same way.
 */
#include <chrono>
#include <cmath>
#include <cstring>
#include <cuda.h>
#include <dlfcn.h>
#include <functional>
#include <link.h>
#include <sys/resource.h>
#include <thread>
#include "cuvet.h"
#include "measure.cuh"

/* As far as the registry is concerned: y = relu(x), where all x are 0 and y stays 0. */
extern "C" __global__ void bench_empty(const float *x, float *y, int n)
{
}

typedef std::chrono::steady_clock steady;

static double ns(steady::time_point from, steady::time_point to)
{
    return (double)std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count();
}

/* Set: the subscriber is called; else nothing is (toggle_cupti.c). NULL: this process cannot
 * choose. */
static volatile int *find_toggle()
{
    const char *path = getenv("CUVET_CUPTI");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    return library ? (volatile int *)dlsym(library, "toggle_forward") : NULL;
}

/* ns per launch of one batch. The stream is empty before and after. */
static double time_batch(const float *x, float *y, int n, int batch, cudaStream_t stream)
{
    steady::time_point start = steady::now();
    for (int i = 0; i < batch; i++)
        bench_empty<<<1, 32, 0, stream>>>(x, y, n);
    double cost = ns(start, steady::now()) / batch;
    CHECK(cudaStreamSynchronize(stream));
    return cost;
}

/* Batches with and without cuvet in turn, which of the two first in turn as well: `timed(on)` times
 * one. */
static void alternate(const std::function<double(int)> &timed, int launches, int batch)
{
    std::vector<double> difference, off;
    for (int done = 0, first = 0; done < launches; done += 2 * batch, first = !first) {
        double cost[2];
        for (int turn = 0; turn < 2; turn++) {
            int on = turn ^ first;
            cost[on] = timed(on);
        }
        difference.push_back(cost[1] - cost[0]);
        off.push_back(cost[0]);
    }
    double center = median(difference);
    std::vector<double> deviation;
    for (double d : difference)
        deviation.push_back(fabs(d - center));
    /* The standard error of a median, from the median deviation of a normal distribution. */
    double error = 1.2533 * 1.4826 * median(deviation) / sqrt((double)difference.size());
    printf("{\"median\": %.1f, \"over\": %.1f, \"error\": %.1f, \"pairs\": %zu}\n", median(off),
           center, error, difference.size());
}

typedef CUresult (*launch_kernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  unsigned, unsigned, CUstream, void **, void **);

/* The driver's own cuLaunchKernel, from the table of symbols that its library has in memory; NULL
 * if it has none. */
static launch_kernel driver_launch(void *libcuda)
{
    struct link_map *map = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    if (dlinfo(libcuda, RTLD_DI_LINKMAP, &map))
        return NULL;
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_STRTAB)
            names = (const char *)entry->d_un.d_ptr;
    }
    /* Linkers place the names right behind the symbols. */
    for (; symbols && (const char *)symbols < names; symbols++)
        if (!strcmp(names + symbols->st_name, "cuLaunchKernel"))
            return (launch_kernel)(map->l_addr + symbols->st_value);
    return NULL;
}

/* A kernel of the same parameters, for a launch by a CUfunction. */
static const char empty_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                ".visible .entry bench_empty(.param .u64 x, .param .u64 y, "
                                ".param .u32 n)\n{\n    ret;\n}\n";

/* Launches through the wrapper of the entry points, and through the driver's own function. */
static void alternate_entry(const float *x, float *y, int n, int launches, int batch,
                            cudaStream_t stream)
{
    void *libcuda = dlopen("libcuda.so.1", RTLD_NOW);
    launch_kernel ways[] = {libcuda ? driver_launch(libcuda) : NULL,
                            libcuda ? (launch_kernel)dlsym(libcuda, "cuLaunchKernel") : NULL};
    CUmodule module;
    CUfunction function;
    if (cuModuleLoadData(&module, empty_ptx) ||
        cuModuleGetFunction(&function, module, "bench_empty")) {
        fprintf(stderr, "host_cost: the driver does not load the kernel\n");
        exit(1);
    }
    if (!ways[0] || ways[0] == ways[1]) {
        fprintf(stderr, "host_cost: cuLaunchKernel is not wrapped in this process\n");
        exit(1);
    }
    auto timed = [&](int on) {
        void *arguments[] = {&x, &y, &n};
        steady::time_point start = steady::now();
        for (int i = 0; i < batch; i++)
            ways[on](function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL);
        double cost = ns(start, steady::now()) / batch;
        CHECK(cudaStreamSynchronize(stream));
        return cost;
    };
    alternate(timed, launches, batch);
}

static void plain(const float *x, float *y, int n, int launches, int batch, cudaStream_t stream)
{
    std::vector<double> cost;
    steady::time_point begin = steady::now();
    for (int done = 0; done < launches; done += batch)
        cost.push_back(time_batch(x, y, n, batch, stream));
    double total = ns(begin, steady::now()) / launches;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::sort(cost.begin(), cost.end());
    printf("{\"median\": %.1f, \"p10\": %.1f, \"p90\": %.1f, \"with_waits\": %.1f, "
           "\"resident_mib\": %.1f}\n",
           cost[cost.size() / 2], cost[cost.size() / 10], cost[cost.size() * 9 / 10], total,
           usage.ru_maxrss / 1024.0);
}

/* All zeros where cuvet is not there. */
static struct cuvet_counters counters()
{
    struct cuvet_counters now = {};
    int (*read)(struct cuvet_counters *) =
        (int (*)(struct cuvet_counters *))dlsym(RTLD_DEFAULT, "cuvet_counters");
    now.size = sizeof now;
    if (read && read(&now))
        fprintf(stderr, "host_cost: no counters\n");
    return now;
}

static void launch_many(const float *x, float *y, int n, int launches, int batch)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int done = 0; done < launches; done += batch)
        time_batch(x, y, n, batch, stream);
    CHECK(cudaStreamDestroy(stream));
}

/* Seconds of a storm, and of those cuvet's own account. */
static void storm(const float *x, float *y, int n, int launches, int batch, int threads)
{
    std::vector<std::thread> running;
    struct cuvet_counters before = counters();
    steady::time_point begin = steady::now();
    for (int i = 0; i < threads; i++)
        running.emplace_back(launch_many, x, y, n, launches, batch);
    for (std::thread &thread : running)
        thread.join();
    double seconds = ns(begin, steady::now()) / 1e9;
    struct cuvet_counters after = counters();
    printf("{\"threads\": %d, \"seconds\": %.4f, \"cost\": %.4f, \"hook\": %.4f, \"thread\": %.4f, "
           "\"look\": %.4f, \"copy\": %.4f, \"reference\": %.4f}\n",
           threads, seconds, after.cost_seconds - before.cost_seconds,
           after.hook_seconds - before.hook_seconds, after.thread_seconds - before.thread_seconds,
           after.look_seconds - before.look_seconds, after.copy_seconds - before.copy_seconds,
           after.reference_seconds - before.reference_seconds);
}

int main(int argc, char **argv)
{
    const int launches = argc > 1 ? atoi(argv[1]) : 200000, batch = argc > 2 ? atoi(argv[2]) : 200;
    const int threads = argc > 3 ? atoi(argv[3]) : 0;
    const bool entry = argc > 3 && !strcmp(argv[3], "entry");
    const int n = 256;
    float *x, *y;
    cudaStream_t stream;
    CHECK(cudaMalloc(&x, n * sizeof *x));
    CHECK(cudaMalloc(&y, n * sizeof *y));
    CHECK(cudaMemset(x, 0, n * sizeof *x));
    CHECK(cudaMemset(y, 0, n * sizeof *y));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 10; i++)
        time_batch(x, y, n, 200, stream);
    volatile int *toggle = find_toggle();
    if (threads)
        storm(x, y, n, launches, batch, threads);
    else if (entry)
        alternate_entry(x, y, n, launches, batch, stream);
    else if (toggle) {
        auto timed = [&](int on) {
            *toggle = on;
            return time_batch(x, y, n, batch, stream);
        };
        alternate(timed, launches, batch);
        *toggle = 1;
    } else
        plain(x, y, n, launches, batch, stream);
    CHECK(cudaGetLastError());
    return 0;
}
