/* program.c - a kernel of the library that INNER in the environment names. */
#include <dlfcn.h>
#include <stdlib.h>
#include "common/program.h"

enum { N = 256 };

int main(int argc, char **argv)
{
    start(argc, argv);
    void *library = dlopen(getenv("INNER"), RTLD_NOW);
    CUresult (*inner)(CUdeviceptr, CUdeviceptr, int);
    if (!library)
        return 3;
    *(void **)&inner = dlsym(library, "inner_launch");
    CUdeviceptr x = upload(N, 1), y = upload(N, 2);
    CHECK(inner(x, y, N));
    print_sum("y", y, N * sizeof(float));
    CHECK(cuDevicePrimaryCtxRelease(0));
    return 0;
}
