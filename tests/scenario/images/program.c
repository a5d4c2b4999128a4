/*
 * program.c - two modules with one symbol, as the specialisations of a Triton kernel:
 * `program FATBIN WAY`. Each writes 2 x and a number of its own, which is also the kernel's last
 * argument; a variable mark_N in each module shows in its image which it is.
 *
 *   modules    both are loaded by cuModuleLoadData, and launched in turns
 *   reload     one is unloaded before the other is loaded
 *   libraries  both are loaded by cuLibraryLoadData, as nvcc's programs do it
 */
#include "common/program.h"

#include <stdio.h>
#include <string.h>

enum { N = 256 };

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

static void launch_one(const void *kernel, int number)
{
    void *params[] = {&x, &y, &number};
    CHECK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, N, 1, 1, 0, NULL, params, NULL));
    CHECK(cuCtxSynchronize());
}

static CUmodule load(int number, CUfunction *function)
{
    CUmodule loaded;
    CHECK(cuModuleLoadData(&loaded, text_of(number)));
    CHECK(cuModuleGetFunction(function, loaded, "specialised"));
    return loaded;
}

static void modules(int reload)
{
    CUfunction function[2];
    CUmodule first = load(0, &function[0]);
    if (reload) {
        launch_one(function[0], 0);
        CHECK(cuModuleUnload(first));
    }
    load(1, &function[1]);
    for (int i = reload; i < 4; i++)
        launch_one(function[reload ? 1 : i % 2], reload ? 1 : i % 2);
}

static void libraries(void)
{
    CUkernel found[2];
    for (int i = 0; i < 2; i++) {
        CUlibrary library;
        CHECK(cuLibraryLoadData(&library, text_of(i), NULL, NULL, 0, NULL, NULL, 0));
        CHECK(cuLibraryGetKernel(&found[i], library, "specialised"));
    }
    for (int i = 0; i < 4; i++)
        launch_one(found[i % 2], i % 2);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    x = upload(N, 1);
    y = upload(N, 2);
    if (!strcmp(word(0), "libraries"))
        libraries();
    else
        modules(!strcmp(word(0), "reload"));
    print_sum("y", y, N * sizeof(float));
    finish();
    return 0;
}
