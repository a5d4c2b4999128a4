/*
 * test_modules.c - modules, libraries, fatbins, functions and launches, as a program uses them.
 *
 * SOFTGPU_TEST_FATBINS names a folder with modules.cu compiled in the forms that the tests name;
 * those tests are skipped without it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "driver/hooks.h"

/* The launches of CUDA 1 are in the header still. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

static const char head[] = "// made by hand\n.version 7.0\n.target sm_75\n.address_size 64\n";

static const char body[] =
    ".global .align 4 .u32 counter = 7;\n"
    ".const .align 4 .f32 factor[2] = {0f40000000, 0f40400000};\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".visible .entry axpy(.param .u64 py, .param .u64 px, .param .f32 pa, .param .u32 pn)\n"
    "{ .reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<5>; .reg .b64 %rd<6>;\n"
    "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "  mad.lo.s32 %r4, %r1, %r2, %r3; ld.param.u32 %r5, [pn];\n"
    "  setp.ge.s32 %p, %r4, %r5; @%p bra $done;\n"
    "  ld.param.u64 %rd1, [py]; ld.param.u64 %rd2, [px]; mul.wide.s32 %rd3, %r4, 4;\n"
    "  add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3; ld.param.f32 %f1, [pa];\n"
    "  ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd5]; fma.rn.f32 %f4, %f1, %f3, %f2;\n"
    "  st.global.f32 [%rd4], %f4;\n"
    "$done: ret; }\n"
    /* A byte, eight bytes at offset 8, and twelve behind them. */
    ".visible .entry layout(.param .u8 a, .param .u64 b, .param .align 4 .b8 c[12])\n"
    "{ .reg .b32 %r<4>; .reg .b64 %rd<2>; ld.param.u8 %r1, [a]; ld.param.u64 %rd1, [b];\n"
    "  ld.param.u32 %r2, [c+8]; add.u32 %r3, %r1, %r2; st.global.u32 [%rd1], %r3; ret; }\n"
    ".visible .entry bump()\n"
    "{ .reg .b32 %r<2>; atom.global.add.u32 %r1, [counter], 1; ret; }\n"
    ".visible .entry constant(.param .u64 p)\n"
    "{ .reg .f32 %f<2>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p];\n"
    "  ld.const.f32 %f1, [factor+4]; st.global.f32 [%rd1], %f1; ret; }\n"
    /* The last word of the dynamic shared memory of `bytes` bytes. */
    ".visible .entry last(.param .u64 p, .param .u32 bytes)\n"
    "{ .reg .b32 %r<5>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [bytes];\n"
    "  mov.u32 %r2, dynamic; add.u32 %r2, %r2, %r1; mov.u32 %r3, 77;\n"
    "  st.shared.u32 [%r2+-4], %r3; ld.shared.u32 %r4, [%r2+-4]; st.global.u32 [%rd1], %r4; ret; "
    "}\n"
    ".visible .entry exact(.param .u64 p) .reqntid 32, 2, 1 { ret; }\n"
    ".visible .entry bounded() .maxntid 64, 1, 1 { ret; }\n"
    ".visible .entry wild() { .reg .b32 %r<2>; .reg .b64 %rd<2>; mov.u64 %rd1, 64;\n"
    "  mov.u32 %r1, 1; st.global.u32 [%rd1], %r1; ret; }\n"
    ".visible .entry crooked(.param .u64 p) { .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    "  ld.param.u64 %rd1, [p]; mov.u32 %r1, 1; st.global.u32 [%rd1+2], %r1; ret; }\n"
    ".visible .entry stop() { trap; }\n"
    ".visible .entry fixed() { .shared .align 4 .b8 mine[1000]; .reg .b32 %r<2>;\n"
    "  mov.u32 %r1, mine; st.shared.u32 [%r1], %r1; ret; }\n"
    ".visible .entry endless() { $again: bra $again; }\n"
    ".func helper() { ret; }\n";

static const char unknown[] = ".visible .entry odd() { .reg .b32 %r<2>;\n"
                              "  frobnicate.u32 %r1, %r1; ret; }\n";

static char *text_of(const char *more)
{
    char *text = NULL;
    assert_true(asprintf(&text, "%s%s%s", head, body, more) > 0);
    return text;
}

static CUmodule load(void)
{
    CUmodule module = NULL;
    char *text = text_of("");
    OK(cuModuleLoadData(&module, text));
    free(text);
    return module;
}

static CUfunction function_of(CUmodule module, const char *name)
{
    CUfunction function = NULL;
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}

static CUdeviceptr room(size_t bytes)
{
    CUdeviceptr at = 0;
    OK(cuMemAlloc(&at, bytes));
    OK(cuMemsetD8(at, 0, bytes));
    return at;
}

static uint32_t word_at(CUdeviceptr at)
{
    uint32_t word = 0;
    OK(cuMemcpyDtoH(&word, at, sizeof(word)));
    return word;
}

/* Each test has a context of its own. */
static int set_up(void **state)
{
    CUcontext context;
    CUdevice device;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuCtxCreate(&context, NULL, 0, device));
    *state = context;
    return 0;
}

static int tear_down(void **state)
{
    cuCtxDestroy(*state);
    return 0;
}

/* -- launches in all their forms -- */

enum { N = 1000 };

struct axpy {
    CUdeviceptr y, x;
    float a;
    int n;
    void *params[4];
};

static void axpy_begin(struct axpy *axpy)
{
    float x[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    *axpy = (struct axpy){.y = room(sizeof(x)), .x = room(sizeof(x)), .a = 3, .n = N};
    OK(cuMemcpyHtoD(axpy->x, x, sizeof(x)));
    axpy->params[0] = &axpy->y;
    axpy->params[1] = &axpy->x;
    axpy->params[2] = &axpy->a;
    axpy->params[3] = &axpy->n;
}

/* y is `times` times what one launch makes of it. */
static void axpy_check(const struct axpy *axpy, int times)
{
    float y[N];
    OK(cuMemcpyDtoH(y, axpy->y, sizeof(y)));
    for (int i = 0; i < N; i++)
        assert_true(y[i] == (float)(times * i) * axpy->a);
}

static void axpy_end(struct axpy *axpy)
{
    OK(cuMemFree(axpy->x));
    OK(cuMemFree(axpy->y));
}

static void test_params_and_extra(void **state)
{
    (void)state;
    CUfunction function = function_of(load(), "axpy");
    struct axpy axpy;
    axpy_begin(&axpy);
    OK(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, NULL, axpy.params, NULL));
    axpy_check(&axpy, 1);
    size_t bytes = 24;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &axpy, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    OK(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, CU_STREAM_PER_THREAD, NULL, extra));
    OK(cuCtxSynchronize());
    axpy_check(&axpy, 2);
    bytes = 20;
    assert_int_equal(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra),
                     CUDA_ERROR_INVALID_VALUE);
    bytes = 32; /* padded, as some programs do */
    OK(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    axpy_check(&axpy, 3);
    assert_int_equal(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, NULL, axpy.params, extra),
                     CUDA_ERROR_INVALID_VALUE);
    axpy_end(&axpy);
}

/* The arguments are taken at the call, not when the kernel runs. */
static void test_arguments_are_copied(void **state)
{
    (void)state;
    CUfunction function = function_of(load(), "axpy");
    struct axpy axpy;
    axpy_begin(&axpy);
    for (int i = 0; i < 20; i++) {
        float a = 3;
        axpy.params[2] = &a;
        OK(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, NULL, axpy.params, NULL));
        a = -1;
    }
    axpy_check(&axpy, 20);
    axpy_end(&axpy);
}

static void test_launch_ex(void **state)
{
    (void)state;
    CUfunction function = function_of(load(), "axpy");
    struct axpy axpy;
    axpy_begin(&axpy);
    CUevent event;
    OK(cuEventCreate(&event, 0));
    CUlaunchAttribute attrs[4] = {{.id = CU_LAUNCH_ATTRIBUTE_PRIORITY},
                                  {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION},
                                  {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION},
                                  {.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT}};
    attrs[2].value.clusterDim.x = attrs[2].value.clusterDim.y = attrs[2].value.clusterDim.z = 1;
    attrs[3].value.launchCompletionEvent.event = event;
    CUlaunchConfig config = {8, 1, 1, 128, 1, 1, 0, NULL, attrs, 4};
    OK(cuLaunchKernelEx(&config, function, axpy.params, NULL));
    OK(cuEventSynchronize(event));
    axpy_check(&axpy, 1);
    attrs[0].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attrs[0].value.cooperative = 1;
    OK(cuLaunchKernelEx(&config, function, axpy.params, NULL));
    axpy_check(&axpy, 2);
    config.gridDimX = 1000000;
    assert_int_equal(cuLaunchKernelEx(&config, function, axpy.params, NULL),
                     CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    config.gridDimX = 8;
    attrs[2].value.clusterDim.x = 3;
    assert_int_equal(cuLaunchKernelEx(&config, function, axpy.params, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    attrs[2].value.clusterDim.x = 4;
    assert_int_equal(cuLaunchKernelEx(&config, function, axpy.params, NULL),
                     CUDA_ERROR_NOT_SUPPORTED);
    attrs[2].id = (CUlaunchAttributeID)9999;
    assert_int_equal(cuLaunchKernelEx(&config, function, axpy.params, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuLaunchKernelEx(NULL, function, axpy.params, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventDestroy(event));
    axpy_end(&axpy);
}

static void test_cooperative(void **state)
{
    (void)state;
    CUfunction function = function_of(load(), "axpy");
    struct axpy axpy;
    axpy_begin(&axpy);
    OK(cuLaunchCooperativeKernel(function, 8, 1, 1, 128, 1, 1, 0, NULL, axpy.params));
    axpy_check(&axpy, 1);
    assert_int_equal(
        cuLaunchCooperativeKernel(function, 100000, 1, 1, 128, 1, 1, 0, NULL, axpy.params),
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    axpy_end(&axpy);
}

static void test_legacy_launch(void **state)
{
    (void)state;
    CUfunction function = function_of(load(), "axpy");
    struct axpy axpy;
    axpy_begin(&axpy);
    OK(cuFuncSetBlockShape(function, 128, 1, 1));
    OK(cuFuncSetSharedSize(function, 64));
    OK(cuParamSetSize(function, 24));
    OK(cuParamSetv(function, 0, &axpy.y, 16));
    OK(cuParamSetf(function, 16, axpy.a));
    OK(cuParamSeti(function, 20, N));
    OK(cuLaunchGrid(function, 8, 1));
    axpy_check(&axpy, 1);
    OK(cuLaunchGridAsync(function, 4, 2, NULL)); /* half of it, twice */
    OK(cuParamSeti(function, 20, 0));
    OK(cuLaunch(function));
    OK(cuCtxSynchronize());
    float y[N];
    OK(cuMemcpyDtoH(y, axpy.y, sizeof(y)));
    assert_true(y[N - 1] == 3.0f * (N - 1));
    assert_true(y[1] != 3.0f);
    assert_int_equal(cuParamSetSize(function, 5000), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuParamSetv(function, 4090, &axpy.y, 8), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuParamSeti(function, -4, 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuFuncSetBlockShape(function, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuLaunchGrid(function, 0, 1), CUDA_ERROR_INVALID_VALUE);
    axpy_end(&axpy);
}

static void test_layout_of_params(void **state)
{
    (void)state;
    CUfunction function = function_of(load(), "layout");
    static const size_t offsets[] = {0, 8, 16}, sizes[] = {1, 8, 12};
    for (size_t i = 0; i < 3; i++) {
        size_t offset = 99, bytes = 99;
        OK(cuFuncGetParamInfo(function, i, &offset, &bytes));
        assert_int_equal(offset, offsets[i]);
        assert_int_equal(bytes, sizes[i]);
        OK(cuFuncGetParamInfo(function, i, &offset, NULL));
    }
    size_t offset;
    assert_int_equal(cuFuncGetParamInfo(function, 3, &offset, NULL), CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr out = room(4);
    unsigned char a = 200;
    int c[3] = {1, 2, 55};
    void *params[] = {&a, &out, c};
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    assert_int_equal(word_at(out), 255);
    OK(cuMemFree(out));
}

/* -- what a launch may not ask for -- */

static CUresult try(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned block_x,
                    unsigned block_y, unsigned block_z, unsigned shared, void **params)
{
    return cuLaunchKernel(function, grid_x, grid_y, 1, block_x, block_y, block_z, shared, NULL,
                          params, NULL);
}

static void test_bad_launches(void **state)
{
    (void)state;
    CUmodule module = load();
    CUfunction bump = function_of(module, "bump"), axpy = function_of(module, "axpy");
    static const struct {
        unsigned grid_x, grid_y, block_x, block_y, block_z, shared;
    } bad[] = {
        {0, 1, 1, 1, 1, 0},     {1, 0, 1, 1, 1, 0},           {1, 1, 0, 1, 1, 0},
        {1, 65536, 1, 1, 1, 0}, {0x80000000u, 1, 1, 1, 1, 0}, {1, 1, 1025, 1, 1, 0},
        {1, 1, 1, 1, 65, 0},    {1, 1, 64, 17, 1, 0},         {1, 1, 1, 1, 1, 49153},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(try(bump, bad[i].grid_x, bad[i].grid_y, bad[i].block_x, bad[i].block_y,
                             bad[i].block_z, bad[i].shared, NULL),
                         CUDA_ERROR_INVALID_VALUE);
    OK(try(bump, 1, 1, 1024, 1, 1, 49152, NULL));
    assert_int_equal(try(axpy, 1, 1, 1, 1, 1, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    void *params[4] = {0};
    assert_int_equal(try(axpy, 1, 1, 1, 1, 1, 0, params), CUDA_ERROR_INVALID_VALUE);
    void *extra[] = {(void *)7, NULL, CU_LAUNCH_PARAM_END};
    assert_int_equal(cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra),
                     CUDA_ERROR_INVALID_VALUE);
    CUfunction exact = function_of(module, "exact"), bounded = function_of(module, "bounded");
    CUdeviceptr none = 0;
    params[0] = &none;
    OK(try(exact, 1, 1, 32, 2, 1, 0, params));
    assert_int_equal(try(exact, 1, 1, 64, 1, 1, 0, params), CUDA_ERROR_INVALID_VALUE);
    OK(try(bounded, 1, 1, 8, 8, 1, 0, NULL));
    assert_int_equal(try(bounded, 1, 1, 65, 1, 1, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(try((CUfunction)&bad, 1, 1, 1, 1, 1, 0, NULL), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(
        cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, (CUstream)(uintptr_t)&bad, NULL, NULL),
        CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxSynchronize());
}

static void test_other_context(void **state)
{
    CUfunction bump = function_of(load(), "bump");
    CUcontext other;
    OK(cuCtxCreate(&other, NULL, 0, 0));
    assert_int_equal(try(bump, 1, 1, 1, 1, 1, 0, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxDestroy(other));
    OK(cuCtxSetCurrent(*state));
    OK(try(bump, 1, 1, 1, 1, 1, 0, NULL));
}

/* -- modules -- */

static void test_module_questions(void **state)
{
    (void)state;
    CUmodule module = load();
    CUfunction function = NULL, all[32] = {0};
    assert_int_equal(cuModuleGetFunction(&function, module, "nobody"), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(cuModuleGetFunction(&function, module, "helper"), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(cuModuleGetFunction(&function, module, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuModuleGetFunction(&function, (CUmodule)&all, "axpy"),
                     CUDA_ERROR_INVALID_HANDLE);
    unsigned count = 0;
    OK(cuModuleGetFunctionCount(&count, module));
    assert_int_equal(count, 12);
    OK(cuModuleEnumerateFunctions(all, count, module));
    const char *name = NULL;
    OK(cuFuncGetName(&name, all[0]));
    assert_string_equal(name, "axpy");
    assert_ptr_equal(all[0], function_of(module, "axpy"));
    CUmodule back = NULL;
    OK(cuFuncGetModule(&back, all[3]));
    assert_ptr_equal(back, module);
    CUmoduleLoadingMode mode;
    OK(cuModuleGetLoadingMode(&mode));
    assert_int_equal(mode, CU_MODULE_LAZY_LOADING);
}

static void test_globals(void **state)
{
    (void)state;
    CUmodule module = load();
    CUdeviceptr counter = 0, factor = 0;
    size_t bytes = 0;
    OK(cuModuleGetGlobal(&counter, &bytes, module, "counter"));
    assert_int_equal(bytes, 4);
    assert_int_equal(word_at(counter), 7);
    OK(try(function_of(module, "bump"), 3, 1, 5, 1, 1, 0, NULL));
    assert_int_equal(word_at(counter), 22);
    OK(cuModuleGetGlobal(NULL, &bytes, module, "factor"));
    assert_int_equal(bytes, 8);
    OK(cuModuleGetGlobal(&factor, NULL, module, "factor"));
    assert_int_equal(cuModuleGetGlobal(&factor, NULL, module, "nobody"), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(cuModuleGetGlobal(NULL, NULL, module, "factor"), CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr out = room(4);
    void *params[] = {&out};
    CUfunction constant = function_of(module, "constant");
    OK(try(constant, 1, 1, 1, 1, 1, 0, params));
    assert_int_equal(word_at(out), 0x40400000);
    float values[2] = {1, 8};
    OK(cuMemcpyHtoD(factor, values, sizeof(values)));
    OK(try(constant, 1, 1, 1, 1, 1, 0, params));
    assert_int_equal(word_at(out), 0x41000000);
    /* Another load of the same text has variables of its own. */
    CUmodule second = load();
    CUdeviceptr its_own = 0;
    OK(cuModuleGetGlobal(&its_own, NULL, second, "counter"));
    assert_int_equal(word_at(its_own), 7);
    OK(cuModuleUnload(second));
    uint32_t word;
    assert_int_not_equal(cuMemcpyDtoH(&word, its_own, sizeof(word)), CUDA_SUCCESS);
    OK(cuMemFree(out));
}

static void test_dynamic_shared(void **state)
{
    (void)state;
    CUfunction last = function_of(load(), "last");
    CUdeviceptr out = room(4);
    unsigned bytes = 49152;
    void *params[] = {&out, &bytes};
    OK(try(last, 1, 1, 1, 1, 1, bytes, params));
    assert_int_equal(word_at(out), 77);
    bytes = 60000;
    assert_int_equal(try(last, 1, 1, 1, 1, 1, bytes, params), CUDA_ERROR_INVALID_VALUE);
    int value = 0;
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, last));
    assert_int_equal(value, 49152);
    OK(cuFuncSetAttribute(last, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
    OK(cuMemsetD32(out, 0, 1));
    OK(try(last, 1, 1, 1, 1, 1, bytes, params));
    assert_int_equal(word_at(out), 77);
    assert_int_equal(
        cuFuncSetAttribute(last, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20),
        CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuFuncSetAttribute(last, CU_FUNC_ATTRIBUTE_NUM_REGS, 1),
                     CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(out));
}

static void test_attributes_and_occupancy(void **state)
{
    (void)state;
    CUmodule module = load();
    CUfunction axpy = function_of(module, "axpy"), exact = function_of(module, "exact");
    int value = 0;
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, axpy));
    assert_int_equal(value, 1024);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, exact));
    assert_int_equal(value, 64);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, axpy));
    assert_int_equal(value, 75);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, axpy));
    assert_int_equal(value, 8);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, axpy));
    assert_in_range(value, 1, 64);
    assert_int_equal(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, axpy),
                     CUDA_ERROR_INVALID_VALUE);
    CUfunction fixed = function_of(module, "fixed");
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, fixed));
    assert_int_equal(value, 48152);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, fixed));
    assert_int_equal(value, 1000);
    OK(try(fixed, 1, 1, 1, 1, 1, 48152, NULL));
    assert_int_equal(try(fixed, 1, 1, 1, 1, 1, 48153, NULL), CUDA_ERROR_INVALID_VALUE);
    int blocks = 0, grid = 0, block = 0;
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, axpy, 256, 0));
    assert_in_range(blocks, 1, 8);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, axpy, 1024, 0));
    assert_in_range(blocks, 1, 2);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, axpy, 32, 40000));
    assert_in_range(blocks, 1, 5);
    assert_int_equal(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, axpy, 0, 0),
                     CUDA_ERROR_INVALID_VALUE);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, axpy, NULL, 0, 0));
    assert_in_range(block, 32, 1024);
    assert_true(grid > 0);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, axpy, NULL, 0, 100));
    assert_in_range(block, 32, 100);
    size_t dynamic = 0;
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&dynamic, axpy, 2, 128));
    assert_in_range(dynamic, 16384, 116736);
    OK(cuFuncSetCacheConfig(axpy, CU_FUNC_CACHE_PREFER_L1));
    CUfunction bounded = function_of(module, "bounded");
    CUfunctionLoadingState loaded;
    OK(cuFuncIsLoaded(&loaded, bounded));
    assert_int_equal(loaded, CU_FUNCTION_LOADING_STATE_UNLOADED);
    OK(cuFuncLoad(bounded));
    OK(cuFuncIsLoaded(&loaded, bounded));
    assert_int_equal(loaded, CU_FUNCTION_LOADING_STATE_LOADED);
}

static void test_unload(void **state)
{
    (void)state;
    CUmodule module = load();
    CUfunction function = function_of(module, "bump");
    for (int i = 0; i < 50; i++)
        OK(try(function, 8, 1, 64, 1, 1, 0, NULL));
    OK(cuModuleUnload(module)); /* with work under way */
    const char *name;
    assert_int_equal(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuFuncGetName(&name, function), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(try(function, 1, 1, 1, 1, 1, 0, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxSynchronize());
}

/* -- images that cannot be loaded -- */

static void test_bad_images(void **state)
{
    (void)state;
    CUmodule module;
    assert_int_equal(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuModuleLoadData(&module, "no code"), CUDA_ERROR_INVALID_IMAGE);
    assert_int_equal(cuModuleLoadData(&module, (const void *)8), CUDA_ERROR_INVALID_IMAGE);
    assert_int_equal(cuModuleLoadData(&module, ".version 7.0\n.target sm_75\n.entry ("),
                     CUDA_ERROR_INVALID_PTX);
    assert_int_equal(cuModuleLoadData(&module, ".version 8.8\n.target sm_121\n.address_size 64\n"),
                     CUDA_ERROR_INVALID_PTX);
    assert_int_equal(cuModuleLoadData(&module, ".version 8.8\n.target sm_80a\n.address_size 64\n"),
                     CUDA_ERROR_INVALID_PTX);
    assert_int_equal(cuModuleLoad(&module, "/nonexistent/file.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
    assert_int_equal(cuModuleLoad(&module, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void test_jit_log(void **state)
{
    (void)state;
    char log[256] = "old", info[64] = "old";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,   CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_INFO_LOG_BUFFER,    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_WALL_TIME};
    void *values[] = {log, (void *)sizeof(log), info, (void *)sizeof(info), (void *)3, NULL};
    CUmodule module;
    assert_int_equal(
        cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_75\n.entry (", 6, options, values),
        CUDA_ERROR_INVALID_PTX);
    assert_non_null(strstr(log, "3")); /* the line */
    assert_int_equal((uintptr_t)values[1], strlen(log));
    assert_string_equal(info, "");
    values[1] = (void *)8;
    assert_int_equal(
        cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_75\n.entry (", 6, options, values),
        CUDA_ERROR_INVALID_PTX);
    assert_int_equal(strlen(log), 7);
    values[1] = (void *)sizeof(log);
    char *text = text_of("");
    OK(cuModuleLoadDataEx(&module, text, 6, options, values));
    assert_string_equal(log, "");
    OK(cuModuleUnload(module));
    options[4] = (CUjit_option)1000;
    assert_int_equal(cuModuleLoadDataEx(&module, text, 6, options, values),
                     CUDA_ERROR_INVALID_VALUE);
    free(text);
}

static void test_linker(void **state)
{
    (void)state;
    CUlinkState link;
    char log[256] = "", *text = text_of("");
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof(log)}, *image = NULL;
    size_t bytes = 0;
    OK(cuLinkCreate(2, options, values, &link));
    assert_int_equal(cuLinkComplete(link, &image, &bytes), CUDA_ERROR_UNKNOWN);
    char broken[] = ".version 7.0\n.target sm_75\n.entry (";
    assert_int_equal(
        cuLinkAddData(link, CU_JIT_INPUT_PTX, broken, sizeof(broken), NULL, 0, NULL, NULL),
        CUDA_ERROR_INVALID_PTX);
    assert_non_null(strstr(log, "3"));
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, text, strlen(text) + 1, "hand", 0, NULL, NULL));
    OK(cuLinkComplete(link, &image, &bytes));
    assert_true(bytes > 1000);
    CUmodule module;
    OK(cuModuleLoadData(&module, image));
    values[1] = (void *)sizeof(log);
    assert_int_equal(
        cuLinkAddData(link, CU_JIT_INPUT_PTX, text, strlen(text) + 1, "hand", 0, NULL, NULL),
        CUDA_ERROR_NOT_SUPPORTED);
    OK(cuLinkDestroy(link));
    assert_int_equal(cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
    OK(try(function_of(module, "bump"), 1, 1, 1, 1, 1, 0, NULL));
    free(text);
}

/* A module with one kernel that cannot be run is good for its other kernels. */
static void test_unknown_instruction(void **state)
{
    (void)state;
    char *text = text_of(unknown);
    CUmodule module;
    OK(cuModuleLoadData(&module, text));
    free(text);
    OK(try(function_of(module, "bump"), 1, 1, 1, 1, 1, 0, NULL));
    CUfunction odd = function_of(module, "odd");
    assert_int_equal(cuFuncLoad(odd), CUDA_ERROR_INVALID_PTX);
    assert_int_equal(try(odd, 1, 1, 1, 1, 1, 0, NULL), CUDA_ERROR_INVALID_PTX);
    OK(cuCtxSynchronize());
}

/* -- faults -- */

/* What is written to standard error until capture_end(). */
struct capture_file {
    int file, saved;
};

static struct capture_file capture_begin(int fd)
{
    char path[] = "/tmp/softgpu-output-XXXXXX";
    struct capture_file capture = {mkstemp(path), dup(fd)};
    fflush(NULL);
    unlink(path);
    dup2(capture.file, fd);
    return capture;
}

static void capture_end(struct capture_file capture, int fd, char *text, size_t room_for)
{
    fflush(NULL);
    dup2(capture.saved, fd);
    close(capture.saved);
    ssize_t got = pread(capture.file, text, room_for - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    close(capture.file);
}

static void check_fault(const char *name, CUresult expected, bool wants_pointer)
{
    CUfunction function = function_of(load(), name);
    CUdeviceptr out = room(16);
    void *params[] = {&out};
    char text[512];
    struct capture_file capture = capture_begin(STDERR_FILENO);
    CUresult launched = try(function, 1, 1, 32, 1, 1, 0, wants_pointer ? params : NULL);
    CUresult done = cuCtxSynchronize();
    capture_end(capture, STDERR_FILENO, text, sizeof(text));
    OK(launched);
    assert_int_equal(done, expected);
    assert_memory_equal(text, "softgpu: ", 9);
    assert_non_null(strstr(text, name));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one line */
    CUfunction again;
    assert_int_equal(cuModuleGetFunction(&again, NULL, "axpy"), expected);
    assert_int_equal(try(function, 1, 1, 32, 1, 1, 0, wants_pointer ? params : NULL), expected);
}

static void test_illegal_address(void **state)
{
    (void)state;
    check_fault("wild", CUDA_ERROR_ILLEGAL_ADDRESS, false);
}

static void test_misaligned(void **state)
{
    (void)state;
    check_fault("crooked", CUDA_ERROR_MISALIGNED_ADDRESS, true);
}

static void test_trap(void **state)
{
    (void)state;
    check_fault("stop", CUDA_ERROR_LAUNCH_FAILED, false);
}

static void test_endless(void **state)
{
    (void)state;
    check_fault("endless", CUDA_ERROR_LAUNCH_TIMEOUT, false);
}

/* -- libraries -- */

static CUlibrary load_library(void)
{
    CUlibrary library = NULL;
    char *text = text_of("");
    OK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    free(text);
    return library;
}

static void test_kernels(void **state)
{
    (void)state;
    CUlibrary library = load_library(), back = NULL;
    CUkernel kernel = NULL, all[16];
    OK(cuLibraryGetKernel(&kernel, library, "axpy"));
    assert_int_equal(cuLibraryGetKernel(&kernel, library, "nobody"), CUDA_ERROR_NOT_FOUND);
    unsigned count = 0;
    OK(cuLibraryGetKernelCount(&count, library));
    assert_int_equal(count, 12);
    OK(cuLibraryEnumerateKernels(all, count, library));
    assert_ptr_equal(all[0], kernel);
    OK(cuKernelGetLibrary(&back, kernel));
    assert_ptr_equal(back, library);
    const char *name = NULL;
    OK(cuKernelGetName(&name, kernel));
    assert_string_equal(name, "axpy");
    CUfunction function = NULL;
    OK(cuKernelGetFunction(&function, kernel));
    OK(cuFuncGetName(&name, function));
    assert_string_equal(name, "axpy");
    /* Each sort of handle has its own questions. */
    size_t offset, bytes;
    OK(cuKernelGetParamInfo(kernel, 2, &offset, &bytes));
    assert_int_equal(offset, 16);
    assert_int_equal(cuFuncGetName(&name, (CUfunction)kernel), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuFuncGetParamInfo((CUfunction)kernel, 0, &offset, &bytes),
                     CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuKernelGetParamInfo((CUkernel)function, 0, &offset, &bytes),
                     CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuKernelGetFunction(&function, (CUkernel)function), CUDA_ERROR_INVALID_HANDLE);
    struct axpy axpy;
    axpy_begin(&axpy);
    OK(cuLaunchKernel((CUfunction)kernel, 8, 1, 1, 128, 1, 1, 0, NULL, axpy.params, NULL));
    OK(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, NULL, axpy.params, NULL));
    axpy_check(&axpy, 2);
    axpy_end(&axpy);
    OK(cuLibraryUnload(library));
    assert_int_equal(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuKernelGetName(&name, kernel), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuFuncGetName(&name, function), CUDA_ERROR_INVALID_HANDLE);
}

static void test_library_in_two_contexts(void **state)
{
    CUlibrary library = load_library();
    CUkernel bump;
    CUmodule here, there;
    CUdeviceptr counter_here, counter_there;
    CUcontext other;
    OK(cuLibraryGetKernel(&bump, library, "bump"));
    OK(try((CUfunction)bump, 1, 1, 1, 1, 1, 0, NULL));
    OK(cuLibraryGetModule(&here, library));
    OK(cuLibraryGetGlobal(&counter_here, NULL, library, "counter"));
    assert_int_equal(cuModuleUnload(here), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxCreate(&other, NULL, 0, 0));
    OK(cuLibraryGetModule(&there, library));
    OK(cuLibraryGetGlobal(&counter_there, NULL, library, "counter"));
    assert_ptr_not_equal(here, there);
    assert_int_not_equal(counter_here, counter_there);
    assert_int_equal(word_at(counter_there), 7);
    OK(cuCtxDestroy(other));
    OK(cuCtxSetCurrent(*state));
    assert_int_equal(word_at(counter_here), 8);
    CUmodule again;
    OK(cuLibraryGetModule(&again, library));
    assert_ptr_equal(again, here);
    OK(cuLibraryUnload(library));
}

static void test_two_devices(void **state)
{
    CUlibrary library = load_library();
    CUkernel bump;
    CUdeviceptr first, second;
    CUcontext other;
    OK(cuLibraryGetKernel(&bump, library, "bump"));
    OK(try((CUfunction)bump, 1, 1, 3, 1, 1, 0, NULL));
    OK(cuLibraryGetGlobal(&first, NULL, library, "counter"));
    OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000, bump, 0));
    OK(cuCtxCreate(&other, NULL, 0, 1));
    OK(try((CUfunction)bump, 1, 1, 5, 1, 1, 0, NULL));
    assert_int_equal(try((CUfunction)bump, 1, 1, 5, 1, 1, 60000, NULL),
                     CUDA_ERROR_INVALID_VALUE); /* the other device's kernel may */
    OK(cuLibraryGetGlobal(&second, NULL, library, "counter"));
    assert_int_equal(word_at(second), 12);
    OK(cuCtxSetCurrent(*state));
    OK(try((CUfunction)bump, 1, 1, 5, 1, 1, 60000, NULL));
    assert_int_equal(word_at(first), 15);
    OK(cuLibraryUnload(library)); /* in both */
    OK(cuCtxDestroy(other));
}

static void test_kernel_attributes(void **state)
{
    (void)state;
    CUlibrary library = load_library();
    CUkernel last;
    int value = 0;
    OK(cuLibraryGetKernel(&last, library, "last"));
    OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, last, 0));
    assert_int_equal(value, 49152);
    OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, last, 0));
    assert_true(value > 0);
    assert_int_equal(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, last, 77),
                     CUDA_ERROR_INVALID_DEVICE);
    OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000, last, 0));
    CUdeviceptr out = room(4);
    unsigned bytes = 60000;
    void *params[] = {&out, &bytes};
    OK(try((CUfunction)last, 1, 1, 1, 1, 1, bytes, params));
    assert_int_equal(word_at(out), 77);
    OK(cuKernelSetCacheConfig(last, CU_FUNC_CACHE_PREFER_SHARED, 0));
    OK(cuMemFree(out));
    OK(cuLibraryUnload(library));
}

static void test_bad_libraries(void **state)
{
    (void)state;
    CUlibrary library;
    CUdeviceptr at;
    assert_int_equal(cuLibraryLoadData(&library, "no code", NULL, NULL, 0, NULL, NULL, 0),
                     CUDA_ERROR_INVALID_IMAGE);
    assert_int_equal(
        cuLibraryLoadFromFile(&library, "/nonexistent/file", NULL, NULL, 0, NULL, NULL, 0),
        CUDA_ERROR_FILE_NOT_FOUND);
    CUlibraryOption option = CU_LIBRARY_NUM_OPTIONS;
    void *value = NULL;
    assert_int_equal(cuLibraryLoadData(&library, head, NULL, NULL, 0, &option, &value, 1),
                     CUDA_ERROR_INVALID_VALUE);
    option = CU_LIBRARY_BINARY_IS_PRESERVED;
    OK(cuLibraryLoadData(&library, head, NULL, NULL, 0, &option, &value, 1));
    assert_int_equal(cuLibraryGetGlobal(&at, NULL, library, "counter"), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(cuLibraryGetManaged(&at, NULL, library, "counter"), CUDA_ERROR_NOT_FOUND);
    OK(cuLibraryUnload(library));
}

struct racer {
    CUcontext context;
    CUkernel kernel;
    CUresult result;
};

static void *race(void *data)
{
    struct racer *racer = data;
    racer->result = cuCtxSetCurrent(racer->context);
    for (int i = 0; i < 20 && !racer->result; i++)
        racer->result = cuLaunchKernel((CUfunction)racer->kernel, 1, 1, 1, 32, 1, 1, 0,
                                       CU_STREAM_PER_THREAD, NULL, NULL);
    if (!racer->result)
        racer->result = cuCtxSynchronize();
    return NULL;
}

/* Many threads meet at the first use of a kernel in a context. */
static void test_first_use_by_many(void **state)
{
    enum { THREADS = 8 };
    CUlibrary library = load_library();
    CUkernel bump;
    struct racer racers[THREADS];
    pthread_t threads[THREADS];
    OK(cuLibraryGetKernel(&bump, library, "bump"));
    for (int i = 0; i < THREADS; i++) {
        racers[i] = (struct racer){*state, bump, CUDA_SUCCESS};
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        OK(racers[i].result);
    }
    CUdeviceptr counter;
    OK(cuLibraryGetGlobal(&counter, NULL, library, "counter"));
    assert_int_equal(word_at(counter), 7 + THREADS * 20 * 32);
    OK(cuLibraryUnload(library));
}

/* -- what a tool hears -- */

static struct hook_resource heard[8];
static int heard_count;
static bool heard_text;

static bool wants_no_call(unsigned cbid)
{
    (void)cbid;
    return false;
}

static bool wants_modules(unsigned cbid)
{
    return cbid == 6 || cbid == 7;
}

static void hear_call(const struct hook_call *call)
{
    (void)call;
}

static void hear(const struct hook_resource *event)
{
    assert_true(heard_count < 8);
    heard[heard_count++] = *event;
    heard_text = event->image_bytes == strlen(event->image) && strstr(event->image, ".entry axpy");
}

static void test_announcements(void **state)
{
    static const struct hooks hooks = {wants_no_call, hear_call, wants_modules, hear};
    heard_count = 0;
    softgpu_set_hooks(&hooks);
    CUmodule module = load();
    assert_int_equal(heard_count, 1);
    assert_int_equal(heard[0].cbid, 6);
    assert_ptr_equal(heard[0].context, *state);
    assert_true(heard_text);
    CUlibrary library = load_library(); /* lazy: nothing is heard yet */
    CUkernel kernel;
    OK(cuLibraryGetKernel(&kernel, library, "bump"));
    assert_int_equal(heard_count, 1);
    OK(try((CUfunction)kernel, 1, 1, 1, 1, 1, 0, NULL));
    assert_int_equal(heard_count, 2);
    assert_int_not_equal(heard[1].module_id, heard[0].module_id);
    OK(try((CUfunction)kernel, 1, 1, 1, 1, 1, 0, NULL));
    assert_int_equal(heard_count, 2);
    OK(cuModuleUnload(module));
    assert_int_equal(heard_count, 3);
    assert_int_equal(heard[2].cbid, 7);
    assert_int_equal(heard[2].module_id, heard[0].module_id);
    OK(cuLibraryUnload(library));
    assert_int_equal(heard_count, 4);
    assert_int_equal(heard[3].module_id, heard[1].module_id);
    softgpu_set_hooks(NULL);
}

/* -- fatbins -- */

static size_t read_fatbin(const char *name, unsigned char **bytes)
{
    const char *folder = getenv("SOFTGPU_TEST_FATBINS");
    char path[4096];
    if (!folder)
        skip();
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s is not there", path);
    *bytes = malloc(1 << 20);
    size_t length = fread(*bytes, 1, 1 << 20, file);
    fclose(file);
    return length;
}

static void check_modules_cu(CUmodule module)
{
    struct axpy axpy;
    axpy_begin(&axpy);
    OK(cuLaunchKernel(function_of(module, "axpy"), 8, 1, 1, 128, 1, 1, 0, NULL, axpy.params, NULL));
    axpy_check(&axpy, 2); /* scale */
    axpy_end(&axpy);
    CUdeviceptr out = room(4), counter;
    void *params[] = {&out};
    OK(try(function_of(module, "count"), 1, 1, 1, 1, 1, 0, params));
    assert_int_equal(word_at(out), 502);
    OK(cuModuleGetGlobal(&counter, NULL, module, "counter"));
    assert_int_equal(word_at(counter), 6);
    OK(cuMemFree(out));
}

static void test_compressed_fatbins(void **state)
{
    (void)state;
    static const char *const modes[] = {"none", "size", "speed", "balance", "default", "all"};
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        char name[64];
        snprintf(name, sizeof(name), "modules-%s.fatbin", modes[i]);
        unsigned char *bytes;
        read_fatbin(name, &bytes);
        CUmodule module;
        OK(cuModuleLoadData(&module, bytes));
        free(bytes);
        check_modules_cu(module);
        OK(cuModuleUnload(module));
    }
}

static void test_fatbin_wrapper_and_file(void **state)
{
    (void)state;
    unsigned char *bytes;
    size_t length = read_fatbin("modules-default.fatbin", &bytes);
    struct {
        int magic, version;
        const void *data;
        void *more;
    } wrapper = {0x466243b1, 1, bytes, NULL};
    CUmodule module;
    OK(cuModuleLoadFatBinary(&module, &wrapper));
    check_modules_cu(module);
    CUlibrary library;
    CUmodule inside;
    OK(cuLibraryLoadData(&library, &wrapper, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetModule(&inside, library));
    check_modules_cu(inside);
    OK(cuLibraryUnload(library));
    char path[] = "/tmp/softgpu-module-XXXXXX";
    int file = mkstemp(path);
    assert_int_equal(write(file, bytes, length), length);
    close(file);
    OK(cuModuleLoad(&module, path));
    check_modules_cu(module);
    OK(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryUnload(library));
    assert_int_equal(truncate(path, (off_t)length / 2), 0);
    assert_int_equal(cuModuleLoad(&module, path), CUDA_ERROR_INVALID_IMAGE);
    unlink(path);
    wrapper.data = (const void *)16;
    assert_int_equal(cuModuleLoadFatBinary(&module, &wrapper), CUDA_ERROR_INVALID_IMAGE);
    free(bytes);
}

static void test_machine_code_alone(void **state)
{
    (void)state;
    static const char *const names[] = {"modules-machine.fatbin", "modules.cubin"};
    for (size_t i = 0; i < 2; i++) {
        unsigned char *bytes;
        CUmodule module;
        char log[256] = "";
        CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        void *values[] = {log, (void *)sizeof(log)};
        read_fatbin(names[i], &bytes);
        assert_int_equal(cuModuleLoadDataEx(&module, bytes, 2, options, values),
                         CUDA_ERROR_NO_BINARY_FOR_GPU);
        assert_non_null(strstr(log, "sm_90 machine code"));
        free(bytes);
    }
}

/* Every length of a fatbin, with nothing mapped behind it. */
static void test_truncated_fatbins(void **state)
{
    (void)state;
    static const char *const modes[] = {"none", "size", "speed"};
    size_t page = (size_t)sysconf(_SC_PAGESIZE), span = 64 * page;
    char *memory = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(mprotect(memory + span - page, page, PROT_NONE), 0);
    char log[8];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        char name[64];
        unsigned char *bytes;
        snprintf(name, sizeof(name), "modules-%s.fatbin", modes[i]);
        size_t length = read_fatbin(name, &bytes);
        for (size_t cut = 1; cut < length && cut <= 4096; cut++) {
            void *values[] = {log, (void *)sizeof(log)};
            char *at = memory + span - page - cut;
            CUmodule module;
            memcpy(at, bytes, cut);
            assert_int_equal(cuModuleLoadDataEx(&module, at, 2, options, values),
                             CUDA_ERROR_INVALID_IMAGE);
        }
        free(bytes);
    }
    munmap(memory, span);
}

static void test_printf(void **state)
{
    (void)state;
    unsigned char *bytes;
    read_fatbin("modules-default.fatbin", &bytes);
    CUmodule module;
    OK(cuModuleLoadData(&module, bytes));
    free(bytes);
    char text[256];
    int n = 2;
    void *params[] = {&n};
    struct capture_file capture = capture_begin(STDOUT_FILENO);
    CUresult launched = try(function_of(module, "greet"), 1, 1, 32, 1, 1, 0, params);
    CUresult done = cuCtxSynchronize();
    capture_end(capture, STDOUT_FILENO, text, sizeof(text));
    OK(launched);
    OK(done);
    assert_string_equal(text, "thread 0 of greet: 0.00\nthread 1 of greet: 0.25\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_params_and_extra),
        TEST(test_arguments_are_copied),
        TEST(test_launch_ex),
        TEST(test_cooperative),
        TEST(test_legacy_launch),
        TEST(test_layout_of_params),
        TEST(test_bad_launches),
        TEST(test_other_context),
        TEST(test_module_questions),
        TEST(test_globals),
        TEST(test_dynamic_shared),
        TEST(test_attributes_and_occupancy),
        TEST(test_unload),
        TEST(test_bad_images),
        TEST(test_jit_log),
        TEST(test_linker),
        TEST(test_unknown_instruction),
        TEST(test_illegal_address),
        TEST(test_misaligned),
        TEST(test_trap),
        TEST(test_endless),
        TEST(test_two_devices),
        TEST(test_kernels),
        TEST(test_library_in_two_contexts),
        TEST(test_kernel_attributes),
        TEST(test_bad_libraries),
        TEST(test_first_use_by_many),
        TEST(test_announcements),
        TEST(test_compressed_fatbins),
        TEST(test_fatbin_wrapper_and_file),
        TEST(test_machine_code_alone),
        TEST(test_truncated_fatbins),
        TEST(test_printf),
    };
    setenv("SOFTGPU_DEVICES", "2", 1);
    setenv("SOFTGPU_STEPS", "2000000", 1);
    return cmocka_run_group_tests_name("modules", tests, NULL, NULL);
}
