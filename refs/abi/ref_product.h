/*
 * ref_product.h - the projection of a whole product of matrices, after Freivalds (1977): its input
 * and its answer, plain data for C and CUDA. The arithmetic is in ref_project.h.
 *
 * The output of a reference with `product c = alpha a b + bias` (shim/lang/formals.h) is linear in
 * the product. Then with any vector r
 *
 *     c r = alpha a (b r) + bias r
 *
 * and both sides cost three passes over memory, where the product itself costs k of them. r holds a
 * random sign for each column, drawn from `seed`, so in row i the two sides differ by
 * d_i = sum_j r_j e_ij, e_ij being what element (i, j) is off by.
 *
 * The bound of a row. Let b_ij be the margin of an element: |e_ij| <= b_ij wherever a kernel is
 * right. The signs do not depend on the data, so for given errors d_i is a sum of
 * independent terms of mean 0 with |r_j e_ij| <= b_ij, and by Hoeffding's inequality (1963)
 *
 *     P(|d_i| > t sqrt(sum_j b_ij^2)) <= 2 exp(-t^2 / 2).
 *
 * `odds` is the t that makes this 1e-9 for all rows of a launch together: so many right launches
 * are called wrong by a projection, whatever their values are and however their errors hang
 * together. (Also where they all have one sign, as those of tensor cores have that truncate: it is
 * the signs r_j that are random, independent of the errors.) The margin is that of the
 * element-wise check (ref_value.h), of an element c, rounded to nearest from a sum over k terms
 * with S_ij = sum_l |a_il b_lj|:
 *
 *     b_ij = 1/2 ulp(c_ij) + absolute + relative |c_ij| + of_added |added_ij| + of_sum S_ij.
 *
 * S would cost as much as the product. But the rows of S are sums of rows of |b|, and lengths obey
 * the triangle inequality: with beta_l = sqrt(sum_j b_lj^2)
 *
 *     sqrt(sum_j S_ij^2) <= sum_l |a_il| beta_l
 *
 * which two of the passes bring along. On data of one kind the two sides differ by a few tens of
 * per cent. What is added up here is fp64 and off by at most (terms) 2^-53 of the magnitudes:
 * `own` |c_ij| in each margin, and `own_sum` beside the square root.
 *
 * So a row whose errors are e is seen where |sum_j r_j e_j|, which is about sqrt(sum_j e_j^2), is
 * over some seven times the length of its margins: a tile that was not written, or with the wrong
 * values; a block of k that is missing; rows that changed places. Not seen are single elements that
 * are off by little, and errors of an accumulator, which disappear among n roundings: those are the
 * element-wise check's.
 *
 * Inf or NaN in a row of c is a violation where all inputs of the row are finite and everything
 * that is added up in it is below `limit`, so that no right kernel overflows. Other rows with Inf
 * or NaN in them, rows with elements at the end of what their dtype holds, or with magnitudes whose
 * squares overflow are left to the element-wise check; so is the whole launch where b holds Inf or
 * NaN.
 */
#ifndef REFS_REF_PRODUCT_H
#define REFS_REF_PRODUCT_H

#include "ref_abi.h"

/* As many as there are columns of these squares of margins add up to a finite number. */
#define REF_PRODUCT_SQUARE 0x1p1002

enum {
    REF_PRODUCT_ADDENDS = 2,
    REF_PRODUCT_VECTORS = 6,      /* of doubles: two of batch * k, then four of batch * m */
    REF_PRODUCT_COLUMNS = 196608, /* n, at most: their signs lie in a block's shared memory */
};

/* Element (s, i, j) of a batch of matrices lies s * stride[0] + i * stride[1] + j * stride[2]
 * elements behind `data`. A stride of 0: the same for all of them. */
struct ref_matrix {
    const void *data;
    int64_t stride[3];
    uint32_t dtype; /* enum dtype, no block format */
    uint32_t reserved;
};

/* What the elements of a matrix are multiplied by: (i, j) by element (i / rows, j / cols) of
 * `data`; NULL: by 1. */
struct ref_scales {
    const float *data;
    int64_t stride[2];
    uint32_t rows, cols; /* that share one, at least 1 */
};

/* c = times (alpha a b + sum of scale added + before c), a of m x k, b of k x n, `batch` times, the
 * elements of a and b multiplied by their scales. Where `before` is not 0, c before the launch is
 * projected then, by a pass of its own. */
struct ref_product {
    struct ref_matrix a, b, c, added[REF_PRODUCT_ADDENDS];
    struct ref_scales a_scales, b_scales;
    const float *times; /* one element; NULL: 1 */
    int64_t part;       /* b of matrix s begins with column s * part of what b_scales counts */
    double alpha, scale[REF_PRODUCT_ADDENDS], before;
    int64_t batch, m, n, k;
    uint64_t seed;
    uint32_t addends, reserved;
    /* The margin of an element, see above. */
    double half_ulp; /* over the power of two at or below |c|, or `least` */
    double least, largest;
    double absolute, relative, of_added, of_sum;
    double of_times; /* a part of the margin that is multiplied by |times|, where that is over 1 */
    double own, own_sum;
    double floor; /* of beta: squares below the smallest number are lost */
    double odds;
    double limit; /* of what is added up in a row: below it no right kernel overflows */
};

/* What came out. Rows are counted through the batch: s * m + i. */
struct ref_product_answer {
    uint64_t left;        /* rows without a verdict */
    uint64_t violations;  /* rows outside their bound */
    uint64_t first, last; /* of those */
    uint64_t worst;       /* of those: the bits of how many times its bound, f32, << 32 | the row;
                             Inf times: an element is Inf or NaN */
    uint64_t done;        /* rows that were projected, all of the above included */
};

/*
 * How many of `size` elements share one of `count` scales: one scale, or one for each element, or
 * blocks of `group`, the last one shorter; 0: as many as divide the dim evenly.
 */
#define REF_SCALE_GROUP(size, count, group)                                                        \
    ((count) <= 0 || (size) <= (count) ? 1                                                         \
     : (count) > 1 && (group) > 0      ? (group)                                                   \
                                       : ((size)-1) / (count) + 1)

#ifdef __cplusplus
extern "C" {
#endif

/* The same on the host, over host memory, for tests; the first before the launch, where `before` is
 * not 0. `vectors` has room for all of them. */
void ref_product_host_before(const struct ref_product *product, double *vectors);
void ref_product_host(const struct ref_product *product, double *vectors,
                      struct ref_product_answer *answer);

#ifdef __cplusplus
}
#endif
#endif
