/*
 * module_images.c - two modules with one symbol, as the specialisations of a Triton kernel:
 * `program WAY`. Each writes 2 x and a number of its own, which is also the kernel's last argument;
 * a variable mark_N in each module shows in its image which it is.
 *
 *   modules    both are loaded by cuModuleLoadData, and launched in turns
 *   reload     one is unloaded before the other is loaded
 *   libraries  both are loaded by cuLibraryLoadData
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 256 };

static void check(CUresult result, const char *what)
{
    if (result) {
        fprintf(stderr, "%s: %d\n", what, (int)result);
        exit(3);
    }
}
#define CHECK(call) check((call), #call)

/* y[i] = 2 x[i] + N, in a module of its own. */
static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 4 .u32 mark_%d = 7;\n"
    ".visible .entry specialised(.param .u64 x, .param .u64 y, .param .u32 n)\n"
    "{\n"
    "    .reg .u64 %%rd<4>; .reg .u32 %%r<4>; .reg .f32 %%f<3>;\n"
    "    ld.param.u64 %%rd1, [x];\n"
    "    ld.param.u64 %%rd2, [y];\n"
    "    mov.u32 %%r1, %%tid.x;\n"
    "    mul.wide.u32 %%rd3, %%r1, 4;\n"
    "    add.s64 %%rd1, %%rd1, %%rd3;\n"
    "    add.s64 %%rd2, %%rd2, %%rd3;\n"
    "    ld.global.f32 %%f1, [%%rd1];\n"
    "    fma.rn.f32 %%f2, %%f1, 0f40000000, 0f3F80000%d;\n"
    "    st.global.f32 [%%rd2], %%f2;\n"
    "    ret;\n"
    "}\n";

static const char *text_of(int number)
{
    static char text[2][2048];
    snprintf(text[number], sizeof text[number], ptx, number, number);
    return text[number];
}

static CUdeviceptr x, y;

static void launch(const void *kernel, int number)
{
    void *params[] = {&x, &y, &number};
    CHECK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, N, 1, 1, 0, NULL, params, NULL));
    CHECK(cuCtxSynchronize());
}

static CUmodule load(int number, CUfunction *function)
{
    CUmodule module;
    CHECK(cuModuleLoadData(&module, text_of(number)));
    CHECK(cuModuleGetFunction(function, module, "specialised"));
    return module;
}

static void modules(int reload)
{
    CUfunction function[2];
    CUmodule module = load(0, &function[0]);
    if (reload) {
        launch(function[0], 0);
        CHECK(cuModuleUnload(module));
    }
    load(1, &function[1]);
    for (int i = reload; i < 4; i++)
        launch(function[reload ? 1 : i % 2], reload ? 1 : i % 2);
}

static void libraries(void)
{
    for (int i = 0; i < 2; i++) {
        CUlibrary library;
        CUkernel kernel;
        CHECK(cuLibraryLoadData(&library, text_of(i), NULL, NULL, 0, NULL, NULL, 0));
        CHECK(cuLibraryGetKernel(&kernel, library, "specialised"));
        launch(kernel, i);
        launch(kernel, i);
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "modules";
    CUdevice device;
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemAlloc(&x, N * sizeof(float)));
    CHECK(cuMemAlloc(&y, N * sizeof(float)));
    CHECK(cuMemsetD32(x, 0x3f800000, N));
    if (!strcmp(way, "libraries"))
        libraries();
    else
        modules(!strcmp(way, "reload"));
    return 0;
}
