/*
 * program.c - kernels that read variables of their module: `program FATBIN WAY FACTOR`. The module
 * is loaded as such (`module`) or as a library (`library`); FACTOR 2 is right.
 */
#include <stdlib.h>
#include <string.h>
#include "common/program.h"

enum { N = 256 };

static CUlibrary library;
static CUmodule own;

/* Where a variable lies. */
static CUdeviceptr variable(const char *name)
{
    CUdeviceptr at;
    size_t bytes;
    if (library)
        CHECK(cuLibraryGetGlobal(&at, &bytes, library, name));
    else
        CHECK(cuModuleGetGlobal(&at, &bytes, own, name));
    return at;
}

static CUfunction find(const char *name)
{
    CUfunction function;
    CUkernel found;
    if (library) {
        CHECK(cuLibraryGetKernel(&found, library, name));
        function = (CUfunction)found;
    } else {
        CHECK(cuModuleGetFunction(&function, own, name));
    }
    return function;
}

static void load(const char *file, const char *way)
{
    if (!strcmp(way, "library"))
        CHECK(cuLibraryLoadFromFile(&library, file, NULL, NULL, 0, NULL, NULL, 0));
    else
        CHECK(cuModuleLoad(&own, file));
}

int main(int argc, char **argv)
{
    float factor, offset = 0;
    int n = N;
    start(argc, argv);
    load(argv[1], word(0));
    factor = (float)atof(word(1));
    CUdeviceptr x = upload(N, 1), y = upload(N, 2);
    CHECK(cuMemcpyHtoD(variable("factor"), &factor, sizeof factor));
    CHECK(cuMemcpyHtoD(variable("offset"), &offset, sizeof offset));
    CHECK(cuMemcpyHtoD(variable("source"), &x, sizeof x));
    launch(find("scaled"), 1, N, NULL, (void *[]){&x, &y, &n});
    print_sum("y", y, N * sizeof(float));
    launch(find("by_fixed"), 1, N, NULL, (void *[]){&x, &y, &n});
    print_sum("y", y, N * sizeof(float));
    CHECK(cuDevicePrimaryCtxRelease(0)); /* checks end before it, and no module is unloaded */
    return 0;
}
