/*
 * matmul.cu - products of matrices, a seeded sample of the elements of each.
 *
 * A check costs about 2^23 multiplications whatever the size: 256 to 8192 elements of c, one at
 * least in each tile of 128 x 128 where there are no more tiles than that. Faults of a tile, a tail
 * or an accumulator touch many elements, and another launch draws others.
 * A transposed matrix is one whose strides are swapped: a[m:1][k:m] is the transpose of one that
 * lies as [k][m].
 */
#include "ref.h"

#define MATMUL_BUDGET(k) ((k) > 32768 ? 256 : (k) < 1024 ? 8192 : 8388608 / (k))

// c = alpha a b + bias; `dot` is a b, rounded where the rest is a kernel of its own
REFERENCE_SAMPLED(matmul, "in a[m][k], in b[k][n], in bias[n] = 0, out c[m][n], "
                          "real alpha = 1, point dot, each m, each n, "
                          "product c = alpha a b + bias")
{
    SAMPLE_TILES(one, i, j, 1, m, n, MATMUL_BUDGET(k))
    {
        auto t = dot(SUM(l, k, a(i, l) * b(l, j)));
        c(i, j) = t * alpha + bias(j);
    }
}

// y = x w^T + bias, torch.nn.functional.linear
REFERENCE_SAMPLED(linear, "in x[m][k], in w[n][k], in bias[n] = 0, out y[m][n], point dot, "
                          "each m, each n, product y = x w + bias")
{
    SAMPLE_TILES(one, i, j, 1, m, n, MATMUL_BUDGET(k))
    {
        auto t = dot(SUM(l, k, x(i, l) * w(j, l)));
        y(i, j) = t + bias(j);
    }
}

// y = x w^T + bias, k in `splits` parts whose sums, `partial`, are rounded where a kernel keeps
// them in a narrow type before it adds them up: split-K
REFERENCE_ONCE(linear_split, "in x[m][splits][k], in w[n][splits][k], in bias[n] = 0, out y[m][n], "
                             "point partial, each m, each n")
{
    SAMPLE_TILES(one, i, j, 1, m, n, MATMUL_BUDGET(splits * k))
    {
        auto dot = SUM(s, splits, partial(SUM(l, k, x(i, s, l) * w(j, s, l))));
        y(i, j) = dot + bias(j);
    }
}

// c = a^T b, the gradient of a weight
REFERENCE_ONCE(matmul_tn, "in a[k][m], in b[k][n], out c[m][n], real alpha = 1, each m, each n, "
                          "product c = alpha a b")
{
    SAMPLE_TILES(one, i, j, 1, m, n, MATMUL_BUDGET(k))
    {
        auto dot = SUM(l, k, a(l, i) * b(l, j));
        c(i, j) = dot * alpha;
    }
}

// c = alpha a b + beta c; with beta = 0 the old c is not read (BLAS)
REFERENCE_ONCE(gemm, "in a[m][k], in b[k][n], inout c[m][n], real alpha = 1, real beta = 0, "
                     "each m, each n, product c = alpha a b + beta c")
{
    SAMPLE_TILES(one, i, j, 1, m, n, MATMUL_BUDGET(k))
    {
        auto dot = SUM(l, k, a(i, l) * b(l, j));
        if (beta.v == 0)
            c(i, j) = dot * alpha;
        else
            c(i, j) = dot * alpha + c.before(i, j) * beta;
    }
}

// c = alpha a b for each of a batch
REFERENCE_ONCE(bmm, "in a[batch][m][k], in b[batch][k][n], out c[batch][m][n], real alpha = 1, "
                    "each batch, each m, each n, "
                    "product c = alpha a b")
{
    SAMPLE_TILES(s, r, j, batch, m, n, MATMUL_BUDGET(k))
    {
        auto dot = SUM(l, k, a(s, r, l) * b(s, l, j));
        c(s, r, j) = dot * alpha;
    }
}

// c = alpha a b^T for each of a batch, such as attention's scores
REFERENCE_ONCE(bmm_nt, "in a[batch][m][k], in b[batch][n][k], out c[batch][m][n], real alpha = 1, "
                       "each batch, each m, each n, "
                       "product c = alpha a b")
{
    SAMPLE_TILES(s, r, j, batch, m, n, MATMUL_BUDGET(k))
    {
        auto dot = SUM(l, k, a(s, r, l) * b(s, j, l));
        c(s, r, j) = dot * alpha;
    }
}

// c = alpha a^T b for each of a batch
REFERENCE_ONCE(bmm_tn, "in a[batch][k][m], in b[batch][k][n], out c[batch][m][n], real alpha = 1, "
                       "each batch, each m, each n, "
                       "product c = alpha a b")
{
    SAMPLE_TILES(s, r, j, batch, m, n, MATMUL_BUDGET(k))
    {
        auto dot = SUM(l, k, a(s, l, r) * b(s, l, j));
        c(s, r, j) = dot * alpha;
    }
}

// c(s) = alpha a b over the columns of a from s part on, `part` of them at most: the partial
// products of split-K, before they are added up
REFERENCE_ONCE(matmul_split, "in a[m][k], in b[k][n], out c[splits][m][n], int part, "
                             "real alpha = 1, each m, each n")
{
    SAMPLE_TILES(s, r, j, splits, m, n, MATMUL_BUDGET(part))
    {
        long long from = s < k ? s * part : k, left = from < k ? k - from : 0;
        auto dot = SUM(l, part < left ? part : left, a(r, l + from) * b(l + from, j));
        c(s, r, j) = dot * alpha;
    }
}

// y = x w^T + bias + residual
REFERENCE_ONCE(
    linear_add,
    "in x[m][k], in w[n][k], in bias[n] = 0, in residual[m][n], out y[m][n], each m, each n, "
    "product y = x w + bias + residual")
{
    SAMPLE_TILES(one, i, j, 1, m, n, MATMUL_BUDGET(k))
    {
        auto dot = SUM(l, k, x(i, l) * w(j, l));
        y(i, j) = dot + bias(j) + residual(i, j);
    }
}

// y = silu(x gate^T) (x up^T), the first half of a gated layer (Shazeer 2020)
REFERENCE_ONCE(linear_swiglu, "in x[m][k], in gate[n][k], in up[n][k], out y[m][n], each m, each n")
{
    SAMPLE_TILES(one, i, j, 1, m, n, MATMUL_BUDGET(k))
    {
        real t = SUM(l, k, x(i, l) * gate(j, l));
        real dot = SUM(l, k, x(i, l) * up(j, l));
        y(i, j) = t * sigmoid(t) * dot;
    }
}

// y = max(t, 0), t = x w^T + bias
REFERENCE_ONCE(linear_relu,
               "in x[m][k], in w[n][k], in bias[n] = 0, out y[m][n], point linear, each m, each n")
{
    SAMPLE_TILES(one, i, j, 1, m, n, MATMUL_BUDGET(k))
    {
        real dot = SUM(l, k, x(i, l) * w(j, l));
        real t = linear(dot + bias(j));
        y(i, j) = max(t, 0);
    }
}

// y = gelu(t), t = x w^T + bias, gelu with erf
REFERENCE_ONCE(linear_gelu,
               "in x[m][k], in w[n][k], in bias[n] = 0, out y[m][n], point linear, each m, each n")
{
    SAMPLE_TILES(one, i, j, 1, m, n, MATMUL_BUDGET(k))
    {
        real dot = SUM(l, k, x(i, l) * w(j, l));
        real t = linear(dot + bias(j));
        y(i, j) = t * 0.5 * one_plus_erf(t * 0.7071067811865476);
    }
}

// the same with gelu's approximation by tanh
REFERENCE_ONCE(linear_gelu_tanh, "in x[m][k], in w[n][k], in bias[n] = 0, out y[m][n], "
                                 "each m, each n")
{
    SAMPLE_TILES(one, i, j, 1, m, n, MATMUL_BUDGET(k))
    {
        real dot = SUM(l, k, x(i, l) * w(j, l));
        real t = dot + bias(j);
        real u = (t + t * t * t * 0.044715) * 0.7978845608028654;
        y(i, j) = t * 0.5 * one_plus_tanh(u);
    }
}

// y = t sigmoid(t), t = x w^T + bias
REFERENCE_ONCE(linear_silu,
               "in x[m][k], in w[n][k], in bias[n] = 0, out y[m][n], point linear, each m, each n")
{
    SAMPLE_TILES(one, i, j, 1, m, n, MATMUL_BUDGET(k))
    {
        real dot = SUM(l, k, x(i, l) * w(j, l));
        real t = linear(dot + bias(j));
        y(i, j) = t * sigmoid(t);
    }
}

// y = alpha a x + bias, all of it
REFERENCE_ONCE(gemv, "in a[m][n], in x[n], in bias[m] = 0, out y[m], real alpha = 1, each m")
{
    ROW(i, m)
    {
        auto dot = SUM(j, n, a(i, j) * x(j));
        y(i) = dot * alpha + bias(i);
    }
}

// y = alpha a^T x + bias
REFERENCE_ONCE(gemv_t, "in a[n][m], in x[n], in bias[m] = 0, out y[m], real alpha = 1, each m")
{
    ROW(i, m)
    {
        auto dot = SUM(j, n, a(j, i) * x(j));
        y(i) = dot * alpha + bias(i);
    }
}

// y = alpha a x + beta y; with beta = 0 the old y is not read (BLAS)
REFERENCE_ONCE(gemv_add, "in a[m][n], in x[n], inout y[m], real alpha = 1, real beta = 0, each m")
{
    ROW(i, m)
    {
        auto dot = SUM(j, n, a(i, j) * x(j));
        if (beta.v == 0)
            y(i) = dot * alpha;
        else
            y(i) = dot * alpha + y.before(i) * beta;
    }
}

// y = alpha a^T x + beta y; with beta = 0 the old y is not read
REFERENCE_ONCE(gemv_t_add, "in a[n][m], in x[n], inout y[m], real alpha = 1, real beta = 0, each m")
{
    ROW(i, m)
    {
        auto dot = SUM(j, n, a(j, i) * x(j));
        if (beta.v == 0)
            y(i) = dot * alpha;
        else
            y(i) = dot * alpha + y.before(i) * beta;
    }
}
