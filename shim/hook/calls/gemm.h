/* gemm.h - what the wrappers of cuBLAS's products have in common: arguments into struct product. */
#ifndef HOOK_CALLS_GEMM_H
#define HOOK_CALLS_GEMM_H

#include <stdbool.h>
#include <stdint.h>
#include "call/product.h"
#include "hook/calls/library.h"

/* What lives in the wrapper's frame while the real function runs. */
struct call_frame {
    struct product product;
    void *params[PRODUCT_ARGUMENTS];
};

/* The arguments of any of cuBLAS's products, under its own names; types as cudaDataType. */
struct gemm {
    int transa, transb;
    int64_t m, n, k;
    const void *alpha, *beta;
    const void *a, *b, *c;
    int a_type, b_type, c_type;
    int64_t lda, ldb, ldc;
    int64_t a_batch, b_batch, c_batch, batch;
    int compute; /* cublasComputeType_t, or the cudaDataType that CUDA 10 had there */
    bool list;   /* a, b and c are lists of addresses */
};

/* y = alpha op(a) x + beta y, as cuBLAS has it. */
struct gemv {
    int trans, type, y_type;
    int64_t m, n;
    const void *alpha, *beta, *a, *x, *y;
    int64_t lda, incx, incy;
    int64_t a_batch, x_batch, y_batch, batch;
    bool list; /* a, x and y are lists of addresses */
};

/* Right before the real function. Whether the call is seen: then core_call_exit follows it. */
bool gemm_begin(struct call_frame *frame, const struct library *library, void *handle,
                const struct gemm *gemm);
bool gemv_begin(struct call_frame *frame, const struct library *library, void *handle,
                const struct gemv *gemv);

/* cudaDataType as enum dtype; DTYPE_NONE where cuvet has no such type. */
uint8_t blas_dtype(int type);

/* The accumulation of a compute type, and in *scale the dtype of alpha and beta. */
enum accumulation blas_accumulation(int compute, uint8_t *scale);

/* Hands the frame's product to the core; `stream` is the library's. */
bool product_begin(struct call_frame *frame, const void *stream);

#endif
