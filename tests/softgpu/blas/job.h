/* job.h - the parameters of the stand-in's product: d = alpha a b + beta c. */
#ifndef SOFTBLAS_JOB_H
#define SOFTBLAS_JOB_H

struct softblas_matrix {
    unsigned long long address; /* of the first element, or of a list of addresses */
    long long row, col, batch;
    int type; /* cudaDataType: 0 f32, 1 f64, 2 f16, 28 f8 with 4 bits of exponent */
    int list;
};

enum {
    SOFTBLAS_RELU = 2,
    SOFTBLAS_BIAS = 4,
    SOFTBLAS_DRELU = 8,
    SOFTBLAS_BGRAD = 16,
    SOFTBLAS_GELU = 32,
    SOFTBLAS_DGELU = 64,
    SOFTBLAS_AUX = 128,
    SOFTBLAS_BGRADA = 256,
    SOFTBLAS_BGRADB = 512,
    SOFTBLAS_SUMS = SOFTBLAS_BGRAD | SOFTBLAS_BGRADA | SOFTBLAS_BGRADB,
};

/* Numbers that an input's elements are multiplied by, f32: one for `outer` rows or columns and
 * `inner` elements of the sum. */
struct softblas_scales {
    unsigned long long address; /* 0: none */
    long long outer, inner, outer_step, inner_step;
};

struct softblas_job {
    struct softblas_matrix a, b, c, d;
    struct softblas_scales a_scale, b_scale;
    unsigned long long alpha_at, beta_at; /* 0: the numbers below */
    double alpha, beta;
    unsigned long long bias; /* a number for each row of d; or the sums of d, a or b, f32 */
    unsigned long long aux;  /* what gelu is taken of, as d lies; or a bit for each element of d */
    long long m, n, k, terms;
    long long aux_ld; /* bits from a column to the next */
    int epilogue, adds;
    int hole;   /* 8 elements of the column in the middle are not written */
    int parts;  /* the sums of both halves of k are f16 numbers, and so is the sum of them */
    int rounds; /* the product is an f16 before c is added */
    int lacks;  /* sums lack their last term, and no bit is set */
};

#endif
