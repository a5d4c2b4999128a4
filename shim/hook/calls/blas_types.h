/*
 * blas_types.h - the few numbers of cuBLAS's and cuBLASLt's interface that the wrappers read. The
 * libraries are never linked and their headers never included: the numbers are part of their binary
 * interface, the same in all versions from 11 on.
 */
#ifndef HOOK_CALLS_BLAS_TYPES_H
#define HOOK_CALLS_BLAS_TYPES_H

#include <stdint.h>

typedef int blas_status; /* cublasStatus_t */
enum { BLAS_SUCCESS = 0, BLAS_NOT_SUPPORTED = 15 };

enum { BLAS_OP_N = 0 }; /* cublasOperation_t; all others transpose real matrices */

enum { BLAS_POINTER_HOST = 0, BLAS_POINTER_DEVICE = 1 };

/* cublasMath_t: a mode, and a flag beside it. */
enum {
    BLAS_MATH_DEFAULT = 0,
    BLAS_MATH_TENSOR_OP = 1,
    BLAS_MATH_PEDANTIC = 2,
    BLAS_MATH_TF32 = 3,
    BLAS_MATH_MODE = 15,
    BLAS_MATH_NO_REDUCED = 16, /* sums stay in the compute type */
};

/* cudaDataType */
enum {
    BLAS_R_32F = 0,
    BLAS_R_64F = 1,
    BLAS_R_16F = 2,
    BLAS_R_8I = 3,
    BLAS_R_32I = 10,
    BLAS_R_16BF = 14,
    BLAS_R_8F_E4M3 = 28,
    BLAS_R_8F_E5M2 = 29,
};

/* cublasComputeType_t */
enum {
    BLAS_COMPUTE_16F = 64,
    BLAS_COMPUTE_16F_PEDANTIC = 65,
    BLAS_COMPUTE_32F = 68,
    BLAS_COMPUTE_32F_PEDANTIC = 69,
    BLAS_COMPUTE_64F = 70,
    BLAS_COMPUTE_64F_PEDANTIC = 71,
    BLAS_COMPUTE_32I = 72,
    BLAS_COMPUTE_32I_PEDANTIC = 73,
    BLAS_COMPUTE_32F_FAST_16F = 74,
    BLAS_COMPUTE_32F_FAST_16BF = 75,
    BLAS_COMPUTE_32F_FAST_TF32 = 77,
};

/* cublasLtMatmulDescAttributes_t */
enum {
    LT_COMPUTE_TYPE = 0,
    LT_SCALE_TYPE = 1,
    LT_POINTER_MODE = 2,
    LT_TRANSA = 3,
    LT_TRANSB = 4,
    LT_TRANSC = 5,
    LT_FILL_MODE = 6,
    LT_EPILOGUE = 7,
    LT_BIAS_POINTER = 8,
    LT_BIAS_BATCH_STRIDE = 10,
    LT_AUX_POINTER = 11,
    LT_AUX_LD = 12,
    LT_AUX_BATCH_STRIDE = 13,
    LT_A_SCALE_POINTER = 17,
    LT_B_SCALE_POINTER = 18,
    LT_C_SCALE_POINTER = 19,
    LT_D_SCALE_POINTER = 20,
    LT_AMAX_D_POINTER = 21,
    LT_AUX_TYPE = 22,
    LT_AUX_SCALE_POINTER = 23,
    LT_AUX_AMAX_POINTER = 24,
    LT_FAST_ACCUM = 25,
    LT_BIAS_TYPE = 26,
    LT_A_SCALE_MODE = 31,
    LT_B_SCALE_MODE = 32,
    LT_D_OUT_SCALE_POINTER = 36,
};

/* cublasLtMatmulMatrixScale_t */
enum {
    LT_SCALE_ONE = 0,
    LT_SCALE_VEC16 = 1, /* for each 16 or 32 elements along k, in an order of tiles */
    LT_SCALE_VEC32 = 2,
    LT_SCALE_OUTER = 3,  /* for each row of op(A), each column of op(B) */
    LT_SCALE_VEC128 = 4, /* for each 128 elements along k */
    LT_SCALE_BLOCK = 5,  /* for each 128 x 128 elements */
};

/* cublasLtMatmulAlgoConfigAttributes_t, and cublasLtReductionScheme_t's bits for parts of sums
 * that are kept in the type of the output: in the output itself, or beside it. */
enum { LT_ALGORITHM_REDUCTION = 3, LT_REDUCTION_IN_PLACE = 1, LT_REDUCTION_OUTPUT_TYPE = 4 };

/* cublasLtMatrixLayoutAttribute_t */
enum {
    LT_LAYOUT_TYPE = 0,
    LT_LAYOUT_ORDER = 1,
    LT_LAYOUT_ROWS = 2,
    LT_LAYOUT_COLS = 3,
    LT_LAYOUT_LD = 4,
    LT_LAYOUT_BATCH_COUNT = 5,
    LT_LAYOUT_BATCH_OFFSET = 6,
    LT_LAYOUT_BATCH_MODE = 8,
};

enum { LT_FILL_FULL = 2 }; /* cublasFillMode_t: all of C is written */

enum { LT_ORDER_COL = 0, LT_ORDER_ROW = 1 };

/* The bits of an epilogue that a product's words have under the same names (call/product.h). */
#define LT_EPILOGUE_LIST(EPILOGUE)                                                                 \
    EPILOGUE(RELU)                                                                                 \
    EPILOGUE(BIAS)                                                                                 \
    EPILOGUE(DRELU)                                                                                \
    EPILOGUE(BGRAD)                                                                                \
    EPILOGUE(GELU)                                                                                 \
    EPILOGUE(DGELU)                                                                                \
    EPILOGUE(AUX)                                                                                  \
    EPILOGUE(BGRADA)                                                                               \
    EPILOGUE(BGRADB)

/* cublasLtEpilogue_t: bits, but for the first. */
enum {
    LT_EPILOGUE_DEFAULT = 1,
    LT_EPILOGUE_RELU = 2,
    LT_EPILOGUE_BIAS = 4,
    LT_EPILOGUE_DRELU = 8,
    LT_EPILOGUE_BGRAD = 16,
    LT_EPILOGUE_GELU = 32,
    LT_EPILOGUE_DGELU = 64,
    LT_EPILOGUE_AUX = 128,
    LT_EPILOGUE_BGRADA = 256,
    LT_EPILOGUE_BGRADB = 512,
    LT_EPILOGUE_WITH_BIAS = LT_EPILOGUE_BIAS | LT_EPILOGUE_BGRAD | LT_EPILOGUE_BGRADA |
                            LT_EPILOGUE_BGRADB, /* they use the bias pointer */
};

#endif
