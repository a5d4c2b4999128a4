/*
 * test_fatbins.c - fatbins and files, as nvcc makes them and as programs hand them over.
 *
 * SOFTGPU_TEST_FATBINS names a folder with modules.cu compiled in the forms that the tests name;
 * those tests are skipped without it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "module_fixture.h"

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

/* Machine code that carries its PTX for debuggers. */
static void test_machine_code_with_text(void **state)
{
    (void)state;
    unsigned char *bytes;
    size_t length = read_fatbin("modules-lines.cubin", &bytes);
    CUmodule module;
    CUlibrary library;
    OK(cuModuleLoadData(&module, bytes));
    check_modules_cu(module);
    OK(cuModuleUnload(module));
    char path[] = "/tmp/softgpu-module-XXXXXX";
    int file = mkstemp(path);
    assert_int_equal(write(file, bytes, length), length);
    close(file);
    OK(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryUnload(library));
    unlink(path);
    free(bytes);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_compressed_fatbins), TEST(test_fatbin_wrapper_and_file),
        TEST(test_machine_code_alone), TEST(test_machine_code_with_text),
        TEST(test_truncated_fatbins),  TEST(test_printf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
