/*
 * real_bench.h - a bench for device code as nvcc translates it.
 *
 * $SOFTGPU_PTX names the folder with snapshot.ptx, outlier.ptx, refs.ptx, refs_wide.ptx and
 * wmma.ptx; without it there is nothing to test. Included by the tests, each of which is a program
 * of its own.
 */
#ifndef SOFTGPU_REAL_BENCH_H
#define SOFTGPU_REAL_BENCH_H

#include "exec_bench.h"

static char *text;

static bool open_file(const char *name)
{
    char path[4096];
    const char *folder = getenv("SOFTGPU_PTX");
    if (!folder)
        return false;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s cannot be read", path);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    free(text);
    text = malloc(size);
    assert_int_equal(fread(text, 1, size, file), size);
    fclose(file);
    bench_close();
    const struct exec_host host = {&bench, bench_find, bench_place};
    struct error err = {{0}};
    if (ptx_read(text, size, name, &bench.ptx, &err) ||
        exec_module_create(bench.ptx, &host, &bench.module, &err))
        fail_msg("%s", err.text);
    return true;
}

static void open_kernel(const char *name)
{
    struct error err = {{0}};
    struct exec_function *kernel = exec_find_kernel(bench.module, name);
    assert_non_null(kernel);
    if (exec_prepare(kernel, &err))
        fail_msg("%s", err.text);
    bench.launch = (struct exec_launch){.kernel = kernel, .grid = {1, 1, 1}, .block = {256, 1, 1}};
}

static inline void run_with(const void *params)
{
    bench.launch.params = params;
    if (exec_run(&bench.launch, &bench.fault))
        fail_msg("%s", bench.fault.text);
}

static int close_bench(void **state)
{
    (void)state;
    bench_close();
    free(text);
    return 0;
}

#endif
