/* lt.h - what the stand-ins of libcublas and libcublasLt export, for each other and for programs.
 */
#ifndef SOFTBLAS_LT_H
#define SOFTBLAS_LT_H

#include <stddef.h>
#include <stdint.h>
#include "job.h"

#define SOFTBLAS_API __attribute__((visibility("default")))

enum { SOFTBLAS_INVALID = 7, SOFTBLAS_FAILED = 13, SOFTBLAS_NOT_SUPPORTED = 15 };

/* The two launches of a product. */
SOFTBLAS_API int softblas_run(struct softblas_job *job, unsigned batch, void *stream);

SOFTBLAS_API int cublasLtCreate(void **handle);
SOFTBLAS_API int cublasLtDestroy(void *handle);
SOFTBLAS_API int cublasLtMatmulDescCreate(void **desc, int compute, int scale);
SOFTBLAS_API int cublasLtMatmulDescDestroy(void *desc);
SOFTBLAS_API int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *in,
                                                size_t size);
SOFTBLAS_API int cublasLtMatmulDescGetAttribute(const void *desc, int attribute, void *out,
                                                size_t size, size_t *written);
SOFTBLAS_API int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols,
                                            int64_t ld);
SOFTBLAS_API int cublasLtMatrixLayoutDestroy(void *layout);
SOFTBLAS_API int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *in,
                                                  size_t size);
SOFTBLAS_API int cublasLtMatrixLayoutGetAttribute(const void *layout, int attribute, void *out,
                                                  size_t size, size_t *written);
/* An algorithm is an int here: the way in which parts of sums are added up. */
SOFTBLAS_API int cublasLtMatmulAlgoConfigGetAttribute(const void *algorithm, int attribute,
                                                      void *out, size_t size, size_t *written);
SOFTBLAS_API int cublasLtMatmul(void *handle, const void *desc, const void *alpha, const void *a,
                                const void *a_layout, const void *b, const void *b_layout,
                                const void *beta, const void *c, const void *c_layout, void *d,
                                const void *d_layout, const void *algorithm, void *workspace,
                                size_t workspace_bytes, void *stream);

/* libcublas.so.13 */
SOFTBLAS_API int cublasCreate_v2(void **handle);
SOFTBLAS_API int cublasDestroy_v2(void *handle);
SOFTBLAS_API int cublasSetStream_v2(void *handle, void *stream);
SOFTBLAS_API int cublasGetStream_v2(void *handle, void **stream);
SOFTBLAS_API int cublasSetPointerMode_v2(void *handle, int mode);
SOFTBLAS_API int cublasGetPointerMode_v2(void *handle, int *mode);
SOFTBLAS_API int cublasSetMathMode(void *handle, int mode);
SOFTBLAS_API int cublasGetMathMode(void *handle, int *mode);
SOFTBLAS_API int cublasGemmEx(void *handle, int transa, int transb, int m, int n, int k,
                              const void *alpha, const void *a, int a_type, int lda, const void *b,
                              int b_type, int ldb, const void *beta, void *c, int c_type, int ldc,
                              int compute, int algorithm);
SOFTBLAS_API int cublasSgemm_v2(void *handle, int transa, int transb, int m, int n, int k,
                                const float *alpha, const float *a, int lda, const float *b,
                                int ldb, const float *beta, float *c, int ldc);
SOFTBLAS_API int cublasSgemmStridedBatched(void *handle, int transa, int transb, int m, int n,
                                           int k, const float *alpha, const float *a, int lda,
                                           long long a_batch, const float *b, int ldb,
                                           long long b_batch, const float *beta, float *c, int ldc,
                                           long long c_batch, int batch);
SOFTBLAS_API int cublasGemmStridedBatchedEx(void *handle, int transa, int transb, int m, int n,
                                            int k, const void *alpha, const void *a, int a_type,
                                            int lda, long long a_batch, const void *b, int b_type,
                                            int ldb, long long b_batch, const void *beta, void *c,
                                            int c_type, int ldc, long long c_batch, int batch,
                                            int compute, int algorithm);
SOFTBLAS_API int cublasGemmBatchedEx(void *handle, int transa, int transb, int m, int n, int k,
                                     const void *alpha, const void *const *a, int a_type, int lda,
                                     const void *const *b, int b_type, int ldb, const void *beta,
                                     void *const *c, int c_type, int ldc, int batch, int compute,
                                     int algorithm);
SOFTBLAS_API int cublasSgemmBatched(void *handle, int transa, int transb, int m, int n, int k,
                                    const float *alpha, const float *const *a, int lda,
                                    const float *const *b, int ldb, const float *beta,
                                    float *const *c, int ldc, int batch);
SOFTBLAS_API int cublasSgemmGroupedBatched(void *handle, const int *transa, const int *transb,
                                           const int *m, const int *n, const int *k,
                                           const float *alpha, const float *const *a,
                                           const int *lda, const float *const *b, const int *ldb,
                                           const float *beta, float *const *c, const int *ldc,
                                           int groups, const int *size);
SOFTBLAS_API int cublasSgemvStridedBatched(void *handle, int trans, int m, int n,
                                           const float *alpha, const float *a, int lda,
                                           long long a_batch, const float *x, int incx,
                                           long long x_batch, const float *beta, float *y, int incy,
                                           long long y_batch, int batch);
SOFTBLAS_API int cublasSgemv_v2(void *handle, int trans, int m, int n, const float *alpha,
                                const float *a, int lda, const float *x, int incx,
                                const float *beta, float *y, int incy);

#endif
