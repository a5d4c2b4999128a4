/*
 * kernels.cu - appending to caches of several layouts, and attention over them. One body for each:
 * a layout is how far places, heads and columns lie from each other.
 */
#include "kernels.cuh"

/* Elements from one page, place, head and column to the next. */
struct shape {
    long long page, place, head, column;
};

__device__ static void append(const float *from, float *cache, const long long *slots, shape shape,
                              int page, int heads, int dim)
{
    long long slot = slots[blockIdx.x];
    for (int c = threadIdx.x; slot >= 0 && c < heads * dim; c += blockDim.x)
        cache[slot / page * shape.page + slot % page * shape.place + c / dim * shape.head +
              c % dim * shape.column] = from[blockIdx.x * heads * dim + c];
}

/* Keys and values in one tensor, [pages][2][page][heads][dim] or [pages][2][heads][page][dim]. */
__device__ static shape pair_shape(bool heads_first, int page, int heads, int dim)
{
    if (heads_first)
        return {2ll * page * heads * dim, dim, (long long)page * dim, 1};
    return {2ll * page * heads * dim, (long long)heads * dim, dim, 1};
}

#define APPEND_PAIR(name, heads_first)                                                             \
    extern "C" __global__ void name(const float *key, const float *value, const long long *slots,  \
                                    float *keys, float *values, int tokens, int pages, int page,   \
                                    int heads, int dim)                                            \
    {                                                                                              \
        shape shape = pair_shape(heads_first, page, heads, dim);                                   \
        append(key, keys, slots, shape, page, heads, dim);                                         \
        append(value, values, slots, shape, page, heads, dim);                                     \
    }
APPEND_PAIR(append_nhd, false)
APPEND_PAIR(append_hnd, true)

/* A pool of tokens, [tokens][heads][dim]: pages of one place. */
extern "C" __global__ void append_pool(const float *key, const float *value, const long long *loc,
                                       float *keys, float *values, int tokens, int size, int heads,
                                       int dim)
{
    shape shape = {(long long)heads * dim, 0, dim, 1};
    append(key, keys, loc, shape, 1, heads, dim);
    append(value, values, loc, shape, 1, heads, dim);
}

/* A row of the cache for each index. */
extern "C" __global__ void set_rows(const float *x, const long long *places, float *cache, int rows,
                                    int width, int cells)
{
    append(x, cache, places, {width, 0, 0, 1}, 1, 1, width);
}

/* The place of position s of a sequence. */
struct rows {
    const int *table; /* NULL: place s itself */
    int page;
    __device__ long long at(int s, shape shape) const
    {
        long long page_of = table ? table[s / page] : 0;
        return page_of * shape.page + (table ? s % page : s) * shape.place;
    }
};

/* Attention of one query of one head; thread c adds up column c. */
__device__ static void attend(const float *q, const float *keys, const float *values, float *y,
                              rows rows, int length, int dim, shape k, shape v, float scale)
{
    int c = threadIdx.x;
    float most = -1e30f, sum = 0, out = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int s = 0; s < length; s++) {
            float dot = 0;
            for (int i = 0; i < dim; i++)
                dot += q[i] * keys[rows.at(s, k) + i * k.column];
            dot *= scale;
            most = pass == 0 && dot > most ? dot : most;
            float weight = pass ? expf(dot - most) : 0;
            sum += weight;
            out += c < dim ? weight * values[rows.at(s, v) + c * v.column] : 0;
        }
    }
    if (c < dim)
        y[c] = sum > 0 ? out / sum : 0;
}

/* The pages of sequence n are indices[indptr[n]] and so on; last[n] places of its last one. */
#define ATTEND_PAIR(name, heads_first)                                                             \
    extern "C" __global__ void name(const float *q, const float *keys, const float *values,        \
                                    const int *indptr, const int *indices, const int *last,        \
                                    float *y, int sequences, int listed, int pages, int page,      \
                                    int heads, int dim, float scale)                               \
    {                                                                                              \
        int n = blockIdx.x / heads, h = blockIdx.x % heads;                                        \
        shape shape = pair_shape(heads_first, page, heads, dim);                                   \
        int length = (indptr[n + 1] - indptr[n] - 1) * page + last[n];                             \
        long long head = h * shape.head, row = (long long)blockIdx.x * dim;                        \
        attend(q + row, keys + head, values + head, y + row, {indices + indptr[n], page}, length,  \
               dim, shape, shape, scale);                                                          \
    }
ATTEND_PAIR(attend_nhd, false)
ATTEND_PAIR(attend_hnd, true)

/* Places of a pool by a row of req_to_token for each sequence. */
extern "C" __global__ void attend_pool(const float *q, const float *keys, const float *values,
                                       const int *req_to_token, const int *lengths, float *y,
                                       int sequences, int most, int size, int heads, int dim,
                                       float scale)
{
    int n = blockIdx.x / heads, h = blockIdx.x % heads;
    shape shape = {(long long)heads * dim, 0, dim, 1};
    long long row = (long long)blockIdx.x * dim;
    attend(q + row, keys + h * dim, values + h * dim, y + row, {req_to_token + n * most, 1},
           lengths[n], dim, shape, shape, scale);
}

/* Keys [places][heads * dim], values [heads * dim][places]. */
extern "C" __global__ void attend_transposed(const float *q, const float *keys, const float *values,
                                             const int *length, float *y, int cells, int heads,
                                             int dim, float scale)
{
    shape k = {0, (long long)heads * dim, dim, 1}, v = {0, 1, (long long)dim * cells, cells};
    int h = blockIdx.x;
    attend(q + h * dim, keys + h * k.head, values + h * v.head, y + h * dim, {nullptr, 1}, *length,
           dim, k, v, scale);
}
