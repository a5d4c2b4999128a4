/* blas_kernel.h - which kernels are cuBLAS's, by their names. */
#ifndef CALL_BLAS_KERNEL_H
#define CALL_BLAS_KERNEL_H

#include <stdbool.h>

/* Whether the symbol, mangled or not, is one of cuBLAS's or cuBLASLt's kernels. Names of products
 * of other libraries, such as CUTLASS's own, are not. Any thread. */
bool blas_kernel_is(const char *symbol);

/* Whether a shared libcublas or libcublasLt is loaded in this process: its kernels come from there.
 * Takes the loader's lock. */
bool blas_kernel_library_is_loaded(void);

#endif
