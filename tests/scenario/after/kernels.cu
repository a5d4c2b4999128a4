/*
 * kernels.cu - products in two kernels: the first sums each part of k into a plane of its own, the
 * second adds the planes; right ones and wrong ones.
 */

/* parts[s] = a[:, part s of k] b[part s of k, :]; a block a row and part. */
__device__ static void split(const float *a, const float *b, float *parts, int m, int n, int k,
                             int missing)
{
    int row = blockIdx.x, part = blockIdx.y, length = (k + gridDim.y - 1) / gridDim.y;
    int first = part * length, end = min(first + length, k) - (part == 1 ? missing : 0);
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        float sum = 0;
        for (int i = first; i < end; i++)
            sum += a[row * k + i] * b[i * n + c];
        parts[((size_t)part * m + row) * n + c] = sum;
    }
}

#define SPLIT(name, missing)                                                                       \
    extern "C" __global__ void name(const float *a, const float *b, float *parts, int m, int n,    \
                                    int k)                                                         \
    {                                                                                              \
        split(a, b, parts, m, n, k, missing);                                                      \
    }
SPLIT(split_right, 0)
SPLIT(split_short, 1)

/* The same with another parameter list. */
extern "C" __global__ void split_long(const float *a, const float *b, float *parts, int m, int n,
                                      long long k)
{
    split(a, b, parts, m, n, (int)k, 0);
}

__device__ static void add_up(const float *parts, float *c, int size, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
        float sum = 0;
        for (int s = 0; s < count; s++)
            sum += parts[(size_t)s * size + i];
        c[i] = sum;
    }
}

#define ADD_UP(name, missing)                                                                      \
    extern "C" __global__ void name(const float *parts, float *c, int size, int count)             \
    {                                                                                              \
        add_up(parts, c, size, count - (missing));                                                 \
    }
ADD_UP(add_up_right, 0)
ADD_UP(add_up_short, 1)

extern "C" __global__ void between(float *y)
{
    y[threadIdx.x] = 1;
}
