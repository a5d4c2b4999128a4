/* blas.c - libcublas.so.13, as far as the scenarios call it. */
#include <stdlib.h>

#include "lt.h"

struct handle {
    void *stream;
    int pointer_mode, math_mode;
};

int cublasCreate_v2(void **handle)
{
    *handle = calloc(1, sizeof(struct handle));
    return 0;
}

int cublasDestroy_v2(void *handle)
{
    free(handle);
    return 0;
}

int cublasSetStream_v2(void *handle, void *stream)
{
    ((struct handle *)handle)->stream = stream;
    return 0;
}

int cublasGetStream_v2(void *handle, void **stream)
{
    *stream = ((struct handle *)handle)->stream;
    return 0;
}

int cublasSetPointerMode_v2(void *handle, int mode)
{
    ((struct handle *)handle)->pointer_mode = mode;
    return 0;
}

int cublasGetPointerMode_v2(void *handle, int *mode)
{
    *mode = ((struct handle *)handle)->pointer_mode;
    return 0;
}

int cublasSetMathMode(void *handle, int mode)
{
    ((struct handle *)handle)->math_mode = mode;
    return 0;
}

int cublasGetMathMode(void *handle, int *mode)
{
    *mode = ((struct handle *)handle)->math_mode;
    return 0;
}

/* By cublasLtMatmul. */
int cublasGemmEx(void *handle, int transa, int transb, int m, int n, int k, const void *alpha,
                 const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                 const void *beta, void *c, int c_type, int ldc, int compute, int algorithm)
{
    const struct handle *h = handle;
    void *desc, *left, *right, *out;
    (void)algorithm;
    cublasLtMatmulDescCreate(&desc, compute, 0);
    cublasLtMatmulDescSetAttribute(desc, 2, &h->pointer_mode, sizeof h->pointer_mode);
    cublasLtMatmulDescSetAttribute(desc, 3, &transa, sizeof transa);
    cublasLtMatmulDescSetAttribute(desc, 4, &transb, sizeof transb);
    cublasLtMatrixLayoutCreate(&left, a_type, (uint64_t)(transa ? k : m),
                               (uint64_t)(transa ? m : k), lda);
    cublasLtMatrixLayoutCreate(&right, b_type, (uint64_t)(transb ? n : k),
                               (uint64_t)(transb ? k : n), ldb);
    cublasLtMatrixLayoutCreate(&out, c_type, (uint64_t)m, (uint64_t)n, ldc);
    int status = cublasLtMatmul(NULL, desc, alpha, a, left, b, right, beta, c, out, c, out, NULL,
                                NULL, 0, h->stream);
    cublasLtMatmulDescDestroy(desc);
    cublasLtMatrixLayoutDestroy(left);
    cublasLtMatrixLayoutDestroy(right);
    cublasLtMatrixLayoutDestroy(out);
    return status;
}

static struct softblas_matrix matrix(const void *data, int trans, int ld, long long batch, int list)
{
    return (struct softblas_matrix){
        (uint64_t)(uintptr_t)data, trans ? ld : 1, trans ? 1 : ld, batch, 0, list};
}

static int run(const struct handle *h, struct softblas_job *job, const float *alpha,
               const float *beta, int batch)
{
    job->alpha_at = h->pointer_mode ? (uint64_t)(uintptr_t)alpha : 0;
    job->beta_at = h->pointer_mode ? (uint64_t)(uintptr_t)beta : 0;
    job->alpha = h->pointer_mode ? 0 : *alpha;
    job->beta = h->pointer_mode ? 0 : *beta;
    job->c = job->d;
    return softblas_run(job, (unsigned)batch, h->stream);
}

int cublasSgemm_v2(void *handle, int transa, int transb, int m, int n, int k, const float *alpha,
                   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
                   int ldc)
{
    struct softblas_job job = {.a = matrix(a, transa, lda, 0, 0),
                               .b = matrix(b, transb, ldb, 0, 0),
                               .d = matrix(c, 0, ldc, 0, 0),
                               .m = m,
                               .n = n,
                               .k = k};
    return run(handle, &job, alpha, beta, 1);
}

int cublasSgemmStridedBatched(void *handle, int transa, int transb, int m, int n, int k,
                              const float *alpha, const float *a, int lda, long long a_batch,
                              const float *b, int ldb, long long b_batch, const float *beta,
                              float *c, int ldc, long long c_batch, int batch)
{
    struct softblas_job job = {.a = matrix(a, transa, lda, a_batch, 0),
                               .b = matrix(b, transb, ldb, b_batch, 0),
                               .d = matrix(c, 0, ldc, c_batch, 0),
                               .m = m,
                               .n = n,
                               .k = k};
    return run(handle, &job, alpha, beta, batch);
}

/* f16 or f32 inputs, factors in f32. */
int cublasGemmStridedBatchedEx(void *handle, int transa, int transb, int m, int n, int k,
                               const void *alpha, const void *a, int a_type, int lda,
                               long long a_batch, const void *b, int b_type, int ldb,
                               long long b_batch, const void *beta, void *c, int c_type, int ldc,
                               long long c_batch, int batch, int compute, int algorithm)
{
    struct softblas_job job = {.a = matrix(a, transa, lda, a_batch, 0),
                               .b = matrix(b, transb, ldb, b_batch, 0),
                               .d = matrix(c, 0, ldc, c_batch, 0),
                               .m = m,
                               .n = n,
                               .k = k};
    (void)compute, (void)algorithm;
    job.a.type = a_type;
    job.b.type = b_type;
    job.d.type = c_type;
    return run(handle, &job, alpha, beta, batch);
}

/* By lists of addresses. */
int cublasGemmBatchedEx(void *handle, int transa, int transb, int m, int n, int k,
                        const void *alpha, const void *const *a, int a_type, int lda,
                        const void *const *b, int b_type, int ldb, const void *beta, void *const *c,
                        int c_type, int ldc, int batch, int compute, int algorithm)
{
    struct softblas_job job = {.a = matrix(a, transa, lda, 0, 1),
                               .b = matrix(b, transb, ldb, 0, 1),
                               .d = matrix(c, 0, ldc, 0, 1),
                               .m = m,
                               .n = n,
                               .k = k};
    (void)compute, (void)algorithm;
    job.a.type = a_type;
    job.b.type = b_type;
    job.d.type = c_type;
    return run(handle, &job, alpha, beta, batch);
}

int cublasSgemmBatched(void *handle, int transa, int transb, int m, int n, int k,
                       const float *alpha, const float *const *a, int lda, const float *const *b,
                       int ldb, const float *beta, float *const *c, int ldc, int batch)
{
    struct softblas_job job = {.a = matrix(a, transa, lda, 0, 1),
                               .b = matrix(b, transb, ldb, 0, 1),
                               .d = matrix(c, 0, ldc, 0, 1),
                               .m = m,
                               .n = n,
                               .k = k};
    return run(handle, &job, alpha, beta, batch);
}

int cublasSgemmGroupedBatched(void *handle, const int *transa, const int *transb, const int *m,
                              const int *n, const int *k, const float *alpha, const float *const *a,
                              const int *lda, const float *const *b, const int *ldb,
                              const float *beta, float *const *c, const int *ldc, int groups,
                              const int *size)
{
    enum { INVALID_VALUE = 7 };
    int status = size ? 0 : INVALID_VALUE;
    for (int g = 0, first = 0; g < groups && !status; first += size[g++])
        status =
            cublasSgemmBatched(handle, transa[g], transb[g], m[g], n[g], k[g], &alpha[g], a + first,
                               lda[g], b + first, ldb[g], &beta[g], c + first, ldc[g], size[g]);
    return status;
}

int cublasSgemvStridedBatched(void *handle, int trans, int m, int n, const float *alpha,
                              const float *a, int lda, long long a_batch, const float *x, int incx,
                              long long x_batch, const float *beta, float *y, int incy,
                              long long y_batch, int batch)
{
    struct softblas_job job = {.a = matrix(a, trans, lda, a_batch, 0),
                               .b = matrix(x, 0, 0, x_batch, 0),
                               .d = matrix(y, 0, 0, y_batch, 0),
                               .m = trans ? n : m,
                               .n = 1,
                               .k = trans ? m : n};
    job.b.row = incx;
    job.d.row = incy;
    return run(handle, &job, alpha, beta, batch);
}

int cublasSgemv_v2(void *handle, int trans, int m, int n, const float *alpha, const float *a,
                   int lda, const float *x, int incx, const float *beta, float *y, int incy)
{
    return cublasSgemvStridedBatched(handle, trans, m, n, alpha, a, lda, 0, x, incx, 0, beta, y,
                                     incy, 0, 1);
}
