/* inner.c - a library that is linked with cuBLAS. */
#include "../softgpu/blas/lt.h"

SOFTBLAS_API int multiply(int m, int n, int k, void *a, void *b, void *c);

int multiply(int m, int n, int k, void *a, void *b, void *c)
{
    const float alpha = 1, beta = 0;
    void *blas;
    int status = cublasCreate_v2(&blas);
    if (!status)
        status = cublasSgemm_v2(blas, 0, 0, m, n, k, &alpha, a, m, b, k, &beta, c, m);
    cublasDestroy_v2(blas);
    return status;
}
