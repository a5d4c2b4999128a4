#include "call/blas_kernel.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

bool blas_kernel_is(const char *symbol)
{
    static const struct {
        const char *prefix, *part; /* the name begins with one and has the other in it; NULL: any */
    } rows[] = {
        {"nvjet_", NULL},
        {"maxwell_", "gemm_"},
        {"volta_", "gemm_"},
        {"turing_", "gemm_"},
        {"ampere_", "gemm_"},
        {"sm", "_xmma_gemm_"},
        {"_Z", "8cublasLt"},
        {"_Z", "cublasGem"}, /* the parameters of products and of matrices times vectors */
        {"_Z", "17gemv2T_kernel_val"},
        {"_ZN8internal5gemvx6kernel", NULL},
        {"_ZN7cutlass7Kernel2I", "gemm_"}, /* the form that NVIDIA's own libraries have */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strncmp(symbol, rows[i].prefix, strlen(rows[i].prefix)) == 0 &&
            (!rows[i].part || strstr(symbol, rows[i].part)))
            return true;
    }
    return false;
}

static int is_blas(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    *(bool *)found = slash && strncmp(slash + 1, "libcublas", 9) == 0;
    return *(bool *)found;
}

bool blas_kernel_library_is_loaded(void)
{
    bool found = false;
    dl_iterate_phdr(is_blas, &found);
    return found;
}
