/*
 * kernels.cu - a model of a few layers: norm, rotary embedding, keys into a cache in pages,
 * attention over it.
 */
#include "kernels.cuh"

/* A row a block, by the number of threads that the launch has. */
extern "C" __global__ void norm_rows(const float *x, const float *w, float *y, int cols, float eps)
{
    rmsnorm_row(x + blockIdx.x * cols, w, y + blockIdx.x * cols, cols, cols, eps);
}

/* Columns c and c + half of each head are turned by the angle of a position. */
struct rotation {
    const float *cosines, *sines;
    int heads, half;
};

__device__ static void rotate(const rotation &of, const float *x, float *y, int position)
{
    for (int i = threadIdx.x; i < of.heads * of.half; i += blockDim.x) {
        int at = i / of.half * 2 * of.half + i % of.half, angle = position * of.half + i % of.half;
        float a = x[at], b = x[at + of.half], c = of.cosines[angle], s = of.sines[angle];
        y[at] = a * c - b * s;
        y[at + of.half] = b * c + a * s;
    }
}

/* One token, its position by value. */
extern "C" __global__ void rope_direct(const float *x, const float *cosines, const float *sines,
                                       float *y, int position, int heads, int half)
{
    rotate({cosines, sines, heads, half}, x, y, position);
}

/* A position for each token, in device memory. */
extern "C" __global__ void rope_indirect(const float *x, const float *cosines, const float *sines,
                                         float *y, const int *position, int heads, int half)
{
    int row = blockIdx.x * heads * 2 * half;
    rotate({cosines, sines, heads, half}, x + row, y + row, position[blockIdx.x]);
}

/* cache[slots[t]] = key[t]; -1 is nowhere. */
extern "C" __global__ void append(const float *key, const int *slots, float *cache, int rows,
                                  int width)
{
    int slot = slots[blockIdx.x];
    for (int c = threadIdx.x; slot >= 0 && c < width; c += blockDim.x)
        cache[slot * width + c] = key[blockIdx.x * width + c];
}

/* A block a sequence and head, one query each; the cache holds keys and values alike. */
extern "C" __global__ void attend(const float *q, const float *cache, const int *table,
                                  const int *lengths, float *y, int entries, int pages, int page,
                                  int heads, int dim, float scale)
{
    int n = blockIdx.x / heads, h = blockIdx.x % heads, c = threadIdx.x;
    float most = -1e30f, sum = 0, out = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int s = 0; s < lengths[n]; s++) {
            int at = (table[n * entries + s / page] * page + s % page) * heads + h;
            float dot = 0;
            for (int i = 0; i < dim; i++)
                dot += q[(n * heads + h) * dim + i] * cache[at * dim + i];
            dot *= scale;
            most = pass == 0 && dot > most ? dot : most;
            float weight = pass ? expf(dot - most) : 0;
            sum += weight;
            out += c < dim ? weight * cache[at * dim + c] : 0;
        }
    }
    if (c < dim)
        y[(n * heads + h) * dim + c] = sum > 0 ? out / sum : 0;
}
