/*
 * program.c - launches of kernels that are called like cuBLAS's, of which no call leads to one:
 * `program FATBIN WORD`. Of `blas` two such kernels, 6 launches of one and 3 of the other, and 3 of
 * a kernel of its own; of `own` the last alone. `opened` opens libcublas before that of `blas`.
 */
#include "common/program.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

enum { COUNT = 32 };

static void launch_all(const char *name, CUdeviceptr array, int times)
{
    void *params[] = {&array};
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, module, name));
    for (int i = 0; i < times; i++)
        CHECK(cuLaunchKernel(function, 1, 1, 1, COUNT, 1, 1, 0, NULL, params, NULL));
}

int main(int argc, char **argv)
{
    start(argc, argv);
    CUdeviceptr array = upload(COUNT, 1);
    const bool opens = strcmp(word(0), "opened") == 0;
    if (opens && !dlopen("libcublas.so.13", RTLD_LAZY | RTLD_LOCAL))
        check(CUDA_ERROR_FILE_NOT_FOUND, "libcublas", __FILE__, __LINE__);
    if (opens || strcmp(word(0), "blas") == 0) {
        launch_all("nvjet_sst_64x64_64x10_1x1_v_bz_NNN", array, 6);
        launch_all("ampere_sgemm_64x64_nn", array, 3);
    }
    launch_all("own_gemm", array, 3);
    CHECK(cuCtxSynchronize());
    print_sum("array", array, COUNT * sizeof(float));
    finish();
    return 0;
}
