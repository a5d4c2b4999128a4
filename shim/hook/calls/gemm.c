#include "hook/calls/gemm.h"

#include "core/core.h"
#include "driver/cuda_api.h"
#include "lang/dtype.h"

uint8_t blas_dtype(int type)
{
    switch (type) {
    case BLAS_R_64F:
        return DTYPE_F64;
    case BLAS_R_32F:
        return DTYPE_F32;
    case BLAS_R_16F:
        return DTYPE_F16;
    case BLAS_R_16BF:
        return DTYPE_BF16;
    case BLAS_R_8F_E4M3:
        return DTYPE_F8E4M3;
    case BLAS_R_8F_E5M2:
        return DTYPE_F8E5M2;
    case BLAS_R_8I:
        return DTYPE_I8;
    case BLAS_R_32I:
        return DTYPE_I32;
    default:
        return DTYPE_NONE;
    }
}

enum accumulation blas_accumulation(int compute, uint8_t *scale)
{
    *scale = DTYPE_F32;
    switch (compute) {
    case BLAS_COMPUTE_16F:
    case BLAS_COMPUTE_16F_PEDANTIC:
    case BLAS_R_16F:
        *scale = DTYPE_F16;
        return ACCUMULATION_F16;
    case BLAS_COMPUTE_32F:
    case BLAS_COMPUTE_32F_PEDANTIC:
    case BLAS_R_32F:
        return ACCUMULATION_F32;
    case BLAS_COMPUTE_64F:
    case BLAS_COMPUTE_64F_PEDANTIC:
    case BLAS_R_64F:
        *scale = DTYPE_F64;
        return ACCUMULATION_F64;
    case BLAS_COMPUTE_32I:
    case BLAS_COMPUTE_32I_PEDANTIC:
    case BLAS_R_32I:
        *scale = DTYPE_I32;
        return ACCUMULATION_I32;
    case BLAS_COMPUTE_32F_FAST_16F:
        return ACCUMULATION_FAST_F16;
    case BLAS_COMPUTE_32F_FAST_16BF:
        return ACCUMULATION_FAST_BF16;
    case BLAS_COMPUTE_32F_FAST_TF32:
        return ACCUMULATION_TF32;
    default:
        return ACCUMULATION_OTHER;
    }
}

bool product_begin(struct call_frame *frame, const void *stream)
{
    const char *name = product_name(&frame->product);
    const void *context = name ? library_context() : NULL;
    if (!context)
        return false;
    product_params(&frame->product, frame->params);
    const struct launch call = {
        .symbol = name,
        .function = name,
        .context = context,
        .stream = stream ? stream : (const void *)CU_STREAM_LEGACY,
        .grid = {1, 1, 1}, /* a library call has no grid */
        .block = {1, 1, 1},
        .params = frame->params,
        .call = &product_layout,
    };
    return core_call_enter(&call);
}

/* How f32 inputs are multiplied and sums are kept, by the handle's math mode. */
static void apply_math_mode(struct product *product, int mode)
{
    bool narrow = product->c_type == DTYPE_F16 || product->c_type == DTYPE_BF16;
    if (product->accumulation != ACCUMULATION_F32)
        return;
    if (product->a_type == DTYPE_F32 && (mode & BLAS_MATH_MODE) == BLAS_MATH_TF32)
        product->accumulation = ACCUMULATION_TF32;
    if (product->a_type == DTYPE_F32 && (mode & BLAS_MATH_MODE) == BLAS_MATH_TENSOR_OP)
        product->accumulation = ACCUMULATION_FAST_F16;
    if (narrow && (mode & BLAS_MATH_MODE) != BLAS_MATH_PEDANTIC && !(mode & BLAS_MATH_NO_REDUCED))
        product->words |= PRODUCT_REDUCED;
}

/* alpha and beta; with beta, c is read as well. */
static void set_gemm_factors(struct product *product, int pointer_mode, uint8_t scale,
                             const void *alpha, const void *beta)
{
    struct product_arguments *out = &product->arguments;
    if (pointer_mode != BLAS_POINTER_HOST) {
        product->words |= PRODUCT_DEVICE | PRODUCT_BETA;
        out->alpha_at = (uint64_t)(uintptr_t)alpha;
        out->beta_at = (uint64_t)(uintptr_t)beta;
        return;
    }
    out->alpha = dtype_load((enum dtype)scale, alpha);
    out->beta = dtype_load((enum dtype)scale, beta);
    if (out->beta != 0)
        product->words |= PRODUCT_BETA;
}

/* Reads the handle's stream and settings. False: a query fails, or alpha or beta is missing. */
static bool set_by_handle(struct product *product, const struct library *library, void *handle,
                          uint8_t scale, const void *alpha, const void *beta, void **stream)
{
    const struct library_queries *query = &library->query;
    int pointer_mode = BLAS_POINTER_HOST, math_mode = BLAS_MATH_DEFAULT;
    if (!query->get_stream || !query->get_pointer_mode || query->get_stream(handle, stream) ||
        query->get_pointer_mode(handle, &pointer_mode))
        return false;
    if (query->get_math_mode && query->get_math_mode(handle, &math_mode))
        return false;
    if (pointer_mode == BLAS_POINTER_HOST && (!alpha || !beta))
        return false;
    product->arguments.math_mode = math_mode;
    product->arguments.version = library->version;
    apply_math_mode(product, math_mode);
    set_gemm_factors(product, pointer_mode, scale, alpha, beta);
    return true;
}

/* Column by column, as cuBLAS has all matrices; transposed, row by row. */
static struct product_matrix gemm_matrix(const void *data, int type, int trans, int64_t ld,
                                         int64_t batch)
{
    bool as_it_is = trans == BLAS_OP_N;
    return (struct product_matrix){data, blas_dtype(type), as_it_is ? 1 : ld, as_it_is ? ld : 1,
                                   batch};
}

bool gemm_begin(struct call_frame *frame, const struct library *library, void *handle,
                const struct gemm *gemm)
{
    uint8_t scale;
    void *stream = NULL;
    struct product *product = &frame->product;
    struct product_matrix a =
        gemm_matrix(gemm->a, gemm->a_type, gemm->transa, gemm->lda, gemm->a_batch);
    struct product_matrix b =
        gemm_matrix(gemm->b, gemm->b_type, gemm->transb, gemm->ldb, gemm->b_batch);
    struct product_matrix c =
        gemm_matrix(gemm->c, gemm->c_type, BLAS_OP_N, gemm->ldc, gemm->c_batch);
    product_set(product, &a, &b, &c, gemm->m, gemm->n, gemm->k, true);
    product->arguments.batch = gemm->batch;
    product->arguments.compute = gemm->compute;
    product->arguments.how = PRODUCT_HOW_KNOWN | PRODUCT_TURNED |
                             (gemm->transa == BLAS_OP_N ? 0 : PRODUCT_TRANS_A) |
                             (gemm->transb == BLAS_OP_N ? 0 : PRODUCT_TRANS_B);
    product->accumulation = (uint8_t)blas_accumulation(gemm->compute, &scale);
    product->words = gemm->list ? PRODUCT_LIST : gemm->batch != 1 ? PRODUCT_BATCH : 0;
    return set_by_handle(product, library, handle, scale, gemm->alpha, gemm->beta, &stream) &&
           product_begin(frame, stream);
}

/* A product with a matrix of one column. */
bool gemv_begin(struct call_frame *frame, const struct library *library, void *handle,
                const struct gemv *gemv)
{
    void *stream = NULL;
    bool as_it_is = gemv->trans == BLAS_OP_N, wide = gemv->type == BLAS_R_64F;
    int64_t rows = as_it_is ? gemv->m : gemv->n, sum = as_it_is ? gemv->n : gemv->m;
    struct product *product = &frame->product;
    struct product_matrix a =
        gemm_matrix(gemv->a, gemv->type, gemv->trans, gemv->lda, gemv->a_batch);
    struct product_matrix x = {gemv->x, blas_dtype(gemv->type), gemv->incx, 1, gemv->x_batch};
    struct product_matrix y = {gemv->y, blas_dtype(gemv->y_type), gemv->incy, 1, gemv->y_batch};
    product_set(product, &a, &x, &y, rows, 1, sum, false);
    product->arguments.batch = gemv->batch;
    product->arguments.how = PRODUCT_HOW_KNOWN | (as_it_is ? 0 : PRODUCT_TRANS_A);
    product->accumulation = (uint8_t)(wide ? ACCUMULATION_F64 : ACCUMULATION_F32);
    product->words = gemv->list ? PRODUCT_LIST : gemv->batch != 1 ? PRODUCT_BATCH : 0;
    if (gemv->incx < 1 || gemv->incy < 1)
        product->words |= PRODUCT_OTHER; /* vectors from their ends on */
    return set_by_handle(product, library, handle, wide ? DTYPE_F64 : DTYPE_F32, gemv->alpha,
                         gemv->beta, &stream) &&
           product_begin(frame, stream);
}
