/* Launches in all their forms, their invalid arguments, and kernels that fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "module_fixture.h"

/* -- launches in all their forms -- */

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

/* -- invalid arguments of a launch -- */

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

/* -- faults -- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_params_and_extra),
        TEST(test_arguments_are_copied),
        TEST(test_launch_ex),
        TEST(test_cooperative),
        TEST(test_legacy_launch),
        TEST(test_layout_of_params),
        TEST(test_bad_launches),
        TEST(test_other_context),
        TEST(test_illegal_address),
        TEST(test_misaligned),
        TEST(test_trap),
        TEST(test_endless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
