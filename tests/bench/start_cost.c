/*
 * start_cost.c - what a program pays for cuvet before its first launch is done: milliseconds from
 * cuInit on, memory of the GPU and of the host.
 *
 *   start_cost [LAUNCHES]
 *
 * A driver-API program of one kernel, bench_tiny, carried as PTX; it runs on the stand-in driver
 * too. Prints one JSON line. The MiB are those that the device has less at the end than behind
 * cuCtxCreate of a process without cuvet, so only the difference between two processes shows
 * anything; resident is the process's memory.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call) check((call), #call)

static void check(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "start_cost: %s: error %d\n", what, (int)result);
    exit(3);
}

/* y = relu(x) for n elements, a thread each, of one block. */
static const char ptx[] =
    ".version 7.5\n.target sm_75\n.address_size 64\n"
    ".visible .entry bench_tiny(.param .u64 px, .param .u64 py, .param .u32 pn)\n"
    "{\n"
    ".reg .pred %p; .reg .f32 %f; .reg .b32 %i, %n; .reg .b64 %x, %y, %o;\n"
    "ld.param.u64 %x, [px]; ld.param.u64 %y, [py]; ld.param.u32 %n, [pn];\n"
    "mov.u32 %i, %tid.x; setp.ge.s32 %p, %i, %n; @%p bra done;\n"
    "cvta.to.global.u64 %x, %x; cvta.to.global.u64 %y, %y;\n"
    "mul.wide.s32 %o, %i, 4; add.s64 %x, %x, %o; add.s64 %y, %y, %o;\n"
    "ld.global.f32 %f, [%x]; max.f32 %f, %f, 0f00000000;\n"
    "st.global.f32 [%y], %f;\n"
    "done: ret;\n"
    "}\n";

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static double resident_mib(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

int main(int argc, char **argv)
{
    enum { ELEMENTS = 32 };
    int launches = argc > 1 ? atoi(argv[1]) : 20, n = ELEMENTS;
    size_t left = 0, total = 0;
    CUcontext context;
    CUdevice device;
    CUmodule module;
    CUfunction function;
    CUdeviceptr x, y;
    double begin = now_ms();
    CHECK(cuInit(0));
    double init = now_ms();
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&function, module, "bench_tiny"));
    CHECK(cuMemAlloc(&x, ELEMENTS * sizeof(float)));
    CHECK(cuMemAlloc(&y, ELEMENTS * sizeof(float)));
    CHECK(cuMemsetD8(x, 0, ELEMENTS * sizeof(float)));
    CHECK(cuCtxSynchronize());
    void *params[] = {&x, &y, &n};
    double before = now_ms(), first = 0;
    for (int i = 0; i < launches; i++) {
        CHECK(cuLaunchKernel(function, 1, 1, 1, ELEMENTS, 1, 1, 0, NULL, params, NULL));
        CHECK(cuCtxSynchronize());
        if (i == 0)
            first = now_ms();
    }
    double end = now_ms();
    usleep(300000); /* until what was begun beside the program is there */
    CHECK(cuMemGetInfo(&left, &total));
    printf("{\"init_ms\": %.2f, \"context_ms\": %.2f, \"first_ms\": %.2f, \"rest_ms\": %.2f, "
           "\"used_mib\": %.1f, \"resident_mib\": %.1f}\n",
           init - begin, before - init, first - before, end - first,
           (double)(total - left) / (1 << 20), resident_mib());
    return 0;
}
