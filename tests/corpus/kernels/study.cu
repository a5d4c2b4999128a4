/*
 * study.cu - the 26 entries of "The Correctness Illusion in LLM-Generated GPU Kernels" (Sarkar
 * 2026, arXiv 2606.20128) as CUDA kernels: 16 right and, as mutant 1, 10 wrong ones with the
 * study's bugs.
 *
 * What is numpy there is here a thread that walks its row or its element, a loop a whole-array
 * operation; what is Triton there is a block that holds a tile of a power of two with masked loads.
 */
#include "corpus.cuh"

/* Triton's block for n elements. */
__device__ static int tile_of(int n)
{
    int tile = 1;
    while (tile < n)
        tile *= 2;
    return tile;
}

/* ------------------------------------------------------------------------------- numpy */

/* The wrong one pads each row with zeros to a multiple of 128, which get into the sum. */
#define numpy_softmax_PARAMETERS(T) const T *x, T *y, int batch, int seq, int cols
#define numpy_softmax_ARGUMENTS     x, y, batch, seq, cols
OPERATION(numpy_softmax)
{
    EACH_CELL(r, batch * seq)
    {
        const T *row = x + (size_t)r * cols;
        float most = -INFINITY, sum = 0;
        for (int c = 0; c < cols; c++)
            most = larger(most, (float)row[c]);
        for (int c = 0; c < (MUTANT == 1 ? (cols + 127) / 128 * 128 : cols); c++)
            sum += expf((c < cols ? (float)row[c] : 0) - most);
        for (int c = 0; c < cols; c++)
            y[(size_t)r * cols + c] = (T)(expf((float)row[c] - most) / sum);
    }
}

#define numpy_layernorm_PARAMETERS(T)                                                              \
    const T *x, const T *w, const T *b, T *y, int rows, int cols, float eps
#define numpy_layernorm_ARGUMENTS x, w, b, y, rows, cols, eps
OPERATION(numpy_layernorm)
{
    EACH_CELL(r, rows)
    {
        const T *row = x + (size_t)r * cols;
        float mean = 0, var = 0;
        for (int c = 0; c < cols; c++)
            mean += (float)row[c];
        mean /= cols;
        for (int c = 0; c < cols; c++)
            var += ((float)row[c] - mean) * ((float)row[c] - mean);
        float deviation = sqrtf(var / cols + eps);
        for (int c = 0; c < cols; c++)
            y[(size_t)r * cols + c] =
                (T)(((float)row[c] - mean) / deviation * (float)w[c] + (float)b[c]);
    }
}

#define numpy_matmul_PARAMETERS(T) const T *a, const T *b, T *c, int m, int n, int k
#define numpy_matmul_ARGUMENTS     a, b, c, m, n, k
OPERATION(numpy_matmul)
{
    EACH_CELL(i, m * n)
    {
        float sum = 0;
        for (int l = 0; l < k; l++)
            sum += (float)a[i / n * k + l] * (float)b[l * n + i % n];
        c[i] = (T)sum;
    }
}

/* ------------------------------------------------------------------------------ Triton */

/* The wrong one loads what is masked as 0.0 in place of -inf. */
#define triton_softmax_PARAMETERS(T) const T *x, T *y, int batch, int seq, int cols
#define triton_softmax_ARGUMENTS     x, y, batch, seq, cols
OPERATION(triton_softmax)
{
    int tile = tile_of(cols);
    float other = MUTANT == 1 ? 0.0f : -INFINITY;
    EACH_ROW(r, batch * seq)
    {
        const T *row = x + (size_t)r * cols;
        float most = -INFINITY, sum = 0;
        EACH_COLUMN(c, tile) most = larger(most, c < cols ? (float)row[c] : other);
        most = block_max(most);
        EACH_COLUMN(c, tile) sum += expf((c < cols ? (float)row[c] : other) - most);
        sum = block_sum(sum);
        EACH_COLUMN(c, cols) y[(size_t)r * cols + c] = (T)(expf((float)row[c] - most) / sum);
    }
}

/* An activation: `expression` of v, the element. */
#define ACTIVATION(op, expression)                                                                 \
    OPERATION(op)                                                                                  \
    {                                                                                              \
        EACH_CELL(i, rows *cols)                                                                   \
        {                                                                                          \
            float v = (float)x[i];                                                                 \
            y[i] = (T)(expression);                                                                \
        }                                                                                          \
    }
#define triton_gelu_PARAMETERS(T)       const T *x, T *y, int rows, int cols
#define triton_gelu_ARGUMENTS           x, y, rows, cols
#define triton_silu_PARAMETERS(T)       triton_gelu_PARAMETERS(T)
#define triton_silu_ARGUMENTS           triton_gelu_ARGUMENTS
#define triton_relu_PARAMETERS(T)       triton_gelu_PARAMETERS(T)
#define triton_relu_ARGUMENTS           triton_gelu_ARGUMENTS
#define triton_leaky_relu_PARAMETERS(T) triton_gelu_PARAMETERS(T)
#define triton_leaky_relu_ARGUMENTS     triton_gelu_ARGUMENTS
#define triton_sigmoid_PARAMETERS(T)    triton_gelu_PARAMETERS(T)
#define triton_sigmoid_ARGUMENTS        triton_gelu_ARGUMENTS
#define triton_tanh_PARAMETERS(T)       triton_gelu_PARAMETERS(T)
#define triton_tanh_ARGUMENTS           triton_gelu_ARGUMENTS
#define triton_elu_PARAMETERS(T)        triton_gelu_PARAMETERS(T)
#define triton_elu_ARGUMENTS            triton_gelu_ARGUMENTS

ACTIVATION(triton_gelu, (MUTANT == 1 ? 1.0f : 0.5f) * v * (1 + erff(v * 0.70710678f)))
ACTIVATION(triton_silu, v *logistic(MUTANT == 1 ? 2 * v : v))
ACTIVATION(triton_relu, larger(v, 0))
ACTIVATION(triton_leaky_relu, v > 0 ? v : (MUTANT == 1 ? 0.1f : 0.01f) * v)
ACTIVATION(triton_sigmoid, logistic(v))
ACTIVATION(triton_tanh, tanhf(v))
ACTIVATION(triton_elu, v > 0 ? v : expm1f(v))

/* The wrong one divides by the mean square, not by its root. */
#define triton_rmsnorm_PARAMETERS(T) const T *x, const T *w, T *y, int rows, int cols, float eps
#define triton_rmsnorm_ARGUMENTS     x, w, y, rows, cols, eps
OPERATION(triton_rmsnorm)
{
    int tile = tile_of(cols);
    EACH_ROW(r, rows)
    {
        const T *row = x + (size_t)r * cols;
        float squares = 0;
        EACH_COLUMN(c, tile) squares += c < cols ? (float)row[c] * (float)row[c] : 0;
        float ms = block_sum(squares) / cols + eps;
        EACH_COLUMN(c, cols)
        y[(size_t)r * cols + c] = (T)((float)row[c] / (MUTANT == 1 ? ms : sqrtf(ms)) * (float)w[c]);
    }
}

/* The wrong one divides by the square of the length. */
#define triton_l2norm_PARAMETERS(T) const T *x, T *y, int rows, int cols, float eps
#define triton_l2norm_ARGUMENTS     x, y, rows, cols, eps
OPERATION(triton_l2norm)
{
    int tile = tile_of(cols);
    EACH_ROW(r, rows)
    {
        const T *row = x + (size_t)r * cols;
        float squares = 0;
        EACH_COLUMN(c, tile) squares += c < cols ? (float)row[c] * (float)row[c] : 0;
        squares = block_sum(squares);
        float length = larger(MUTANT == 1 ? squares : sqrtf(squares), eps);
        EACH_COLUMN(c, cols) y[(size_t)r * cols + c] = (T)((float)row[c] / length);
    }
}

/* The wrong one assigns to its accumulator where it should add: the last product is left. */
#define triton_matmul_PARAMETERS(T) const T *a, const T *b, T *c, int m, int n, int k
#define triton_matmul_ARGUMENTS     a, b, c, m, n, k
OPERATION(triton_matmul)
{
    EACH_CELL(i, m * n)
    {
        float sum = 0;
        for (int l = 0; l < k; l++) {
            float product = (float)a[i / n * k + l] * (float)b[l * n + i % n];
            sum = MUTANT == 1 ? product : sum + product;
        }
        c[i] = (T)sum;
    }
}

/* o = softmax(q k^T / sqrt(d)) v, a row of scores in shared memory; the wrong one leaves sqrt(d)
 * out. */
#define triton_attention_PARAMETERS(T)                                                             \
    const T *q, const T *k, const T *v, T *o, int queries, int keys, int dim, float scale
#define triton_attention_ARGUMENTS q, k, v, o, queries, keys, dim, scale
OPERATION(triton_attention)
{
    __shared__ float score[256];
    EACH_ROW(r, queries)
    {
        float most = -INFINITY, sum = 0;
        EACH_COLUMN(j, keys)
        {
            float dot = 0;
            for (int l = 0; l < dim; l++)
                dot += (float)q[r * dim + l] * (float)k[j * dim + l];
            score[j] = MUTANT == 1 ? dot : dot * scale;
            most = larger(most, score[j]);
        }
        most = block_max(most);
        EACH_COLUMN(j, keys)
        {
            score[j] = expf(score[j] - most);
            sum += score[j];
        }
        sum = block_sum(sum);
        EACH_COLUMN(c, dim)
        {
            float all = 0;
            for (int j = 0; j < keys; j++)
                all += score[j] * (float)v[j * dim + c];
            o[r * dim + c] = (T)(all / sum);
        }
        __syncthreads();
    }
}

/* The same over tiles of 64 keys; the wrong one does not rescale its sum so far. */
#define triton_flash_attention_PARAMETERS(T) triton_attention_PARAMETERS(T)
#define triton_flash_attention_ARGUMENTS     triton_attention_ARGUMENTS
OPERATION(triton_flash_attention)
{
    enum { BLOCK_N = 64 };
    __shared__ float score[BLOCK_N];
    EACH_ROW(r, queries)
    {
        float most = -INFINITY, sum = 0, all = 0; /* `all`: of the thread's column of o */
        for (int from = 0; from < keys; from += BLOCK_N) {
            int here = min(BLOCK_N, keys - from);
            float tile_most = -INFINITY, tile_sum = 0;
            EACH_COLUMN(j, here)
            {
                float dot = 0;
                for (int l = 0; l < dim; l++)
                    dot += (float)q[r * dim + l] * (float)k[(from + j) * dim + l];
                score[j] = dot * scale;
                tile_most = larger(tile_most, score[j]);
            }
            float next = larger(most, block_max(tile_most));
            float alpha = next == most ? 1 : expf(most - next);
            EACH_COLUMN(j, here)
            {
                score[j] = expf(score[j] - next);
                tile_sum += score[j];
            }
            sum = sum * alpha + block_sum(tile_sum);
            all *= MUTANT == 1 ? 1 : alpha;
            if (threadIdx.x < dim)
                for (int j = 0; j < here; j++)
                    all += score[j] * (float)v[(from + j) * dim + threadIdx.x];
            most = next;
            __syncthreads();
        }
        if (threadIdx.x < dim)
            o[r * dim + threadIdx.x] = (T)(all / sum);
    }
}
