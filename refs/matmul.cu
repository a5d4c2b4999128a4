/*
 * matmul.cu - products of matrices, a seeded sample of the elements of each.
 *
 * A check costs about 2^23 multiplications whatever the size: 256 to 8192 elements of c. Faults of
 * a tile, a tail or an accumulator touch many elements, and another launch draws others.
 */
#include "ref.h"

#define MATMUL_BUDGET(k) ((k) > 32768 ? 256 : (k) < 1024 ? 8192 : 8388608 / (k))

// c = alpha a b + bias
REFERENCE_SAMPLED(matmul, "in a[m][k], in b[k][n], in bias[n] = 0, out c[m][n], real alpha = 1")
{
    SAMPLE(i, m * n, MATMUL_BUDGET(k))
    {
        real dot = SUM(l, k, a(i / n, l) * b(l, i % n));
        c(i / n, i % n) = dot * alpha + bias(i % n);
    }
}

// y = x w^T + bias, torch.nn.functional.linear
REFERENCE_SAMPLED(linear, "in x[m][k], in w[n][k], in bias[n] = 0, out y[m][n]")
{
    SAMPLE(i, m * n, MATMUL_BUDGET(k))
    {
        real dot = SUM(l, k, x(i / n, l) * w(i % n, l));
        y(i / n, i % n) = dot + bias(i % n);
    }
}
