#include "image/vendor.h"

#include <stddef.h>
#include <string.h>
#include "call/blas_kernel.h"

static const char *vendor_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *by_file(const char *path)
{
    /* Longer names stand before those that they begin with. */
    static const struct {
        const char *begins, *library;
    } rows[] = {
        {"libcublasLt", "cuBLASLt"}, {"libcublas", "cuBLAS"},         {"libcudnn", "cuDNN"},
        {"libcufft", "cuFFT"},       {"libcusparseLt", "cuSPARSELt"}, {"libcusparse", "cuSPARSE"},
        {"libcusolver", "cuSOLVER"}, {"libcurand", "cuRAND"},         {"libcutensor", "cuTENSOR"},
        {"libnccl", "NCCL"},         {"libnvshmem", "NVSHMEM"},       {"libnpp", "NPP"},
        {"libnvjpeg", "nvJPEG"},     {"libnvinfer", "TensorRT"}};
    const char *name = vendor_file_name(path);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (!strncmp(name, rows[i].begins, strlen(rows[i].begins)))
            return rows[i].library;
    }
    return NULL;
}

static const char *by_symbol(const char *symbol)
{
    static const struct {
        const char *begins, *library;
    } rows[] = {
        {"_ZN5cudnn", "cuDNN"},      {"cudnn_", "cuDNN"},          {"ncclDevKernel_", "NCCL"},
        {"ncclKernel_", "NCCL"},     {"_ZN8cusparse", "cuSPARSE"}, {"_ZN8cusolver", "cuSOLVER"},
        {"_Z10vector_fft", "cuFFT"}, {"_Z11regular_fft", "cuFFT"}, {"_ZN8cutensor", "cuTENSOR"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (!strncmp(symbol, rows[i].begins, strlen(rows[i].begins)))
            return rows[i].library;
    }
    return blas_kernel_is(symbol) ? "cuBLAS" : NULL;
}

const char *vendor_library(const char *path, const char *symbol)
{
    const char *library = path ? by_file(path) : NULL;
    return library ? library : by_symbol(symbol);
}

const char *vendor_version(const char *path)
{
    static const char mark[] = ".so.";
    const char *at = strstr(vendor_file_name(path), mark);
    return at && at[sizeof(mark) - 1] ? at + sizeof(mark) - 1 : NULL;
}
