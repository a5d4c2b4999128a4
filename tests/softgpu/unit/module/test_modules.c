/* Modules as a program uses them: queries of them and of their functions, images that are
 * bad, the linker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "module_fixture.h"

static const char unknown[] = ".visible .entry odd() { .reg .b32 %r<2>;\n"
                              "  frobnicate.u32 %r1, %r1; ret; }\n";

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_module_questions),
        TEST(test_globals),
        TEST(test_dynamic_shared),
        TEST(test_attributes_and_occupancy),
        TEST(test_unload),
        TEST(test_bad_images),
        TEST(test_jit_log),
        TEST(test_linker),
        TEST(test_unknown_instruction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
