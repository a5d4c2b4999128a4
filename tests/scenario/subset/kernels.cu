/*
 * kernels.cu - right kernels, and some that are wrong in a part of what they write: the tail of
 * each row, the last row, a row in the middle, one head of many, or where values are large.
 */
#include "kernels.cuh"

enum { ALL = -1, NONE = -2 };

/* rmsnorm, a row a block; the last column of `wrong` is not written. May work in place. */
__device__ static void norm(const float *x, const float *w, float *y, long long pitch, int cols,
                            float eps, int wrong)
{
    int row = blockIdx.x, written = row == wrong || wrong == ALL ? cols - 1 : cols;
    float squares = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        squares += x[row * pitch + c] * x[row * pitch + c];
    float inverse = rsqrtf(block_sum(squares) / cols + eps);
    for (int c = threadIdx.x; c < written; c += blockDim.x)
        y[row * pitch + c] = x[row * pitch + c] * inverse * w[c];
}

#define NORM(name, wrong)                                                                          \
    extern "C" __global__ void norm_##name(const float *x, const float *w, float *y,               \
                                           long long pitch, int cols, float eps)                   \
    {                                                                                              \
        norm(x, w, y, pitch, cols, eps, wrong);                                                    \
    }
NORM(right, NONE)
NORM(tail, ALL)
NORM(last, (int)gridDim.x - 1)
NORM(middle, (int)gridDim.x / 2 + 1)

/* Squares saturate at 1000. */
extern "C" __global__ void norm_narrow(const float *x, const float *w, float *y, long long pitch,
                                       int cols, float eps)
{
    float squares = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        squares += fminf(x[blockIdx.x * pitch + c] * x[blockIdx.x * pitch + c], 1000.0f);
    float inverse = rsqrtf(block_sum(squares) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[blockIdx.x * pitch + c] = x[blockIdx.x * pitch + c] * inverse * w[c];
}

/* layernorm, a row a block; wrong: the last row's mean is not written. */
#define LAYER(name, rows)                                                                          \
    extern "C" __global__ void layer_##name(const float *x, const float *w, const float *b,        \
                                            float *y, float *mean, float *rstd, int cols,          \
                                            float eps)                                             \
    {                                                                                              \
        const float *row = x + (size_t)blockIdx.x * cols;                                          \
        float sum = 0, squares = 0;                                                                \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            sum += row[c];                                                                         \
        float mu = block_sum(sum) / cols;                                                          \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            squares += (row[c] - mu) * (row[c] - mu);                                              \
        float inverse = rsqrtf(block_sum(squares) / cols + eps);                                   \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            y[(size_t)blockIdx.x * cols + c] = (row[c] - mu) * inverse * w[c] + b[c];              \
        if (threadIdx.x == 0 && blockIdx.x < rows)                                                 \
            mean[blockIdx.x] = mu;                                                                 \
        if (threadIdx.x == 0)                                                                      \
            rstd[blockIdx.x] = inverse;                                                            \
    }
LAYER(right, gridDim.x)
LAYER(last, gridDim.x - 1)

/* y = alpha x; wrong: what is left over after the fours is not written. */
#define FLAT(name, end)                                                                            \
    extern "C" __global__ void flat_##name(const float *x, float *y, float alpha, int n)           \
    {                                                                                              \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x)  \
            y[i] = alpha * x[i];                                                                   \
    }
FLAT(right, n)
FLAT(tail, n / 4 * 4)

/* y = y + x; narrow: what it adds saturates at 50. */
#define UPDATE(name, end, most)                                                                    \
    extern "C" __global__ void update_##name(float *y, const float *x, int n)                      \
    {                                                                                              \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x)  \
            y[i] = y[i] + fminf(x[i], most);                                                       \
    }
UPDATE(right, n, INFINITY)
UPDATE(tail, n / 4 * 4, INFINITY)
UPDATE(narrow, n, 50.0f)

/* y = silu(x[0]) x[1], two planes of n. */
#define PLANES(name, end)                                                                          \
    extern "C" __global__ void planes_##name(const float *x, float *y, int n)                      \
    {                                                                                              \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x)  \
            y[i] = x[i] / (1 + expf(-x[i])) * x[n + i];                                            \
    }
PLANES(right, n)
PLANES(tail, n / 4 * 4)

/* ---- attention, heads in groups that share keys and values ---- */

enum { DIM = 16 };

struct heads {
    float scale;
    int tokens, heads, kv_heads;
};

__device__ static float dot(const float *a, const float *b)
{
    float sum = 0;
    for (int c = 0; c < DIM; c++)
        sum += a[c] * b[c];
    return sum;
}

/* A thread a query and head; causal. Head `wrong` does not see the query's own key. */
__device__ static void attend(const float *q, const float *k, const float *v, float *y, float *lse,
                              heads of, int wrong)
{
    int item = blockIdx.x * blockDim.x + threadIdx.x, i = item / of.heads, h = item % of.heads;
    int g = h * of.kv_heads / of.heads, keys = h == wrong && i ? i : i + 1;
    if (i >= of.tokens)
        return;
    const float *query = q + (size_t)item * DIM;
    float most = -INFINITY, sum = 0, mixed[DIM] = {};
    for (int j = 0; j < keys; j++)
        most = fmaxf(most, of.scale * dot(query, k + (j * of.kv_heads + g) * DIM));
    for (int j = 0; j < keys; j++) {
        float p = expf(of.scale * dot(query, k + (j * of.kv_heads + g) * DIM) - most);
        sum += p;
        for (int c = 0; c < DIM; c++)
            mixed[c] += p * v[(j * of.kv_heads + g) * DIM + c];
    }
    for (int c = 0; c < DIM; c++)
        y[(size_t)item * DIM + c] = mixed[c] / sum;
    lse[h * of.tokens + i] = most + logf(sum);
}

#define ATTENTION(name, wrong)                                                                     \
    extern "C" __global__ void attention_##name(const float *q, const float *k, const float *v,    \
                                                float *y, float *lse, float scale, int tokens,     \
                                                int heads_, int kv_heads)                          \
    {                                                                                              \
        attend(q, k, v, y, lse, heads{scale, tokens, heads_, kv_heads}, wrong);                    \
    }
ATTENTION(right, NONE)
ATTENTION(head, 30)

struct gradient {
    const float *q, *k, *v, *dy, *lse, *delta;
    float *dq, *dk, *dv;
};

/* Probability of key j, of kv head g, for query i of head h, and the gradient of its score. */
__device__ static float2 weigh(const gradient &at, const heads &of, int i, int h, int j, int g)
{
    size_t query = (size_t)(i * of.heads + h) * DIM, key = (size_t)(j * of.kv_heads + g) * DIM;
    float p = expf(of.scale * dot(at.q + query, at.k + key) - at.lse[h * of.tokens + i]);
    return {p, p * (dot(at.dy + query, at.v + key) - at.delta[h * of.tokens + i])};
}

/* A thread a token and head: of queries, and then of keys. Kv head `wrong` leaves the last of its
 * heads out. */
__device__ static void pull_back(const gradient &at, const int *starts, const heads &of, int wrong)
{
    int item = blockIdx.x * blockDim.x + threadIdx.x, share = of.heads / of.kv_heads, s = 0;
    int i = item / of.heads, h = item % of.heads, j = item / of.kv_heads, g = item % of.kv_heads;
    float dq[DIM] = {}, dk[DIM] = {}, dv[DIM] = {};
    if (i < of.tokens) {
        for (s = 0; starts[s + 1] <= i;)
            s++;
        for (int key = starts[s]; key < starts[s + 1]; key++) {
            const float2 w = weigh(at, of, i, h, key, h / share);
            for (int c = 0; c < DIM; c++)
                dq[c] += of.scale * w.y * at.k[(key * of.kv_heads + h / share) * DIM + c];
        }
        for (int c = 0; c < DIM; c++)
            at.dq[(size_t)item * DIM + c] = dq[c];
    }
    if (j >= of.tokens)
        return;
    for (s = 0; starts[s + 1] <= j;)
        s++;
    for (int head = g * share; head < (g + 1) * share - (g == wrong); head++)
        for (int query = starts[s]; query < starts[s + 1]; query++) {
            const float2 w = weigh(at, of, query, head, j, g);
            for (int c = 0; c < DIM; c++) {
                dk[c] += of.scale * w.y * at.q[(query * of.heads + head) * DIM + c];
                dv[c] += w.x * at.dy[(query * of.heads + head) * DIM + c];
            }
        }
    for (int c = 0; c < DIM; c++) {
        at.dk[(size_t)item * DIM + c] = dk[c];
        at.dv[(size_t)item * DIM + c] = dv[c];
    }
}

#define VARLEN(name, wrong)                                                                        \
    extern "C" __global__ void varlen_##name(const float *q, const float *k, const float *v,       \
                                             const float *dy, const int *starts, const float *lse, \
                                             const float *delta, float *dq, float *dk, float *dv,  \
                                             float scale, int tokens, int heads_, int kv_heads)    \
    {                                                                                              \
        pull_back({q, k, v, dy, lse, delta, dq, dk, dv}, starts,                                   \
                  {scale, tokens, heads_, kv_heads}, wrong);                                       \
    }
VARLEN(right, NONE)
VARLEN(head, 15)
