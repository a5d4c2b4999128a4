/*
 * program.c - every way to pass a launch and every kind of argument: `program FATBIN right|wrong`.
 */
#include "common/program.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 6, COLS = 100, PITCH = 112, REPEAT = 2 };

/* The forms for the per-thread default stream, which cuda.h hides behind macros. */
CUresult cuLaunchKernel_ptsz(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             unsigned, CUstream, void **, void **);
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *, CUfunction, void **, void **);

static struct norm norm;
static CUstream stream;
static char name[64];

static CUfunction named(const char *form)
{
    snprintf(name, sizeof(name), "%s_%s", form, word(0));
    return kernel(name);
}

static void show(void)
{
    norm_print(name, &norm);
    fill(norm.y, ROWS * COLS, 99);
}

static CUlaunchConfig config_on(CUstream on)
{
    CUlaunchConfig config;
    memset(&config, 0, sizeof(config));
    config.gridDimX = ROWS;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 64;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = on;
    return config;
}

static void ways(void)
{
    void *params[] = {&norm.x, &norm.w, &norm.y, &norm.cols, &norm.eps};
    size_t size = 32; /* x, w, y, cols, eps lie as a kernel's parameters do */
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &norm, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CUlaunchConfig config = config_on(stream), per_thread = config_on(NULL);
    CUfunction function = named("params");
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuLaunchKernel(function, ROWS, 1, 1, 64, 1, 1, 0, stream, params, NULL));
    show();
    function = named("extra");
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuLaunchKernel(function, ROWS, 1, 1, 64, 1, 1, 0, stream, NULL, extra));
    show();
    function = named("ex");
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuLaunchKernelEx(&config, function, params, NULL));
    show();
    function = named("ex_extra");
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuLaunchKernelEx(&config, function, NULL, extra));
    show();
    function = named("cooperative");
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuLaunchCooperativeKernel(function, ROWS, 1, 1, 64, 1, 1, 0, stream, params));
    show();
    function = named("per_thread");
    CHECK(cuLaunchKernel_ptsz(function, ROWS, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    CHECK(cuLaunchKernel(function, ROWS, 1, 1, 64, 1, 1, 0, CU_STREAM_PER_THREAD, params, NULL));
    show();
    function = named("per_thread_ex");
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuLaunchKernelEx_ptsz(&per_thread, function, params, NULL));
    show();
    function = named("legacy");
    for (int i = 0; i < REPEAT; i++)
        CHECK(cuLaunchKernel(function, ROWS, 1, 1, 64, 1, 1, 0, i ? CU_STREAM_LEGACY : NULL, params,
                             NULL));
    show();
}

static void library_kernel(const void *image)
{
    CUlibrary library;
    CUkernel handle;
    CHECK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    snprintf(name, sizeof(name), "library_%s", word(0));
    CHECK(cuLibraryGetKernel(&handle, library, name));
    for (int i = 0; i < REPEAT; i++)
        launch((CUfunction)handle, ROWS, 64, stream,
               (void *[]){&norm.x, &norm.w, &norm.y, &norm.cols, &norm.eps});
    show();
    CHECK(cuLibraryUnload(library));
}

static void struct_by_value(void)
{
    CUdeviceptr x = upload(ROWS * PITCH, 5), y = upload(ROWS * PITCH, 6);
    struct {
        CUdeviceptr x, y;
        int rows, cols;
        CUdeviceptr w;
        float eps;
        long long pitch;
    } rows = {x, y, ROWS, COLS, norm.w, 1e-5f, PITCH};
    int unused = 0;
    for (int i = 0; i < REPEAT; i++)
        launch(named("struct"), 4, 64, stream, (void *[]){&rows, &unused});
    print_sum(name, y, ROWS * PITCH * sizeof(float));
}

static void updates(void)
{
    int n = ROWS * COLS;
    for (int i = 0; i < REPEAT; i++)
        launch(named("inout"), 4, 64, stream, (void *[]){&norm.y, &norm.x, &n});
    show();
}

static void in_place(void)
{
    struct norm there = norm;
    there.x = there.y;
    for (int i = 0; i < REPEAT; i++)
        launch(named("in_place"), ROWS, 64, stream,
               (void *[]){&there.x, &there.w, &there.y, &there.cols, &there.eps});
    show();
}

static void null_argument(void)
{
    CUdeviceptr none = 0;
    for (int i = 0; i < REPEAT; i++)
        launch(named("nullable"), ROWS, 64, stream,
               (void *[]){&norm.x, &none, &norm.y, &norm.cols, &norm.eps});
    show();
    launch(named("nullable"), ROWS, 64, stream,
           (void *[]){&norm.x, &norm.w, &norm.y, &norm.cols, &norm.eps});
    show();
}

int main(int argc, char **argv)
{
    const void *image = start(argc, argv);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    norm = norm_new(ROWS, COLS, 1);
    ways();
    library_kernel(image);
    struct_by_value();
    updates();
    in_place();
    null_argument();
    CHECK(cuStreamDestroy(stream));
    finish();
    return 0;
}
