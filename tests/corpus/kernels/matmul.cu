/* matmul.cu - products of matrices: a thread has an element of the result. */
#include "corpus.cuh"

enum { TILE = 16 };

/*
 * The sum over l < k of a(l) b(l), which lie step_a and step_b apart, in tiles. INPUT: of the
 * products' factors; PARTIAL: what is kept between tiles; TAIL: whether the last, part-filled tile
 * is there too.
 */
template <class INPUT, class PARTIAL, bool TAIL, class T>
__device__ static float dot_product(const T *a, int step_a, const T *b, int step_b, int k,
                                    int tile = TILE)
{
    float sum = 0;
    for (int from = 0; from < k; from += tile) {
        float part = 0;
        if (!TAIL && from + tile > k)
            break;
        for (int l = from; l < min(from + tile, k); l++)
            part += rounded<INPUT>((float)a[(size_t)l * step_a]) *
                    rounded<INPUT>((float)b[(size_t)l * step_b]);
        sum = rounded<PARTIAL>(sum + part);
    }
    return sum;
}

/* Which type a mutant computes in: LOW where it is that mutant. */
template <bool THIS, class LOW> struct either {
    using type = float;
};
template <class LOW> struct either<true, LOW> {
    using type = LOW;
};

/* c = alpha a b */
#define matmul_PARAMETERS(T) const T *a, const T *b, T *c, int m, int n, int k, float alpha
#define matmul_ARGUMENTS     a, b, c, m, n, k, alpha
OPERATION(matmul)
{
    using input = typename either<MUTANT == 4, bf16>::type;
    using partial = typename either<MUTANT == 2, T>::type;
    EACH_CELL(i, m * n)
    {
        int r = i / n, j = i % n;
        if (MUTANT == 5 && j >= 64)
            continue;
        const T *row = a + (MUTANT == 3 ? (size_t)r : (size_t)r * k);
        float dot =
            dot_product<input, partial, MUTANT != 1>(row, MUTANT == 3 ? m : 1, b + j, n, k, 64);
        c[i] = (T)(MUTANT == 6 ? dot : dot * alpha);
    }
}

/* y = x w^T + bias */
#define linear_PARAMETERS(T) const T *x, const T *w, const T *bias, T *y, int m, int n, int k
#define linear_ARGUMENTS     x, w, bias, y, m, n, k
OPERATION(linear)
{
    EACH_CELL(i, m * n)
    {
        int r = i / n, j = i % n;
        float dot = dot_product<float, float, true>(x + (size_t)r * k, 1, w + (size_t)j * k, 1, k);
        y[i] = (T)(kept<T, MUTANT == 1>(dot) + (MUTANT == 2 ? 0 : (float)bias[j]));
    }
}

/* y = gelu(x w^T + bias) */
#define linear_gelu_PARAMETERS(T) const T *x, const T *w, const T *bias, T *y, int m, int n, int k
#define linear_gelu_ARGUMENTS     x, w, bias, y, m, n, k
OPERATION(linear_gelu)
{
    EACH_CELL(i, m * n)
    {
        int r = i / n, j = i % n;
        float dot = dot_product<float, float, true>(x + (size_t)r * k, 1, w + (size_t)j * k, 1, k);
        float t = kept<T, MUTANT == 1>(dot + (float)bias[j]);
        y[i] = (T)(MUTANT == 2 ? gelu_by_tanh(t) : t * normal_cdf(t));
    }
}

/* y = a x, a row a block */
#define gemv_PARAMETERS(T) const T *a, const T *x, T *y, int m, int n
#define gemv_ARGUMENTS     a, x, y, m, n
OPERATION(gemv)
{
    EACH_ROW(r, m)
    {
        float sum = 0;
        EACH_COLUMN(c, MUTANT == 2 ? n / 8 * 8 : n)
        sum = kept<T, MUTANT == 1>(sum + (float)a[(size_t)r * n + c] * (float)x[c]);
        sum = block_sum<T, MUTANT == 1>(sum);
        if (threadIdx.x == 0)
            y[r] = (T)sum;
    }
}

/* c = a b for each of a batch */
#define bmm_PARAMETERS(T) const T *a, const T *b, T *c, int batch, int m, int n, int k
#define bmm_ARGUMENTS     a, b, c, batch, m, n, k
OPERATION(bmm)
{
    EACH_CELL(i, batch * m * n)
    {
        int s = i / n / m, row = i / n, j = i % n;
        const T *matrix = b + (MUTANT == 1 ? 0 : (size_t)s * k * n);
        c[i] = (T)dot_product<float, float, MUTANT != 2>(a + (size_t)row * k, 1, matrix + j, n, k);
    }
}

/* c = a^T b, the gradient of a weight, from eight parts of the tokens */
#define matmul_tn_PARAMETERS(T) const T *a, const T *b, T *c, int m, int n, int k
#define matmul_tn_ARGUMENTS     a, b, c, m, n, k
OPERATION(matmul_tn)
{
    EACH_CELL(i, m * n)
    {
        float sum = 0;
        int part = MUTANT == 2 ? max(k / 8, 1) : (k + 7) / 8;
        for (int from = 0; from < min(8 * part, k); from += part)
            sum += kept<T, MUTANT == 1>(dot_product<float, float, true>(
                a + (size_t)from * m + i / n, m, b + (size_t)from * n + i % n, n,
                min(part, k - from)));
        c[i] = (T)sum;
    }
}

/* c = alpha a b + beta c; with beta = 0 the old c is not read */
#define gemm_PARAMETERS(T)                                                                         \
    const T *a, const T *b, T *c, int m, int n, int k, float alpha, float beta
#define gemm_ARGUMENTS a, b, c, m, n, k, alpha, beta
OPERATION(gemm)
{
    EACH_CELL(i, m * n)
    {
        float dot = dot_product<float, float, true>(a + (size_t)(i / n) * k, 1, b + i % n, n, k);
        float old = beta != 0 || MUTANT == 1 ? (float)c[i] * (MUTANT == 2 ? 1 : beta) : 0;
        c[i] = (T)(dot * alpha + old);
    }
}
