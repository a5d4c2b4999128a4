/*
 * driver_api.c - the plain driver API: every way to pass a launch and every kind of argument.
 *
 *   driver_api FATBIN
 *
 * Each way has a kernel of its own name (driver_kernels.cu). Prints a checksum of the output bits
 * of each, and the error code of a launch that the driver refuses.
 */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver_api_ptds.h"

#define CHECK(call)                                                                                \
    do {                                                                                           \
        CUresult check_result = (call);                                                            \
        if (check_result != CUDA_SUCCESS) {                                                        \
            printf("%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, (int)check_result);         \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

enum { ROWS = 24, COLS = 1000, PITCH = 1024, COUNT = ROWS * PITCH, REPEAT = 3 };

static CUmodule module;
static CUstream stream;
static CUdeviceptr x, w, b, y, mean, rstd;
static float host[COUNT];

static CUfunction function(const char *name)
{
    CUfunction found;
    CHECK(cuModuleGetFunction(&found, module, name));
    return found;
}

static void fill(CUdeviceptr array, int count, unsigned seed)
{
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        host[i] = (float)(int)(seed >> 8) / 8388608.0f - 1.0f;
    }
    CHECK(cuMemcpyHtoD(array, host, (size_t)count * sizeof(float)));
    CHECK(cuCtxSynchronize());
}

static CUdeviceptr array(int count, unsigned seed)
{
    CUdeviceptr device;
    CHECK(cuMemAlloc(&device, (size_t)count * sizeof(float)));
    fill(device, count, seed);
    return device;
}

/* Prints the checksum of an array's bits, once all launches are done. */
static void print_sum(const char *name, CUdeviceptr device, int count)
{
    uint64_t hash = 14695981039346656037ull;
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(host, device, (size_t)count * sizeof(float)));
    for (size_t i = 0; i < (size_t)count * sizeof(float); i++)
        hash = (hash ^ ((const unsigned char *)host)[i]) * 1099511628211ull;
    printf("%s %016llx\n", name, (unsigned long long)hash);
}

/* The arguments of the rmsnorm kernels. */
struct norm {
    CUdeviceptr x, w, y;
    int cols;
    float eps;
};

#define NORM_PARAMS(n)                                                                             \
    {                                                                                              \
        &(n).x, &(n).w, &(n).y, &(n).cols, &(n).eps                                                \
    }

static void launch_config(CUlaunchConfig *config, CUstream on)
{
    memset(config, 0, sizeof *config);
    config->gridDimX = ROWS;
    config->gridDimY = config->gridDimZ = 1;
    config->blockDimX = 256;
    config->blockDimY = config->blockDimZ = 1;
    config->hStream = on;
}

static void ways_to_launch(void)
{
    struct norm n = {x, w, y, COLS, 1e-5f};
    void *params[] = NORM_PARAMS(n);
    size_t size = 32;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &n, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CUlaunchConfig config;
    launch_config(&config, stream);

    for (int i = 0; i < REPEAT; i++)
        CHECK(
            cuLaunchKernel(function("via_params"), ROWS, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    print_sum("via_params", y, ROWS * COLS);
    fill(y, COUNT, 11);
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuLaunchKernel(function("via_extra"), ROWS, 1, 1, 256, 1, 1, 0, stream, NULL, extra));
    print_sum("via_extra", y, ROWS * COLS);
    fill(y, COUNT, 12);
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuLaunchKernelEx(&config, function("via_ex"), params, NULL));
    print_sum("via_ex", y, ROWS * COLS);
    fill(y, COUNT, 13);
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuLaunchKernelEx(&config, function("via_ex_extra"), NULL, extra));
    print_sum("via_ex_extra", y, ROWS * COLS);
    fill(y, COUNT, 14);
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuLaunchCooperativeKernel(function("via_cooperative"), ROWS, 1, 1, 256, 1, 1, 0,
                                        stream, params));
    print_sum("via_cooperative", y, ROWS * COLS);
    fill(y, COUNT, 15);
    for (int i = 0; i < REPEAT; i++)
        CHECK(ptds_launch(function("via_ptds"), ROWS, 256, params));
    print_sum("via_ptds", y, ROWS * COLS);
    fill(y, COUNT, 16);
    for (int i = 0; i < REPEAT; i++)
        CHECK(ptds_launch_ex(function("via_ptds_ex"), ROWS, 256, params));
    print_sum("via_ptds_ex", y, ROWS * COLS);
    fill(y, COUNT, 17);
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuLaunchKernel(function("via_legacy"), ROWS, 1, 1, 256, 1, 1, 0,
                             i ? CU_STREAM_LEGACY : NULL, params, NULL));
    print_sum("via_legacy", y, ROWS * COLS);
}

static void library_kernel(const void *image)
{
    CUlibrary library;
    CUkernel kernel;
    struct norm n = {x, w, y, COLS, 1e-5f};
    void *params[] = NORM_PARAMS(n);
    CHECK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "via_library"));
    fill(y, COUNT, 18);
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuLaunchKernel((CUfunction)kernel, ROWS, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    print_sum("via_library", y, ROWS * COLS);
    CHECK(cuLibraryUnload(library));
}

/* A second module with the same names comes and goes: handles are made anew, names are not. */
static void module_reload(const void *image)
{
    struct norm n = {x, w, y, COLS, 1e-5f};
    void *params[] = NORM_PARAMS(n);
    for (int i = 0; i < REPEAT; i++) {
        CUmodule second;
        CUfunction again;
        CHECK(cuModuleLoadData(&second, image));
        CHECK(cuModuleGetFunction(&again, second, "via_reload"));
        CHECK(cuLaunchKernel(again, ROWS, 1, 1, 256, 1, 1, 0, stream, params, NULL));
        CHECK(cuStreamSynchronize(stream));
        CHECK(cuModuleUnload(second));
    }
    print_sum("via_reload", y, ROWS * COLS);
}

static void struct_by_value(void)
{
    struct {
        CUdeviceptr x, y;
        int rows, cols;
        CUdeviceptr w;
        float eps;
        long long pitch;
    } a = {x, y, ROWS, COLS, w, 1e-5f, PITCH};
    int unused = 0;
    void *params[] = {&a, &unused};
    static const char *const names[] = {"by_value", "by_value_bad"};
    for (int k = 0; k < 2; k++) {
        fill(y, COUNT, 19);
        for (int i = 0; i < REPEAT; i++)
            CHECK(cuLaunchKernel(function(names[k]), 8, 1, 1, 256, 1, 1, 0, stream, params, NULL));
        print_sum(names[k], y, COUNT);
    }
}

static void strided_rows(void)
{
    long long x_stride = PITCH, y_stride = COLS + 8;
    int cols = COLS;
    float eps = 1e-5f;
    void *params[] = {&x, &w, &y, &x_stride, &y_stride, &cols, &eps};
    static const char *const names[] = {"strided", "strided_bad"};
    for (int k = 0; k < 2; k++) {
        fill(y, COUNT, 20);
        for (int i = 0; i < REPEAT; i++)
            CHECK(
                cuLaunchKernel(function(names[k]), ROWS, 1, 1, 256, 1, 1, 0, stream, params, NULL));
        print_sum(names[k], y, COUNT);
    }
}

static void in_place(void)
{
    struct norm n = {y, w, y, COLS, 1e-5f};
    void *params[] = NORM_PARAMS(n);
    fill(y, COUNT, 21);
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuLaunchKernel(function("in_place"), ROWS, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    print_sum("in_place", y, ROWS * COLS);
}

static void updates(void)
{
    int count = ROWS * COLS;
    float alpha = 0.75f;
    void *add[] = {&y, &x, &count};
    void *accumulate[] = {&x, &y, &alpha, &count};
    static const char *const residual_names[] = {"residual", "residual_bad"};
    static const char *const accumulate_names[] = {"accumulate", "accumulate_bad"};
    for (int k = 0; k < 2; k++) {
        fill(y, COUNT, 22);
        for (int i = 0; i < REPEAT; i++)
            CHECK(cuLaunchKernel(function(residual_names[k]), 40, 1, 1, 128, 1, 1, 0, stream, add,
                                 NULL));
        print_sum(residual_names[k], y, COUNT);
        fill(y, COUNT, 23);
        for (int i = 0; i < REPEAT; i++)
            CHECK(cuLaunchKernel(function(accumulate_names[k]), 40, 1, 1, 128, 1, 1, 0, stream,
                                 accumulate, NULL));
        print_sum(accumulate_names[k], y, COUNT);
    }
}

static void null_pointers(void)
{
    struct norm n = {x, 0, y, COLS, 1e-5f};
    void *params[] = NORM_PARAMS(n);
    fill(y, COUNT, 24);
    CHECK(cuLaunchKernel(function("nullable"), ROWS, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    print_sum("nullable without w", y, ROWS * COLS);
    n.w = w;
    CHECK(cuLaunchKernel(function("nullable"), ROWS, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    print_sum("nullable with w", y, ROWS * COLS);

    int cols = COLS;
    float eps = 1e-5f;
    CUdeviceptr none = 0;
    for (int k = 0; k < 4; k++) {
        void *stats[] = {&x,
                         k & 1 ? &w : &none,
                         k & 1 ? &b : &none,
                         &y,
                         k & 2 ? &mean : &none,
                         k & 2 ? &rstd : &none,
                         &cols,
                         &eps};
        CHECK(cuLaunchKernel(function("layernorm_stats"), ROWS, 1, 1, 256, 1, 1, 0, stream, stats,
                             NULL));
        print_sum("layernorm_stats", y, ROWS * COLS);
    }
    print_sum("mean", mean, ROWS);
    print_sum("rstd", rstd, ROWS);
}

static void refused_launch(void)
{
    struct norm n = {x, w, y, COLS, 1e-5f};
    void *params[] = NORM_PARAMS(n);
    CUresult result =
        cuLaunchKernel(function("fails"), ROWS, 1, 1, 2048, 1, 1, 0, stream, params, NULL);
    printf("refused launch: error %d\n", (int)result);
    CHECK(cuLaunchKernel(function("fails"), ROWS, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    print_sum("fails", y, ROWS * COLS);
}

static void *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    void *bytes = malloc((size_t)size + 1);
    if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
        exit(2);
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    if (argc != 2) {
        fprintf(stderr, "usage: driver_api FATBIN\n");
        return 2;
    }
    void *image = read_file(argv[1]);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    x = array(COUNT, 1);
    w = array(COLS, 2);
    b = array(COLS, 3);
    y = array(COUNT, 4);
    mean = array(ROWS, 5);
    rstd = array(ROWS, 6);

    ways_to_launch();
    library_kernel(image);
    module_reload(image);
    struct_by_value();
    strided_rows();
    in_place();
    updates();
    null_pointers();
    refused_launch();
    CHECK(cuStreamDestroy(stream));
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(device));
    free(image);
    return 0;
}
