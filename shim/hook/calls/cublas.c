/* cublas.c - the wrappers of libcublas's products, in families of equal parameter lists. */
#include <string.h>

#include "hook/calls/gemm.h"
#include "hook/calls/wrap.h"
#include "lang/dtype.h"

#define SEEN(...) gemm_begin(&frame, library, handle, &(struct gemm){__VA_ARGS__})
#define SHAPE     .transa = transa, .transb = transb, .m = m, .n = n, .k = k
#define FACTORS   .alpha = alpha, .beta = beta
#define MATRICES  .a = a, .b = b, .c = c, .lda = lda, .ldb = ldb, .ldc = ldc
#define TYPES     .a_type = a_type, .b_type = b_type, .c_type = c_type
#define ALL_OF(t) .a_type = (t), .b_type = (t), .c_type = (t)
#define DISTANCES .a_batch = a_batch, .b_batch = b_batch, .c_batch = c_batch, .batch = batch

#define GEMM_EX(NAME, INT)                                                                         \
    WRAP(NAME,                                                                                     \
         (void *handle, int transa, int transb, INT m, INT n, INT k, const void *alpha,            \
          const void *a, int a_type, INT lda, const void *b, int b_type, INT ldb,                  \
          const void *beta, void *c, int c_type, INT ldc, int compute, int algorithm),             \
         (handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, \
          ldc, compute, algorithm),                                                                \
         SEEN(SHAPE, FACTORS, MATRICES, TYPES, .batch = 1, .compute = compute))
GEMM_EX(cublasGemmEx, int)
GEMM_EX(cublasGemmEx_64, int64_t)

#define SGEMM_EX(NAME, INT)                                                                        \
    WRAP(NAME,                                                                                     \
         (void *handle, int transa, int transb, INT m, INT n, INT k, const float *alpha,           \
          const void *a, int a_type, INT lda, const void *b, int b_type, INT ldb,                  \
          const float *beta, void *c, int c_type, INT ldc),                                        \
         (handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, \
          ldc),                                                                                    \
         SEEN(SHAPE, FACTORS, MATRICES, TYPES, .batch = 1, .compute = BLAS_COMPUTE_32F))
SGEMM_EX(cublasSgemmEx, int)
SGEMM_EX(cublasSgemmEx_64, int64_t)

#define GEMM(NAME, INT, T, type, COMPUTE)                                                          \
    WRAP(NAME,                                                                                     \
         (void *handle, int transa, int transb, INT m, INT n, INT k, const T *alpha, const T *a,   \
          INT lda, const T *b, INT ldb, const T *beta, T *c, INT ldc),                             \
         (handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc),                   \
         SEEN(SHAPE, FACTORS, MATRICES, ALL_OF(type), .batch = 1, .compute = COMPUTE))
GEMM(cublasHgemm, int, void, BLAS_R_16F, BLAS_COMPUTE_16F)
GEMM(cublasHgemm_64, int64_t, void, BLAS_R_16F, BLAS_COMPUTE_16F)
GEMM(cublasSgemm_v2, int, float, BLAS_R_32F, BLAS_COMPUTE_32F)
GEMM(cublasSgemm_v2_64, int64_t, float, BLAS_R_32F, BLAS_COMPUTE_32F)
GEMM(cublasDgemm_v2, int, double, BLAS_R_64F, BLAS_COMPUTE_64F)
GEMM(cublasDgemm_v2_64, int64_t, double, BLAS_R_64F, BLAS_COMPUTE_64F)

#define GEMM_STRIDED_EX(NAME, INT)                                                                 \
    WRAP(NAME,                                                                                     \
         (void *handle, int transa, int transb, INT m, INT n, INT k, const void *alpha,            \
          const void *a, int a_type, INT lda, long long a_batch, const void *b, int b_type,        \
          INT ldb, long long b_batch, const void *beta, void *c, int c_type, INT ldc,              \
          long long c_batch, INT batch, int compute, int algorithm),                               \
         (handle, transa, transb, m, n, k, alpha, a, a_type, lda, a_batch, b, b_type, ldb,         \
          b_batch, beta, c, c_type, ldc, c_batch, batch, compute, algorithm),                      \
         SEEN(SHAPE, FACTORS, MATRICES, TYPES, DISTANCES, .compute = compute))
GEMM_STRIDED_EX(cublasGemmStridedBatchedEx, int)
GEMM_STRIDED_EX(cublasGemmStridedBatchedEx_64, int64_t)

#define GEMM_STRIDED(NAME, INT, T, type, COMPUTE)                                                  \
    WRAP(NAME,                                                                                     \
         (void *handle, int transa, int transb, INT m, INT n, INT k, const T *alpha, const T *a,   \
          INT lda, long long a_batch, const T *b, INT ldb, long long b_batch, const T *beta, T *c, \
          INT ldc, long long c_batch, INT batch),                                                  \
         (handle, transa, transb, m, n, k, alpha, a, lda, a_batch, b, ldb, b_batch, beta, c, ldc,  \
          c_batch, batch),                                                                         \
         SEEN(SHAPE, FACTORS, MATRICES, ALL_OF(type), DISTANCES, .compute = COMPUTE))
GEMM_STRIDED(cublasHgemmStridedBatched, int, void, BLAS_R_16F, BLAS_COMPUTE_16F)
GEMM_STRIDED(cublasHgemmStridedBatched_64, int64_t, void, BLAS_R_16F, BLAS_COMPUTE_16F)
GEMM_STRIDED(cublasSgemmStridedBatched, int, float, BLAS_R_32F, BLAS_COMPUTE_32F)
GEMM_STRIDED(cublasSgemmStridedBatched_64, int64_t, float, BLAS_R_32F, BLAS_COMPUTE_32F)
GEMM_STRIDED(cublasDgemmStridedBatched, int, double, BLAS_R_64F, BLAS_COMPUTE_64F)
GEMM_STRIDED(cublasDgemmStridedBatched_64, int64_t, double, BLAS_R_64F, BLAS_COMPUTE_64F)

#define GEMM_LIST_EX(NAME, INT)                                                                    \
    WRAP(NAME,                                                                                     \
         (void *handle, int transa, int transb, INT m, INT n, INT k, const void *alpha,            \
          const void *const *a, int a_type, INT lda, const void *const *b, int b_type, INT ldb,    \
          const void *beta, void *const *c, int c_type, INT ldc, INT batch, int compute,           \
          int algorithm),                                                                          \
         (handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, \
          ldc, batch, compute, algorithm),                                                         \
         SEEN(SHAPE, FACTORS, MATRICES, TYPES, .batch = batch, .compute = compute, .list = true))
GEMM_LIST_EX(cublasGemmBatchedEx, int)
GEMM_LIST_EX(cublasGemmBatchedEx_64, int64_t)

#define GEMM_LIST(NAME, INT, T, type, COMPUTE)                                                     \
    WRAP(NAME,                                                                                     \
         (void *handle, int transa, int transb, INT m, INT n, INT k, const T *alpha,               \
          const T *const *a, INT lda, const T *const *b, INT ldb, const T *beta, T *const *c,      \
          INT ldc, INT batch),                                                                     \
         (handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch),            \
         SEEN(SHAPE, FACTORS, MATRICES, ALL_OF(type), .batch = batch, .compute = COMPUTE,          \
              .list = true))
GEMM_LIST(cublasHgemmBatched, int, void, BLAS_R_16F, BLAS_COMPUTE_16F)
GEMM_LIST(cublasHgemmBatched_64, int64_t, void, BLAS_R_16F, BLAS_COMPUTE_16F)
GEMM_LIST(cublasSgemmBatched, int, float, BLAS_R_32F, BLAS_COMPUTE_32F)
GEMM_LIST(cublasSgemmBatched_64, int64_t, float, BLAS_R_32F, BLAS_COMPUTE_32F)
GEMM_LIST(cublasDgemmBatched, int, double, BLAS_R_64F, BLAS_COMPUTE_64F)
GEMM_LIST(cublasDgemmBatched_64, int64_t, double, BLAS_R_64F, BLAS_COMPUTE_64F)

/* ---- a matrix and a vector ---- */

#define SEEN_GEMV(...)                                                                             \
    gemv_begin(&frame, library, handle,                                                            \
               &(struct gemv){.trans = trans,                                                      \
                              .m = m,                                                              \
                              .n = n,                                                              \
                              .alpha = alpha,                                                      \
                              .beta = beta,                                                        \
                              .a = a,                                                              \
                              .x = x,                                                              \
                              .y = y,                                                              \
                              .lda = lda,                                                          \
                              .incx = incx,                                                        \
                              .incy = incy,                                                        \
                              __VA_ARGS__})

#define GEMV(NAME, INT, T, TYPE)                                                                   \
    WRAP(NAME,                                                                                     \
         (void *handle, int trans, INT m, INT n, const T *alpha, const T *a, INT lda, const T *x,  \
          INT incx, const T *beta, T *y, INT incy),                                                \
         (handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy),                             \
         SEEN_GEMV(.type = TYPE, .y_type = TYPE, .batch = 1))
GEMV(cublasSgemv_v2, int, float, BLAS_R_32F)
GEMV(cublasSgemv_v2_64, int64_t, float, BLAS_R_32F)
GEMV(cublasDgemv_v2, int, double, BLAS_R_64F)
GEMV(cublasDgemv_v2_64, int64_t, double, BLAS_R_64F)

/* T: of alpha and beta. */
#define GEMV_STRIDED(NAME, INT, T, TYPE, Y_TYPE)                                                   \
    WRAP(NAME,                                                                                     \
         (void *handle, int trans, INT m, INT n, const T *alpha, const void *a, INT lda,           \
          long long a_batch, const void *x, INT incx, long long x_batch, const T *beta, void *y,   \
          INT incy, long long y_batch, INT batch),                                                 \
         (handle, trans, m, n, alpha, a, lda, a_batch, x, incx, x_batch, beta, y, incy, y_batch,   \
          batch),                                                                                  \
         SEEN_GEMV(.type = TYPE, .y_type = Y_TYPE, .a_batch = a_batch, .x_batch = x_batch,         \
                   .y_batch = y_batch, .batch = batch))
#define GEMV_LIST(NAME, INT, T, TYPE, Y_TYPE)                                                      \
    WRAP(NAME,                                                                                     \
         (void *handle, int trans, INT m, INT n, const T *alpha, const void *const *a, INT lda,    \
          const void *const *x, INT incx, const T *beta, void *const *y, INT incy, INT batch),     \
         (handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy, batch),                      \
         SEEN_GEMV(.type = TYPE, .y_type = Y_TYPE, .batch = batch, .list = true))
#define GEMV_SEVERAL(PREFIX, T, TYPE, Y_TYPE)                                                      \
    GEMV_STRIDED(PREFIX##gemvStridedBatched, int, T, TYPE, Y_TYPE)                                 \
    GEMV_STRIDED(PREFIX##gemvStridedBatched_64, int64_t, T, TYPE, Y_TYPE)                          \
    GEMV_LIST(PREFIX##gemvBatched, int, T, TYPE, Y_TYPE)                                           \
    GEMV_LIST(PREFIX##gemvBatched_64, int64_t, T, TYPE, Y_TYPE)
GEMV_SEVERAL(cublasS, float, BLAS_R_32F, BLAS_R_32F)
GEMV_SEVERAL(cublasD, double, BLAS_R_64F, BLAS_R_64F)
GEMV_SEVERAL(cublasHSH, float, BLAS_R_16F, BLAS_R_16F)
GEMV_SEVERAL(cublasHSS, float, BLAS_R_16F, BLAS_R_32F)
GEMV_SEVERAL(cublasTST, float, BLAS_R_16BF, BLAS_R_16BF)
GEMV_SEVERAL(cublasTSS, float, BLAS_R_16BF, BLAS_R_32F)

/* ---- groups of products, each group of one size; a call is seen as one of its groups ---- */

/* The arguments under cuBLAS's names. Sizes are on the host, addresses in device memory. */
struct grouped {
    const int *transa, *transb;
    const void *m, *n, *k, *lda, *ldb, *ldc, *size; /* of int, or of int64_t where `wide` */
    const void *alpha, *beta;                       /* a number for each group */
    const void *const *a, *const *b, *const *c;
    int a_type, b_type, c_type, compute;
    int64_t groups;
    bool wide;
};

static int64_t number_at(const struct grouped *grouped, const void *array, int64_t index)
{
    return grouped->wide ? ((const int64_t *)array)[index] : ((const int *)array)[index];
}

/* The library refuses a call without some of them. */
static bool is_complete(const struct grouped *grouped)
{
    const void *const arrays[] = {grouped->transa, grouped->transb, grouped->m,    grouped->n,
                                  grouped->k,      grouped->lda,    grouped->ldb,  grouped->ldc,
                                  grouped->size,   grouped->alpha,  grouped->beta, grouped->a,
                                  grouped->b,      grouped->c};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        if (!arrays[i])
            return false;
    }
    return grouped->groups > 0;
}

static bool grouped_begin(struct call_frame *frame, const struct library *library, void *handle,
                          const struct grouped *grouped)
{
    static __thread uint32_t turn;
    uint8_t scale;
    if (!is_complete(grouped))
        return false;
    int64_t group = turn++ % grouped->groups, first = 0;
    for (int64_t i = 0; i < group; i++)
        first += number_at(grouped, grouped->size, i);
    blas_accumulation(grouped->compute, &scale);
    size_t factor = (size_t)group * dtype_bytes((enum dtype)scale);
    return gemm_begin(frame, library, handle,
                      &(struct gemm){.transa = grouped->transa[group],
                                     .transb = grouped->transb[group],
                                     .m = number_at(grouped, grouped->m, group),
                                     .n = number_at(grouped, grouped->n, group),
                                     .k = number_at(grouped, grouped->k, group),
                                     .alpha = (const char *)grouped->alpha + factor,
                                     .beta = (const char *)grouped->beta + factor,
                                     .a = grouped->a + first,
                                     .b = grouped->b + first,
                                     .c = grouped->c + first,
                                     .a_type = grouped->a_type,
                                     .b_type = grouped->b_type,
                                     .c_type = grouped->c_type,
                                     .lda = number_at(grouped, grouped->lda, group),
                                     .ldb = number_at(grouped, grouped->ldb, group),
                                     .ldc = number_at(grouped, grouped->ldc, group),
                                     .batch = number_at(grouped, grouped->size, group),
                                     .compute = grouped->compute,
                                     .list = true});
}

#define SEEN_GROUPED(INT, A, B, C, COMPUTE)                                                        \
    grouped_begin(&frame, library, handle,                                                         \
                  &(struct grouped){.transa = transa,                                              \
                                    .transb = transb,                                              \
                                    .m = m,                                                        \
                                    .n = n,                                                        \
                                    .k = k,                                                        \
                                    .lda = lda,                                                    \
                                    .ldb = ldb,                                                    \
                                    .ldc = ldc,                                                    \
                                    .size = size,                                                  \
                                    .alpha = alpha,                                                \
                                    .beta = beta,                                                  \
                                    .a = (const void *const *)a,                                   \
                                    .b = (const void *const *)b,                                   \
                                    .c = (const void *const *)c,                                   \
                                    .a_type = A,                                                   \
                                    .b_type = B,                                                   \
                                    .c_type = C,                                                   \
                                    .compute = COMPUTE,                                            \
                                    .groups = groups,                                              \
                                    .wide = sizeof(INT) == sizeof(int64_t)})

#define GROUPED_EX(NAME, INT)                                                                      \
    WRAP(NAME,                                                                                     \
         (void *handle, const int *transa, const int *transb, const INT *m, const INT *n,          \
          const INT *k, const void *alpha, const void *const *a, int a_type, const INT *lda,       \
          const void *const *b, int b_type, const INT *ldb, const void *beta, void *const *c,      \
          int c_type, const INT *ldc, INT groups, const INT *size, int compute),                   \
         (handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, \
          ldc, groups, size, compute),                                                             \
         SEEN_GROUPED(INT, a_type, b_type, c_type, compute))
GROUPED_EX(cublasGemmGroupedBatchedEx, int)
GROUPED_EX(cublasGemmGroupedBatchedEx_64, int64_t)

#define GROUPED(NAME, INT, T, TYPE, COMPUTE)                                                       \
    WRAP(NAME,                                                                                     \
         (void *handle, const int *transa, const int *transb, const INT *m, const INT *n,          \
          const INT *k, const T *alpha, const T *const *a, const INT *lda, const T *const *b,      \
          const INT *ldb, const T *beta, T *const *c, const INT *ldc, INT groups,                  \
          const INT *size),                                                                        \
         (handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, groups, size),     \
         SEEN_GROUPED(INT, TYPE, TYPE, TYPE, COMPUTE))
GROUPED(cublasSgemmGroupedBatched, int, float, BLAS_R_32F, BLAS_COMPUTE_32F)
GROUPED(cublasSgemmGroupedBatched_64, int64_t, float, BLAS_R_32F, BLAS_COMPUTE_32F)
GROUPED(cublasDgemmGroupedBatched, int, double, BLAS_R_64F, BLAS_COMPUTE_64F)
GROUPED(cublasDgemmGroupedBatched_64, int64_t, double, BLAS_R_64F, BLAS_COMPUTE_64F)
