/* Libraries: kernels that belong to no context, first use by many threads, and the callbacks of
 * modules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "module_fixture.h"

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
    CUlibrary library = load_library();
    CUkernel kernel = NULL, all[16];
    OK(cuLibraryGetKernel(&kernel, library, "axpy"));
    assert_int_equal(cuLibraryGetKernel(&kernel, library, "nobody"), CUDA_ERROR_NOT_FOUND);
    unsigned count = 0;
    OK(cuLibraryGetKernelCount(&count, library));
    assert_int_equal(count, 12);
    OK(cuLibraryEnumerateKernels(all, count, library));
    assert_ptr_equal(all[0], kernel);
#if CUDA_VERSION >= 12050
    CUlibrary back = NULL;
    OK(cuKernelGetLibrary(&back, kernel));
    assert_ptr_equal(back, library);
#endif
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

/* -- the callbacks of a tool -- */

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
    CUlibrary library = load_library(); /* lazy: no callback yet */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_two_devices),       TEST(test_kernels),       TEST(test_library_in_two_contexts),
        TEST(test_kernel_attributes), TEST(test_bad_libraries), TEST(test_first_use_by_many),
        TEST(test_announcements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
