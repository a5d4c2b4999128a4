/*
 * program.c - a program that is not linked with cuBLAS: it opens a library that is, as Python opens
 * PyTorch's; INNER in the environment names it.
 */
#include "common/program.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { M = 24, N = 40, K = 200 };

int main(int argc, char **argv)
{
    int (*multiply)(int m, int n, int k, void *a, void *b, void *c);
    start(argc, argv);
    CUdeviceptr a = upload(M * K, 1), b = upload(K * N, 2), c = upload(M * N, 3);
    void *library = dlopen(getenv("INNER"), RTLD_NOW | RTLD_LOCAL);
    void *address = library ? dlsym(library, "multiply") : NULL;
    memcpy(&multiply, &address, sizeof multiply);
    for (int i = 0; i < 3; i++) {
        if (!address || multiply(M, N, K, (void *)a, (void *)b, (void *)c))
            check(CUDA_ERROR_NOT_FOUND, "multiply", __FILE__, __LINE__);
    }
    print_sum("product", c, M * N * sizeof(float));
    finish();
    return 0;
}
