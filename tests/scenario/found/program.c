/*
 * program.c - a program that looks up the driver's functions in each of the ways that there are,
 * and launches a kernel by each: `program FATBIN WAY NAME`.
 *
 *   all      dlsym in libcuda; cuGetProcAddress found by dlsym, for several versions of CUDA and
 *            both kinds of default stream; the linked cuGetProcAddress
 *   linked   the linked cuGetProcAddress alone, for cuInit and the context too
 */
#include "common/program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef CUresult resolve_fn(const char *name, void **given, int version, cuuint64_t flags,
                            CUdriverProcAddressQueryResult *status);

static struct norm norm;

static void use(const char *way, void *function)
{
    __typeof__(cuLaunchKernel) *launch_it;
    void *list[] = {&norm.x, &norm.w, &norm.y, &norm.cols, &norm.eps};
    memcpy(&launch_it, &function, sizeof(function));
    if (!function)
        printf("%s: no function\n", way);
    else
        CHECK(launch_it(kernel(word(1)), norm.rows, 1, 1, 32, 1, 1, 0, NULL, list, NULL));
    norm_print(way, &norm);
}

static void ask(const char *way, resolve_fn *resolve, const char *name, int version,
                cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    void *function = NULL;
    CUresult result = resolve(name, &function, version, flags, &status);
    printf("%s, version %d: %d %d\n", way, version, (int)result, (int)status);
    if (!strcmp(name, "cuLaunchKernel") && !result)
        use(way, function);
}

/* A form of cuGetProcAddress that another one gave. */
static void ask_for_asker(resolve_fn *resolve)
{
    CUdriverProcAddressQueryResult status;
    void *newer = NULL, *older = NULL, *function = NULL;
    resolve_fn *second;
    CUresult (*first)(const char *, void **, int, cuuint64_t);
    CHECK(resolve("cuGetProcAddress", &newer, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    CHECK(resolve("cuGetProcAddress", &older, 11030, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    memcpy(&second, &newer, sizeof(newer));
    memcpy(&first, &older, sizeof(older));
    ask("given by the second form", second, "cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_DEFAULT);
    CHECK(first("cuLaunchKernel", &function, 11030, CU_GET_PROC_ADDRESS_DEFAULT));
    use("given by the first form", function);
}

static void ask_in_all_ways(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    resolve_fn *resolve;
    void *found = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&resolve, &found, sizeof(found));
    use("dlsym", dlsym(library, "cuLaunchKernel"));
    use("dlsym, per thread", dlsym(library, "cuLaunchKernel_ptsz"));
    ask("default", resolve, "cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_DEFAULT);
    ask("legacy", resolve, "cuLaunchKernel", 4000, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
    ask("per thread", resolve, "cuLaunchKernel", 12000,
        CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    ask("too old", resolve, "cuLaunchKernel", 3000, CU_GET_PROC_ADDRESS_DEFAULT);
    ask("unknown", resolve, "cuNoSuchCall", 12000, CU_GET_PROC_ADDRESS_DEFAULT);
    ask_for_asker(resolve);
}

static void *given(const char *name)
{
    CUdriverProcAddressQueryResult status;
    void *function = NULL;
    CHECK(cuGetProcAddress(name, &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    return function;
}

static void retain(void)
{
    void *init = given("cuInit"), *retain = given("cuDevicePrimaryCtxRetain");
    CUresult (*init_it)(unsigned);
    CUresult (*retain_it)(CUcontext *, CUdevice);
    CUcontext first;
    memcpy(&init_it, &init, sizeof(init));
    memcpy(&retain_it, &retain, sizeof(retain));
    CHECK(init_it(0));
    CHECK(retain_it(&first, 0));
}

static void release(void)
{
    void *release = given("cuDevicePrimaryCtxRelease");
    CUresult (*release_it)(CUdevice);
    memcpy(&release_it, &release, sizeof(release));
    CHECK(release_it(0));
}

int main(int argc, char **argv)
{
    bool linked = argc > 2 && !strcmp(argv[2], "linked");
    if (linked)
        retain();
    start(argc, argv);
    norm = norm_new(4, 64, 1);
    if (!linked)
        ask_in_all_ways();
    ask("linked", cuGetProcAddress, "cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_DEFAULT);
    finish();
    if (linked)
        release();
    return 0;
}
