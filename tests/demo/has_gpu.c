/* has_gpu.c - exit status 0 where the driver is here and finds a GPU, 1 elsewhere. */
#include <dlfcn.h>
#include <stddef.h>
#include <cuda.h>

int main(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    CUresult (*init)(unsigned) = NULL;
    CUresult (*count)(int *) = NULL;
    int devices = 0;

    if (driver) {
        *(void **)&init = dlsym(driver, "cuInit");
        *(void **)&count = dlsym(driver, "cuDeviceGetCount");
    }
    return !(init && count && init(0) == CUDA_SUCCESS && count(&devices) == CUDA_SUCCESS &&
             devices > 0);
}
