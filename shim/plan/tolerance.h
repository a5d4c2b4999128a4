/*
 * tolerance.h - the table of tolerances, by operation and dtype. Elements are held to them in
 * refs/dialect/ref_judge.h and ref_element.h.
 *
 *     tolerances:
 *       rmsnorm:
 *         f16, bf16: {rule: bound, accumulate: f32, reason: "..."}
 *         f32:       {rule: close, rtol: 1.3e-6, atol: 1e-5}
 *
 *
 * Rows that are added later win. Names of points and reasons stay in the document that they were
 * read from, which has to outlive the table. Filled while a registry is loaded, immutable
 * afterwards.
 */
#ifndef PLAN_TOLERANCE_H
#define PLAN_TOLERANCE_H

#include <stddef.h>
#include <stdio.h>
#include "base/arena.h"
#include "system/yaml_doc.h"
#include "value/kernel_spec.h"

struct ref_builtin; /* refs/abi/ref_list.h */

struct tolerance_row {
    const char *op;
    enum dtype dtype;
    struct tolerance tolerance;
    const char *reason; /* or NULL */
};

struct tolerance_table {
    struct tolerance_row *row;
    size_t count, room;
};

/* Called for each bad row with one sentence. */
typedef void (*tolerance_complain_fn)(void *user, const char *sentence);

/* Adds the rows of a `tolerances:` mapping; bad ones are reported and left out (STATUS_INVALID). */
enum status tolerance_add(struct tolerance_table *table, struct arena *arena,
                          const struct yaml_node *node, tolerance_complain_fn complain, void *user);

/* Reads one row, {rule: ..., ...}. An accumulator that it does not name is DTYPE_NONE. */
enum status tolerance_read(const struct yaml_node *node, struct tolerance *out, const char **reason,
                           struct error *err);

/* Whether the reference has the points that the row declares, and what its contracts name:
 * STATUS_INVALID, reported at `node`, where one is missing. */
enum status tolerance_fits(const struct tolerance *tolerance, const struct ref_builtin *reference,
                           const struct yaml_node *node, struct error *err);

/* ", accumulate f32, lanes 32": what a bound is made of, by the keys of a row; what is as usual is
 * left out, but for the accumulator. */
void tolerance_print(const struct tolerance *tolerance, FILE *out);

/* "bound", "close", ... */
const char *tolerance_rule_text(enum tolerance_rule rule);

/* The row for outputs of `dtype`, or NULL. */
const struct tolerance_row *tolerance_find(const struct tolerance_table *table, const char *op,
                                           enum dtype dtype);

/* What holds where no row does: the bound of an f32 accumulator (f64 for f64). */
struct tolerance tolerance_fallback(enum dtype dtype);

/* Unit roundoff (half an ulp of 1) and smallest normal number of an accumulator. */
double tolerance_roundoff(enum dtype accumulate);
double tolerance_underflow(enum dtype accumulate);

/*
 * How Hopper's tensor cores add f8 products: fp8_tensor and fp8_fast.
 *
 * A step takes TENSOR_STEP products and the sum so far, cuts all of them off towards zero at
 * q = 2^-13 of the largest's power of two, adds them up, and cuts the result off at 14 bits
 * (arXiv:2412.19437, 3.3.2). So 14 bits stay of the largest and nothing of what is below q. A
 * kernel that promotes hands over to sums in f32 after TENSOR_CHAIN products and begins anew
 * (cuBLAS without fast accumulation, DeepSeek's kernels); one that does not goes on to the end of
 * k.
 *
 * Measured on an H100 with `make gpu-test TESTS=cublas`: the worst error of 512 x 384 products,
 * beyond the output's half ulp, as a share of S = sum |a b|. Below it what the arithmetic above
 * gives on a CPU (tests/unit/ref_formats/test_fp8.c) for data of the same kind.
 *
 *     terms                    256       1024      4096      16384
 *     promoted   measured      2^-9.9    2^-10.4   2^-10.7   2^-10.8
 *                modelled      2^-9.9    2^-10.4   2^-10.8   2^-10.9
 *     never      measured      2^-8.4    2^-6.0    2^-3.8    2^-2.0
 *                modelled      2^-8.5    2^-6.0    2^-3.8    2^-2.0
 *
 * These are values between 0 and 1, alike in size. What is lost of a term is up to q, so a sum with
 * one large term loses of all the others: with one factor in 256 up to 400 times the others, as
 * activations have it, 2^-7.5 of S is lost where chains are promoted, and 2^-6.1 with terms made
 * for it. A bound of twice the measured figures would call those wrong. Hence the bound of the
 * arithmetic itself: q is at most 2^-13 S of a chain, and a chain of n terms cuts off n products,
 * of which the largest one's own step loses nothing, and the sum so far twice in each step but the
 * first:
 *
 *     n - 1 + 2 ceil(n / 32) - 1 < n (1 + 2 / 32) times q,
 *
 * so at most TENSOR_ROUNDOFF min(n, 128) S = 2^-5.9 S where chains are promoted, and
 * TENSOR_ROUNDOFF n S where not: 7 to 30 times the figures above. The sums of chains are f32's:
 * lambda sqrt(n) 2^-24 S besides.
 */
enum { TENSOR_STEP = 32, TENSOR_CHAIN = 128 };
#define TENSOR_ROUNDOFF (0x1p-13 * (1 + 2.0 / TENSOR_STEP))

/*
 * What a product of f16 or bf16 matrices, or a convolution, may lose besides the bound of its sums,
 * as a share of its value y: k 2^-25, k being the terms of a sum. 0 for other types and
 * accumulators, and where the tolerance has a lambda of its own.
 *
 * Tensor cores cut the products of a step off towards zero, all at one place below the largest of
 * them and of the sum so far: on Hopper those of 16 at 2^-25 of the largest's power of two. So k
 * terms lose k 2^-25 of the largest partial sum at most, all in one direction. (The result of each
 * step is cut off too, by 2^-23, which is less than lambda sqrt(k) 2^-24 up to k = 4096.) It takes
 * one term that is about 2^25 times each of the others, as gradients have where one token has
 * nearly all of the loss: then a right product leaves lambda sqrt(k) 2^-24 S. Measured on an H100
 * with `make gpu-test TESTS=cublas` for one such term among k (bf16 and f16, outputs of f32): 0.37
 * k 2^-24 |y| at k = 256 and 1024, 0.17 at 4096 and 0.08 at 16384, where several accumulators share
 * the sum.
 *
 * The largest partial sum is taken to be |y|. Where terms cancel it is more, but there
 * lambda sqrt(k) 2^-24 S is many times what is lost. More than that would hide a lost end of k: 8
 * of 11528 terms of one sign are 2^-10.5 of the value, k 2^-24 as much.
 */
double tolerance_product_loss(const struct tolerance *tolerance, enum dtype a, enum dtype b,
                              double k);

/*
 * lambda of the sum bound lambda sqrt(n) u S. A sum of n roundings exceeds it with a probability of
 * at most 2 exp(-lambda^2 / 2) (Higham and Mary 2019), so one of N sums does with at most
 * `false_alarm` for lambda = sqrt(2 ln(2 N / false_alarm)). The 8 of the default is that of 4 10^7
 * outputs and 10^-6. `outputs`: N.
 */
double tolerance_lambda(const struct tolerance *tolerance, double outputs);

#endif
