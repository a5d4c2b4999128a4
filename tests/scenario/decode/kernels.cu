/*
 * kernels.cu - keys and values into a cache in pages, and attention over it; right ones and wrong
 * ones.
 */
#include "kernels.cuh"

/* cache[slots[t]] = row[t] for each token; a slot is place slot % page of page slot / page. */
struct append_call {
    const float *key, *value;
    const long long *slots;
    float *keys, *values;
    int width, page;
};

enum append_bug { RIGHT, NEXT, OVER, PADS, FAR };

__device__ static void append(const append_call &call, append_bug bug)
{
    long long slot = call.slots[blockIdx.x], row = slot + (bug == NEXT);
    if (slot < 0 && bug != PADS)
        return;
    int end = call.width + (bug == OVER ? 2 : 0);
    for (int c = threadIdx.x; c < end; c += blockDim.x) {
        long long from = (long long)blockIdx.x * call.width + c % call.width;
        call.keys[row * call.width + c] = call.key[from];
        call.values[row * call.width + c] = call.value[from];
        if (bug == FAR) /* the same place of the next page, another sequence's */
            call.keys[(row + call.page) * call.width + c] = call.key[from];
    }
}

#define APPEND(name, bug)                                                                          \
    extern "C" __global__ void name(const float *key, const float *value, const long long *slots,  \
                                    float *keys, float *values, int tokens, int pages, int page,   \
                                    int heads, int dim)                                            \
    {                                                                                              \
        append({key, value, slots, keys, values, heads * dim, page}, bug);                         \
    }
APPEND(append_right, RIGHT)
APPEND(append_next, NEXT)
APPEND(append_over, OVER)
APPEND(append_pads, PADS)
APPEND(append_far, FAR)

/* A block a sequence and head, one query each; thread c adds up column c. */
extern "C" __global__ void attend(const float *q, const float *keys, const float *values,
                                  const int *table, const int *lengths, float *y, int entries,
                                  int pages, int page, int heads, int dim, float scale)
{
    int n = blockIdx.x / heads, h = blockIdx.x % heads, c = threadIdx.x;
    float most = -1e30f, sum = 0, out = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int s = 0; s < lengths[n]; s++) {
            int at = (table[n * entries + s / page] * page + s % page) * heads + h;
            float dot = 0;
            for (int i = 0; i < dim; i++)
                dot += q[(n * heads + h) * dim + i] * keys[at * dim + i];
            dot *= scale;
            if (pass == 0) {
                most = dot > most ? dot : most;
                continue;
            }
            float weight = expf(dot - most);
            sum += weight;
            out += c < dim ? weight * values[at * dim + c] : 0;
        }
    }
    if (c < dim)
        y[(n * heads + h) * dim + c] = sum > 0 ? out / sum : 0;
}

/* A cache of one sequence, the place by value. */
extern "C" __global__ void append_direct(const float *key, float *cache, int position, int width)
{
    for (int c = threadIdx.x; c < width; c += blockDim.x)
        cache[position * width + c] = key[c];
}

/* The same, the place in device memory. */
extern "C" __global__ void append_indirect(const float *key, float *cache, const int *position,
                                           int places, int width)
{
    for (int c = threadIdx.x; c < width && *position < places; c += blockDim.x)
        cache[*position * width + c] = key[c];
}

/* A cache of [heads][places][dim], the static cache of transformers: a block a head. */
__device__ static void append_head(const float *key, const long long *place, float *cache,
                                   int places, int dim, int more)
{
    for (int c = threadIdx.x; c < dim + more; c += blockDim.x)
        cache[(blockIdx.x * places + *place) * dim + c] = key[blockIdx.x * dim + c % dim];
}

#define HEADS(name, more)                                                                          \
    extern "C" __global__ void name(const float *key, const long long *place, float *cache,        \
                                    int tokens, int heads, int places, int dim)                    \
    {                                                                                              \
        append_head(key, place, cache, places, dim, more);                                         \
    }
HEADS(heads_right, 0)
HEADS(heads_over, 2)

/* One query a head over the first *length places of such a cache, keys and values in one. */
extern "C" __global__ void attend_heads(const float *q, const float *cache, const int *length,
                                        float *y, int places, int dim, float scale)
{
    const float *own = cache + blockIdx.x * places * dim, *query = q + blockIdx.x * dim;
    int c = threadIdx.x;
    float most = -1e30f, sum = 0, out = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int s = 0; s < *length; s++) {
            float dot = 0;
            for (int i = 0; i < dim; i++)
                dot += query[i] * own[s * dim + i];
            dot *= scale;
            most = pass == 0 && dot > most ? dot : most;
            float weight = pass ? expf(dot - most) : 0;
            sum += weight;
            out += c < dim ? weight * own[s * dim + c] : 0;
        }
    }
    if (c < dim)
        y[blockIdx.x * dim + c] = out / sum;
}

/* grad += part, or grad = part: a sum over the micro-steps of a batch. */
extern "C" __global__ void gradient_right(const float *part, float *grad, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        grad[i] += part[i];
}

extern "C" __global__ void gradient_overwrites(const float *part, float *grad, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        grad[i] = part[i];
}
