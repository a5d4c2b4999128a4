/*
 * epilogue.cu - products of matrices with what cublasLt does to them before they are stored.
 *
 *   t = alpha a b + beta c + bias, a seeded sample of the elements of each
 *
 * An order or a transposition is one of strides. With beta = 0 c is not
 * read. gelu is the approximation by tanh.
 */
#include "ref.h"
#include "ref_product.h"

#define EPILOGUE_BUDGET(k) ((k) > 32768 ? 256 : (k) < 1024 ? 8192 : 8388608 / (k))
/* Sums of n elements each. */
#define BIAS_BUDGET(n) ((n) > 32768 ? 256 : 8388608 / ((n) + 1))

/* Of batch s, row r and column j; t without the bias is their sum. `dot` is alpha a b, which some
 * kernels round before they add c. */
#define GEMM_DOT(s, r, j)   (SUM(l, k, a(s, r, l) * b(s, l, j)) * alpha)
#define GEMM_ADDED(s, r, j) (beta.v == 0 ? real(0.0) : c(s, r, j) * beta)
#define GEMM(s, r, j)       (dot(GEMM_DOT(s, r, j)) + GEMM_ADDED(s, r, j))

// d = alpha a b + beta c + bias, for each of a batch
REFERENCE_ONCE(gemm_bias, "in a[batch][m][k], in b[batch][k][n], in c[batch][m][n] = 0, "
                          "in bias[batch][n] = 0, out d[batch][m][n], real alpha = 1, "
                          "real beta = 0, point dot, each batch, each m, each n, "
                          "product d = alpha a b + beta c + bias")
{
    SAMPLE_TILES(s, r, j, batch, m, n, EPILOGUE_BUDGET(k))
    {
        d(s, r, j) = GEMM(s, r, j) + bias(s, j);
    }
}

// d = max(t, 0); `mask` has a bit for each element of d, 1 where t is positive, 8 columns in a
// byte, the lowest bit first
REFERENCE_ONCE(gemm_relu, "in a[batch][m][k], in b[batch][k][n], in c[batch][m][n] = 0, "
                          "in bias[batch][n] = 0, out d?[batch][m][n], "
                          "out mask?[batch][m][words], real alpha = 1, real beta = 0, point dot, "
                          "each batch, each m")
{
    SAMPLE_TILES(s, r, j, d.given ? batch : 0, m, n, EPILOGUE_BUDGET(k))
    {
        real t = GEMM(s, r, j) + bias(s, j);
        d(s, r, j) = max(t, 0);
    }
    SAMPLE(i, mask.given ? batch * m * words : 0, EPILOGUE_BUDGET(8 * k))
    {
        long long s = i / words / m, r = i / words % m, first = i % words * 8;
        long long left = first < n ? n - first : 0, bits = left < 8 ? left : 8;
        /* Bits behind the last column are free. */
        long long rest = INDEX(mask.after(s, r, i % words)) >> bits << bits;
        real byte = NUMBER(bits < 8 ? rest : 0);
        REPEAT(bit, bits)
        {
            real t = GEMM(s, r, first + bit) + bias(s, first + bit);
            byte = byte + where(t > 0, NUMBER(1), 0) * (double)(1 << bit);
        }
        mask(s, r, i % words) = byte;
    }
}

// d = gelu(t), aux = t
REFERENCE_ONCE(gemm_gelu, "in a[batch][m][k], in b[batch][k][n], in c[batch][m][n] = 0, "
                          "in bias[batch][n] = 0, out d[batch][m][n], out aux?[batch][m][n], "
                          "real alpha = 1, real beta = 0, point dot, each batch, each m, each n")
{
    SAMPLE_TILES(s, r, j, batch, m, n, EPILOGUE_BUDGET(k))
    {
        real t = GEMM(s, r, j) + bias(s, j);
        real u = (t + t * t * t * 0.044715) * 0.7978845608028654;
        d(s, r, j) = t * 0.5 * one_plus_tanh(u);
        if (aux.given)
            aux(s, r, j) = t;
    }
}

/* dbias is the sum of d over its rows before they were rounded; `stored` is that rounding. */
#define BIAS_GRADIENT                                                                              \
    SAMPLE(i, dbias.given ? batch *n : 0, BIAS_BUDGET(m))                                          \
    {                                                                                              \
        dbias(i / n, i % n) = SUM_IF(r, m, true, stored(d.after(i / n, r, i % n)));                \
    }

// d = t where the bit of `mask` is 1, as in gemm_relu, else 0; dbias = the sum of d over m
REFERENCE_ONCE(gemm_relu_backward,
               "in a[batch][m][k], in b[batch][k][n], in c[batch][m][n] = 0, "
               "in mask[batch][m][words], out d[batch][m][n], out dbias?[batch][n], "
               "real alpha = 1, real beta = 0, point dot, point stored, each batch, each m"){
    SAMPLE_TILES(s, r, j, batch, m, n,
                 EPILOGUE_BUDGET(k)){bool passed = INDEX(mask(s, r, j / 8)) >> j % 8 & 1;
real t = GEMM(s, r, j);
d(s, r, j) = passed ? t : real(0.0);
}
BIAS_GRADIENT
}

// d = t gelu'(aux), aux the argument of the forward pass; dbias = the sum of d over m
REFERENCE_ONCE(gemm_gelu_backward,
               "in a[batch][m][k], in b[batch][k][n], in c[batch][m][n] = 0, "
               "in aux[batch][m][n], out d[batch][m][n], out dbias?[batch][n], real alpha = 1, "
               "real beta = 0, point dot, point stored, each batch, each m, each n"){
    SAMPLE_TILES(s, r, j, batch, m, n, EPILOGUE_BUDGET(k)){real x = aux(s, r, j), t = GEMM(s, r, j);
real u = (x + x * x * x * 0.044715) * 0.7978845608028654;
real bend = (1 + x * x * 0.134145) * 0.7978845608028654;
real slope = one_plus_tanh(u) * 0.5 + x * 0.5 * (1 - square(tanh(u))) * bend;
d(s, r, j) = t * slope;
}
BIAS_GRADIENT
}

// d = alpha a b + beta c, sums_a = the sum of a over k, sums_b that of b: cublasLt's BGRADA, BGRADB
REFERENCE_ONCE(gemm_bias_gradient,
               "in a[batch][m][k], in b[batch][k][n], in c[batch][m][n] = 0, out d[batch][m][n], "
               "out sums_a?[batch][m], out sums_b?[batch][n], real alpha = 1, real beta = 0, "
               "point dot, each batch, each m, each n")
{
    SAMPLE_TILES(s, r, j, batch, m, n, EPILOGUE_BUDGET(k))
    {
        d(s, r, j) = GEMM(s, r, j);
    }
    SAMPLE(i, sums_a.given ? batch * m : 0, BIAS_BUDGET(k))
    {
        sums_a(i / m, i % m) = SUM(l, k, a(i / m, i % m, l));
    }
    SAMPLE(i, sums_b.given ? batch * n : 0, BIAS_BUDGET(k))
    {
        sums_b(i / n, i % n) = SUM(l, k, b(i / n, l, i % n));
    }
}

// d = (alpha times the sum over k of a b a_scale b_scale + beta c + bias) d_scale, fp8: scales one
// for all, one a row of a and a column of b, or one a block of `group`; 0: as many as there are
// divide the dim evenly
REFERENCE_ONCE(gemm_f8, "in a[m][k], in b[k][n], in a_scale[ah][aw] = 1, in b_scale[bh][bw] = 1, "
                        "in c[m][n] = 0, in bias[n] = 0, in d_scale[1] = 1, out d[m][n], "
                        "real alpha = 1, real beta = 0, int group = 0, each m like ah, "
                        "each n like bw, product d = alpha a b + beta c + bias by a_scale b_scale "
                        "group times d_scale")
{
    const long long ar = REF_SCALE_GROUP(m, ah, group), ac = REF_SCALE_GROUP(k, aw, group);
    const long long br = REF_SCALE_GROUP(k, bh, group), bc = REF_SCALE_GROUP(n, bw, group);
    SAMPLE_TILES(one, r, j, 1, m, n, EPILOGUE_BUDGET(k))
    {
        real dot = SUM(l, k, a(r, l) * b(l, j) * a_scale(r / ar, l / ac) * b_scale(l / br, j / bc));
        real t = dot * alpha + (beta.v == 0 ? real(0.0) : c(r, j) * beta) + bias(j);
        d(r, j) = t * d_scale(0);
    }
}
