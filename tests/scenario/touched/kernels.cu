/*
 * kernels.cu - kernels that reach rows of an array through indices, right ones and wrong ones.
 */
#include "kernels.cuh"

/* y[t] = table[ids[t]], zeros where the table has no such row; a block a token. From token `wrong`
 * on it is the next row. */
template <class Id>
__device__ static void look_up(const float *table, const Id *ids, float *y, int entries, int pitch,
                               int cols, int wrong)
{
    int t = blockIdx.x;
    long long id = ids[t] + (t >= wrong);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[t * cols + c] = id < 0 || id >= entries ? 0.0f : table[id * pitch + c];
}

#define LOOK_UP(name, Id, wrong)                                                                   \
    extern "C" __global__ void name(const float *table, const Id *ids, float *y, int entries,      \
                                    int pitch, int cols)                                           \
    {                                                                                              \
        look_up<Id>(table, ids, y, entries, pitch, cols, wrong);                                   \
    }
LOOK_UP(look_right, int, gridDim.x)
LOOK_UP(look_next, int, (int)gridDim.x - 1)
LOOK_UP(look64_right, long long, gridDim.x)
LOOK_UP(look64_next, long long, 0)

/* cache[slots[t]] = key[t], one block, so that of two tokens the later one wins. A slot is place
 * slot % page of block slot / page. */
__device__ static void append(const float *key, const long long *slots, float *cache, int tokens,
                              int page, int heads, int dim, const long long *stride, bool clamps,
                              bool shifts, float most)
{
    for (int t = 0; t < tokens; t++) {
        long long slot = slots[t];
        if (slot < 0 && !clamps)
            continue;
        slot = slot < 0 ? 0 : slot;
        for (int i = threadIdx.x; i < heads * dim; i += blockDim.x)
            cache[slot / page * stride[0] + slot % page * stride[1] + i / dim * stride[2] +
                  i % dim] = fminf(key[t * heads * dim + (shifts ? i ^ 1 : i)], most);
        __syncthreads();
    }
}

#define APPEND(name, clamps, shifts, most)                                                         \
    extern "C" __global__ void append_##name(                                                      \
        const float *key, const long long *slots, float *cache, int tokens, int page, int heads,   \
        int dim, long long block_stride, long long place_stride, long long head_stride)            \
    {                                                                                              \
        const long long stride[] = {block_stride, place_stride, head_stride};                      \
        append(key, slots, cache, tokens, page, heads, dim, stride, clamps, shifts, most);         \
    }
APPEND(right, false, false, INFINITY)
APPEND(clamps, true, false, INFINITY)
APPEND(shifts, false, true, INFINITY)
APPEND(narrow, false, false, 50) /* right unless a key is larger */

/* y[ids[t]] += x[t], one block; or only the last token of a row counts. */
__device__ static void add(const int *ids, const float *x, float *y, int tokens, int cols,
                           bool forgets)
{
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        for (int t = 0; t < tokens; t++) {
            bool again = false;
            for (int s = t + 1; s < tokens; s++)
                again |= ids[s] == ids[t];
            if (!(forgets && again))
                y[ids[t] * cols + c] += x[t * cols + c];
        }
    }
}

#define ADD(name, forgets)                                                                         \
    extern "C" __global__ void add_##name(const int *ids, const float *x, float *y, int tokens,    \
                                          int cols)                                                \
    {                                                                                              \
        add(ids, x, y, tokens, cols, forgets);                                                     \
    }
ADD(right, false)
ADD(forgets, true)

/* y[ids[t]] = x[t]: of two tokens that name a row one wins, an element at a time. */
#define COPY(name, source)                                                                         \
    extern "C" __global__ void copy_##name(const int *ids, const float *x, float *y, int tokens,   \
                                           int cols)                                               \
    {                                                                                              \
        for (int c = threadIdx.x; c < cols; c += blockDim.x)                                       \
            for (int i = 0; i < tokens; i++) {                                                     \
                int t = c % 2 ? i : tokens - 1 - i;                                                \
                y[ids[t] * cols + c] = x[(source)*cols + c];                                       \
            }                                                                                      \
    }
COPY(right, t)
COPY(first, t / 2)

/* One query a sequence over keys in pages of a cache, whose end is not given; a thread a head.
 * Wrong: the last key is left out. */
__device__ static void attend(const float *q, const float *k, const float *v, const int *table,
                              const int *lengths, float *y, int pages, int page, int heads, int dim,
                              float scale, int skip)
{
    int n = blockIdx.x, h = threadIdx.x, count = lengths[n] - skip;
    if (h >= heads)
        return;
    const float *query = q + (n * heads + h) * dim;
    float most = -INFINITY, sum = 0;
    for (int c = 0; c < dim; c++)
        y[(n * heads + h) * dim + c] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < count; j++) {
            size_t at = (((size_t)table[n * pages + j / page] * page + j % page) * heads + h) * dim;
            float score = 0;
            for (int c = 0; c < dim; c++)
                score += query[c] * k[at + c];
            score *= scale;
            if (pass == 0) {
                most = fmaxf(most, score);
                continue;
            }
            float weight = expf(score - most);
            sum += weight;
            for (int c = 0; c < dim; c++)
                y[(n * heads + h) * dim + c] += weight * v[at + c];
        }
    }
    for (int c = 0; c < dim; c++)
        y[(n * heads + h) * dim + c] /= sum;
}

#define ATTEND(name, skip)                                                                         \
    extern "C" __global__ void name(const float *q, const float *k, const float *v,                \
                                    const int *table, const int *lengths, float *y, int pages,     \
                                    int page, int heads, int dim, float scale)                     \
    {                                                                                              \
        attend(q, k, v, table, lengths, y, pages, page, heads, dim, scale, skip);                  \
    }
ATTEND(attend_right, 0)
ATTEND(attend_short, 1)
ATTEND(rest_right, 0)
