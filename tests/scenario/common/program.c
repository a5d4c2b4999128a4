/* program.c - see program.h. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CUmodule module;
CUcontext context;
static char **words;
static int word_count;

void check(CUresult result, const char *what, const char *file, int line)
{
    const char *name = NULL;
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    printf("%s:%d: %s: %s\n", strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line, what,
           name ? name : "an unknown error");
    exit(3);
}

const void *read_image(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s FATBIN [WORD ...]\n", argv[0]);
        exit(2);
    }
    words = argv + 2;
    word_count = argc - 2;
    FILE *file = fopen(argv[1], "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        perror(argv[1]);
        exit(2);
    }
    long size = ftell(file);
    rewind(file);
    static void *bytes;
    bytes = malloc((size_t)size);
    if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
        exit(2);
    fclose(file);
    return bytes;
}

const void *start(int argc, char **argv)
{
    const void *image = read_image(argc, argv);
    CUdevice device;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, image));
    return image;
}

void finish(void)
{
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(0));
}

const char *word(int number)
{
    return number < word_count ? words[number] : "";
}

CUfunction kernel(const char *name)
{
    CUfunction function;
    check(cuModuleGetFunction(&function, module, name), name, __FILE__, __LINE__);
    return function;
}

void fill(CUdeviceptr array, size_t count, unsigned seed)
{
    float *host = malloc(count * sizeof(*host));
    if (!host)
        exit(2);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        host[i] = (float)(int)(seed >> 8) / 8388608.0f - 1.0f;
    }
    CHECK(cuMemcpyHtoD(array, host, count * sizeof(*host)));
    CHECK(cuCtxSynchronize());
    free(host);
}

CUdeviceptr upload(size_t count, unsigned seed)
{
    CUdeviceptr array;
    CHECK(cuMemAlloc(&array, count * sizeof(float)));
    fill(array, count, seed);
    return array;
}

void launch(CUfunction function, unsigned grid, unsigned block, CUstream stream, void **params)
{
    CHECK(cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, params, NULL));
}

void print_sum(const char *name, CUdeviceptr array, size_t bytes)
{
    uint64_t hash = 14695981039346656037ull;
    unsigned char *host = malloc(bytes);
    if (!host)
        exit(2);
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(host, array, bytes));
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ host[i]) * 1099511628211ull;
    printf("%s %016llx\n", name, (unsigned long long)hash);
    free(host);
}

struct norm norm_new(unsigned rows, int cols, unsigned seed)
{
    struct norm norm = {.cols = cols, .eps = 1e-5f, .rows = rows};
    norm.x = upload((size_t)rows * (size_t)cols, seed);
    norm.w = upload((size_t)cols, seed + 1);
    norm.y = upload((size_t)rows * (size_t)cols, seed + 2);
    return norm;
}

void norm_launch(const char *name, struct norm *norm, CUstream stream)
{
    void *params[] = {&norm->x, &norm->w, &norm->y, &norm->cols, &norm->eps};
    launch(kernel(name), norm->rows, 64, stream, params);
}

CUDA_KERNEL_NODE_PARAMS norm_node(const char *name, struct norm *norm, void *params[5])
{
    CUDA_KERNEL_NODE_PARAMS what;
    memset(&what, 0, sizeof(what));
    params[0] = &norm->x;
    params[1] = &norm->w;
    params[2] = &norm->y;
    params[3] = &norm->cols;
    params[4] = &norm->eps;
    what.func = kernel(name);
    what.gridDimX = norm->rows;
    what.gridDimY = what.gridDimZ = 1;
    what.blockDimX = 64;
    what.blockDimY = what.blockDimZ = 1;
    what.kernelParams = params;
    return what;
}

void norm_print(const char *name, const struct norm *norm)
{
    print_sum(name, norm->y, norm->rows * (size_t)norm->cols * sizeof(float));
}

void norm_free(struct norm *norm)
{
    CHECK(cuMemFree(norm->x));
    CHECK(cuMemFree(norm->w));
    CHECK(cuMemFree(norm->y));
}

CUcontext make_context(CUdevice device)
{
    CUcontext made;
#if CUDA_VERSION >= 13000
    CHECK(cuCtxCreate(&made, NULL, 0, device));
#else
    CHECK(cuCtxCreate(&made, 0, device));
#endif
    return made;
}

CUgraphExec graph_of_work(CUstream stream, void (*work)(int))
{
    CUgraph graph;
    CUgraphExec ready;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    work(0);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return ready;
}
