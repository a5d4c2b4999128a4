/*
 * kernels.cu - kernels that find their arrays through addresses in device memory, right ones and
 * wrong ones. Matrix number `skipped` is none of theirs.
 */

/* c = a b for a batch of matrices, one a block; a has rows of `pitch` elements. Wrong: the last
 * matrix lacks the last term in its last row; or nothing is larger than `most`. */
__device__ static void multiply(const float *a, const float *b, float *c, int m, int n, int k,
                                int pitch, bool is_short, float most = INFINITY)
{
    for (int i = threadIdx.x; i < m * n; i += blockDim.x) {
        int row = i / n, terms = is_short && row == m - 1 ? k - 1 : k;
        float sum = 0;
        for (int l = 0; l < terms; l++)
            sum += a[row * pitch + l] * b[l * n + i % n];
        c[i] = fminf(sum, most);
    }
}

#define MULTIPLY(name, is_short)                                                                   \
    extern "C" __global__ void name(const float *const *a, const float *const *b, float *const *c, \
                                    int m, int n, int k, int pitch, int skipped)                   \
    {                                                                                              \
        int s = blockIdx.x;                                                                        \
        if (s != skipped)                                                                          \
            multiply(a[s], b[s], c[s], m, n, k, pitch, is_short);                                  \
    }
MULTIPLY(multiply_right, false)
MULTIPLY(multiply_short, blockIdx.x == gridDim.x - 1)

/* The same, the lists in a struct, and b one matrix for all. */
struct lists {
    const float *const *a;
    float *const *c;
    const float *b;
};

#define SHARE(name, ...)                                                                           \
    extern "C" __global__ void name(lists lists, int m, int n, int k, int pitch, int skipped)      \
    {                                                                                              \
        int s = blockIdx.x;                                                                        \
        if (s != skipped)                                                                          \
            multiply(lists.a[s], lists.b, lists.c[s], m, n, k, pitch, __VA_ARGS__);                \
    }
SHARE(share_right, false)
SHARE(share_short, blockIdx.x == gridDim.x - 1)
SHARE(share_narrow, false, 50) /* right unless something is larger */

/* y = y + x for vectors of m * k, or only for the first of all. */
#define SUM(name, count)                                                                           \
    extern "C" __global__ void name(const float *const *x, float *const *y, int m, int k,          \
                                    int skipped)                                                   \
    {                                                                                              \
        int s = blockIdx.x;                                                                        \
        for (int i = threadIdx.x; i < m * k && s < (count) && s != skipped; i += blockDim.x)       \
            y[s][i] += x[s][i];                                                                    \
    }
SUM(sum_right, gridDim.x)
SUM(sum_first, 1)
