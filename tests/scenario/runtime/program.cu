/*
 * program.cu - a program as nvcc builds it, on the shared runtime: `program FATBIN [graph] [wrong]
 * [pointer]` launches rmsnorms by <<<>>>, by cudaLaunchKernelEx with shared memory beyond the usual
 * limit, with eps in a __constant__, or by the driver's function that the runtime hands out.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_) {                                                                              \
            printf("%s: %s\n", #call, cudaGetErrorString(error_));                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { ROWS = 6, COLS = 300, BLOCK = 64, ROUNDS = 4, LARGE = 60000 };

__constant__ float shared_eps;

__device__ void normalise(const float *x, const float *w, float *y, int cols, int end, float eps)
{
    __shared__ float sum;
    if (!threadIdx.x)
        sum = 0;
    __syncthreads();
    float part = 0;
    for (int c = threadIdx.x; c < end; c += blockDim.x)
        part += x[c] * x[c];
    atomicAdd(&sum, part);
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[c] = x[c] * rsqrtf(sum / cols + eps) * w[c];
}

/* `tail` columns are left out of the mean. */
__global__ void norm_plain(const float *x, const float *w, float *y, int cols, int tail, float eps)
{
    size_t at = (size_t)blockIdx.x * cols;
    normalise(x + at, w, y + at, cols, cols - tail, eps);
}

__global__ void norm_constant(const float *x, const float *w, float *y, int cols, int tail)
{
    size_t at = (size_t)blockIdx.x * cols;
    normalise(x + at, w, y + at, cols, cols - tail, shared_eps);
}

/* A row is held in shared memory. */
__global__ void norm_staged(const float *x, const float *w, float *y, int cols, int tail, float eps)
{
    extern __shared__ float row[];
    size_t at = (size_t)blockIdx.x * cols;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        row[c] = x[at + c];
    __syncthreads();
    normalise(row, w, y + at, cols, cols - tail, eps);
}

static float *array(int count, unsigned seed)
{
    float *host, *device;
    CHECK(cudaHostAlloc((void **)&host, count * sizeof(float), cudaHostAllocDefault));
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        host[i] = (float)(int)(seed >> 8) / (1 << 23) - 1;
    }
    CHECK(cudaMalloc(&device, count * sizeof(float)));
    CHECK(cudaMemcpyAsync(device, host, count * sizeof(float), cudaMemcpyHostToDevice, 0));
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaFreeHost(host));
    return device;
}

static void launches(const float *x, const float *w, float *const y[3], int tail, cudaStream_t s)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = ROWS;
    config.blockDim = BLOCK;
    config.dynamicSmemBytes = LARGE;
    config.stream = s;
    norm_plain<<<ROWS, BLOCK, 0, s>>>(x, w, y[0], COLS, tail, 1e-6f);
    norm_constant<<<ROWS, BLOCK, 0, s>>>(x, w, y[1], COLS, tail);
    CHECK(cudaGetLastError());
    CHECK(cudaLaunchKernelEx(&config, norm_staged, x, w, y[2], (int)COLS, tail, 1e-6f));
}

/* cuLaunchKernel as cudaGetDriverEntryPointByVersion gives it. */
static void launch_by_pointer(const float *x, const float *w, float *y, int tail, cudaStream_t s)
{
    int cols = COLS;
    float eps = 1e-6f;
    void *entry = nullptr, *params[] = {&x, &w, &y, &cols, &tail, &eps};
    cudaKernel_t kernel;
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &entry, 12000, cudaEnableDefault,
                                           &found));
    CHECK(cudaGetKernel(&kernel, norm_plain));
    if (found != cudaDriverEntryPointSuccess ||
        ((decltype(&cuLaunchKernel))entry)((CUfunction)kernel, ROWS, 1, 1, BLOCK, 1, 1, 0, s,
                                           params, nullptr)) {
        printf("no launch by the driver's function\n");
        exit(1);
    }
}

static void print(float *const y[3])
{
    static float host[ROWS * COLS];
    for (int i = 0; i < 3; i++) {
        uint64_t hash = 14695981039346656037u;
        CHECK(cudaMemcpy(host, y[i], sizeof(host), cudaMemcpyDeviceToHost));
        for (size_t at = 0; at < sizeof(host); at++)
            hash = (hash ^ ((unsigned char *)host)[at]) * 1099511628211u;
        /* The atomic additions come in any order on a GPU. */
        printf("%d: %s\n", i, hash ? "done" : "zero");
    }
}

static void replay(const float *x, const float *w, float *const y[3], int tail, cudaStream_t s)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    launches(x, w, y, tail, s);
    CHECK(cudaStreamEndCapture(s, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(cudaGraphLaunch(exec, s));
        CHECK(cudaStreamSynchronize(s));
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

int main(int argc, char **argv)
{
    bool graph = false, wrong = false, pointer = false;
    const float eps = 1e-6f;
    cudaStream_t stream;
    cudaEvent_t event;
    for (int i = 2; i < argc; i++) {
        graph |= !strcmp(argv[i], "graph");
        wrong |= !strcmp(argv[i], "wrong");
        pointer |= !strcmp(argv[i], "pointer");
    }
    CHECK(cudaMemcpyToSymbol(shared_eps, &eps, sizeof(eps)));
    CHECK(cudaFuncSetAttribute(norm_staged, cudaFuncAttributeMaxDynamicSharedMemorySize, LARGE));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    float *x = array(ROWS * COLS, 1), *w = array(COLS, 2);
    float *y[3] = {array(ROWS * COLS, 3), array(ROWS * COLS, 4), array(ROWS * COLS, 5)};
    int tail = wrong ? COLS % BLOCK : 0;
    if (graph)
        replay(x, w, y, tail, stream);
    for (int i = 0; !graph && !pointer && i < ROUNDS; i++)
        launches(x, w, y, tail, stream);
    for (int i = 0; pointer && i < ROUNDS; i++)
        launch_by_pointer(x, w, y[0], tail, stream);
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaEventSynchronize(event));
    print(y);
    for (float *at : {x, w, y[0], y[1], y[2]})
        CHECK(cudaFree(at));
    /* Copied out of libc when the program is bound to its libraries. */
    printf("%s\n", environ && *environ ? "variables" : "no variables");
    /* A launch that is refused is the runtime's last error, once. */
    norm_plain<<<ROWS, 4096>>>(x, w, y[0], COLS, tail, eps);
    printf("%s, then %s\n", cudaGetErrorString(cudaGetLastError()),
           cudaGetErrorString(cudaGetLastError()));
    return 0;
}
