/*
 * kernels.cu - products of matrices, right and wrong in a few of their rows: a tile that is not
 * written, the end of k that is left out, rows that changed places.
 */
#include <cuda_fp16.h>

enum { TILE = 16, TILE_ROW = 112, TILE_COL = 32 };

struct right {
    static __device__ bool writes(int, int)
    {
        return true;
    }
    static __device__ int terms(int, int k)
    {
        return k;
    }
    static __device__ int row(int i)
    {
        return i;
    }
};

struct tile : right {
    static __device__ bool writes(int i, int j)
    {
        return i / TILE != TILE_ROW / TILE || j / TILE != TILE_COL / TILE;
    }
};

struct part : right {
    static __device__ int terms(int i, int k)
    {
        return i / TILE == TILE_ROW / TILE ? k - 8 : k;
    }
};

struct rows : right {
    static __device__ int row(int i)
    {
        return i == TILE_ROW ? i + 1 : i == TILE_ROW + 1 ? i - 1 : i;
    }
};

/* c = a b + bias, a thread an element; b as [k][n], or transposed as [n][k]; `adds` to what c
 * holds. */
template <class Fault, class T>
__device__ static void product(const T *a, const T *b, const float *bias, T *c, int m, int n, int k,
                               bool transposed, bool adds = false)
{
    int i = blockIdx.x, j = threadIdx.x;
    float sum = 0;
    for (int l = 0; l < Fault::terms(i, k); l++)
        sum += (float)a[i * k + l] * (float)(transposed ? b[j * k + l] : b[l * n + j]);
    if (i < m && j < n && Fault::writes(i, j))
        c[Fault::row(i) * n + j] =
            (T)(sum + (bias ? bias[j] : 0) + (adds ? (float)c[Fault::row(i) * n + j] : 0));
}

#define PRODUCTS(fault)                                                                            \
    extern "C" __global__ void plain_##fault(const float *a, const float *b, float *c, int m,      \
                                             int n, int k)                                         \
    {                                                                                              \
        product<fault>(a, b, nullptr, c, m, n, k, false);                                          \
    }                                                                                              \
    extern "C" __global__ void adds_##fault(const float *a, const float *b, float *c, int m,       \
                                            int n, int k)                                          \
    {                                                                                              \
        product<fault>(a, b, nullptr, c, m, n, k, false, true);                                    \
    }                                                                                              \
    extern "C" __global__ void layer_##fault(const __half *x, const __half *w, const float *bias,  \
                                             __half *y, int m, int n, int k)                       \
    {                                                                                              \
        product<fault>(x, w, bias, y, m, n, k, true);                                              \
    }                                                                                              \
    extern "C" __global__ void batch_##fault(const float *a, const float *b, float *c, int m,      \
                                             int n, int k)                                         \
    {                                                                                              \
        int s = blockIdx.y;                                                                        \
        if (s == 2)                                                                                \
            product<fault>(a + s * m * k, b + s * k * n, nullptr, c + s * m * n, m, n, k, true);   \
        else                                                                                       \
            product<right>(a + s * m * k, b + s * k * n, nullptr, c + s * m * n, m, n, k, true);   \
    }
PRODUCTS(right)
PRODUCTS(tile)
PRODUCTS(part)
PRODUCTS(rows)
