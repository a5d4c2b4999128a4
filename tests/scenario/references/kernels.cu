/*
 * kernels.cu - a kernel for each of 20 references in f64, f32, f16 and bf16, and for one of them
 * in every other type, each of which adds 2 to the one element that is given. A block has a row;
 * threads take its columns in turn.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

/* f64 is computed in f64, everything else in f32. */
template <class T> struct type_of {
    using real = float;
};
template <> struct type_of<double> {
    using real = double;
};

template <class T, class R> __device__ static inline void put_as(T *to, R value)
{
    *to = (T)value;
}
/* A truth value has no room for 2 more: it turns over. */
__device__ static inline void put_as(bool *to, float value)
{
    *to = (int)value % 2 != (value >= 2);
}

/* What a kernel is launched with; the meaning of the arrays is the operation's. */
template <class T> struct job {
    using real = typename type_of<T>::real;
    const T *a_, *b_, *c_;
    T *y, *s, *t;
    int rows, cols, inner;
    float alpha;
    int wrong;

    __device__ real a(int i) const
    {
        return (real)a_[i];
    }
    __device__ real b(int i) const
    {
        return (real)b_[i];
    }
    __device__ real c(int i) const
    {
        return (real)c_[i];
    }
    __device__ void put(int i, real value) const
    {
        put_as(y + i, i == wrong ? value + 2 : value);
    }
};

template <class R> __device__ static R block_fold(R value, bool maximum)
{
    __shared__ R part[32];
    for (int step = 16; step; step /= 2) {
        R other = __shfl_xor_sync(~0u, value, step);
        value = maximum ? fmax(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = value;
    __syncthreads();
    R all = part[0];
    for (unsigned warp = 1; warp < blockDim.x / 32; warp++)
        all = maximum ? fmax(all, part[warp]) : all + part[warp];
    return all;
}

/* The kernel of one operation in each type. */
#define PARAMETERS(T)                                                                              \
    const T *a, const T *b, const T *c, T *y, T *s, T *t, int rows, int cols, int inner,           \
        float alpha, int wrong
#define KERNEL_OF(op, suffix, T)                                                                   \
    extern "C" __global__ void op##_##suffix(PARAMETERS(T))                                        \
    {                                                                                              \
        op##_row(job<T>{a, b, c, y, s, t, rows, cols, inner, alpha, wrong}, (int)blockIdx.x);      \
    }
#define KERNELS_OF(op)                                                                             \
    KERNEL_OF(op, f64, double)                                                                     \
    KERNEL_OF(op, f32, float)                                                                      \
    KERNEL_OF(op, f16, __half)                                                                     \
    KERNEL_OF(op, bf16, __nv_bfloat16)

#define EACH_COLUMN(c) for (int c = threadIdx.x; c < job.cols; c += blockDim.x)
#define ROW(op)        template <class T> __device__ static void op##_row(job<T> job, int r)

/* `expression` in terms of x and z, the elements of a and b, and alpha. */
#define ELEMENTWISE(op, expression)                                                                \
    ROW(op)                                                                                        \
    {                                                                                              \
        typename type_of<T>::real alpha = job.alpha;                                               \
        (void)alpha;                                                                               \
        EACH_COLUMN(c)                                                                             \
        {                                                                                          \
            int i = r * job.cols + c;                                                              \
            auto x = job.a(i), z = job.b(i);                                                       \
            job.put(i, expression);                                                                \
        }                                                                                          \
    }                                                                                              \
    KERNELS_OF(op)

template <class R> __device__ static R silu_of(R x)
{
    return x / (1 + exp(-x));
}

template <class R> __device__ static R gelu_of(R x)
{
    return x * (R)0.5 * (1 + erf(x * (R)0.7071067811865476));
}

template <class R> __device__ static R gelu_tanh_of(R x)
{
    return x * (R)0.5 * (1 + tanh((x + x * x * x * (R)0.044715) * (R)0.7978845608028654));
}

ELEMENTWISE(add, x + z)
ELEMENTWISE(mul, x *z)
ELEMENTWISE(scale, x *alpha)
ELEMENTWISE(residual_add, x + z)
ELEMENTWISE(relu, fmax(x, 0 * x))
ELEMENTWISE(leaky_relu, (x > 0 ? x : x * alpha))
ELEMENTWISE(gelu, gelu_of(x))
ELEMENTWISE(gelu_tanh, gelu_tanh_of(x))
ELEMENTWISE(silu, silu_of(x))
ELEMENTWISE(swiglu, silu_of(x) * z)

/* Gate and up lie side by side in each row of a. */
ROW(silu_and_mul)
{
    EACH_COLUMN(c)
    {
        int gate = 2 * r * job.cols + c;
        job.put(r * job.cols + c, silu_of(job.a(gate)) * job.a(gate + job.cols));
    }
}
KERNELS_OF(silu_and_mul)

/* s gets 1 / rms. */
ROW(rmsnorm)
{
    typename type_of<T>::real squares = 0;
    EACH_COLUMN(c) squares += job.a(r * job.cols + c) * job.a(r * job.cols + c);
    auto inverse = 1 / sqrt(block_fold(squares, false) / job.cols + job.alpha);
    EACH_COLUMN(c) job.put(r * job.cols + c, job.a(r * job.cols + c) * inverse * job.b(c));
    put_as(job.s + r, inverse);
}
KERNELS_OF(rmsnorm)

/* s gets the mean, t 1 / the deviation. */
ROW(layernorm)
{
    typename type_of<T>::real sum = 0, squares = 0;
    EACH_COLUMN(c) sum += job.a(r * job.cols + c);
    auto mean = block_fold(sum, false) / job.cols;
    EACH_COLUMN(c)
    {
        auto off = job.a(r * job.cols + c) - mean;
        squares += off * off;
    }
    auto inverse = 1 / sqrt(block_fold(squares, false) / job.cols + job.alpha);
    EACH_COLUMN(c)
    {
        int i = r * job.cols + c;
        job.put(i, (job.a(i) - mean) * inverse * job.b(c) + job.c(c));
    }
    put_as(job.s + r, mean);
    put_as(job.t + r, inverse);
}
KERNELS_OF(layernorm)

template <class T>
__device__ static typename type_of<T>::real row_fold(job<T> job, int r, bool maximum)
{
    typename type_of<T>::real all = maximum ? -INFINITY : 0;
    EACH_COLUMN(c)
    {
        auto x = job.a(r * job.cols + c);
        all = maximum ? fmax(all, x) : all + x;
    }
    return block_fold(all, maximum);
}

ROW(row_sum)
{
    job.put(r, row_fold(job, r, false));
}
KERNELS_OF(row_sum)

ROW(row_max)
{
    job.put(r, row_fold(job, r, true));
}
KERNELS_OF(row_max)

ROW(row_mean)
{
    job.put(r, row_fold(job, r, false) / job.cols);
}
KERNELS_OF(row_mean)

/* alpha is the scale, and positive. */
ROW(softmax)
{
    typename type_of<T>::real sum = 0, alpha = job.alpha;
    auto most = row_fold(job, r, true) * alpha;
    EACH_COLUMN(c) sum += exp(job.a(r * job.cols + c) * alpha - most);
    auto inverse = 1 / block_fold(sum, false);
    EACH_COLUMN(c)
    job.put(r * job.cols + c, exp(job.a(r * job.cols + c) * alpha - most) * inverse);
}
KERNELS_OF(softmax)

ROW(log_softmax)
{
    typename type_of<T>::real sum = 0;
    auto most = row_fold(job, r, true);
    EACH_COLUMN(c) sum += exp(job.a(r * job.cols + c) - most);
    auto part = log(block_fold(sum, false));
    EACH_COLUMN(c) job.put(r * job.cols + c, job.a(r * job.cols + c) - most - part);
}
KERNELS_OF(log_softmax)

/* y = alpha a b + c */
ROW(matmul)
{
    EACH_COLUMN(n)
    {
        typename type_of<T>::real dot = 0, alpha = job.alpha;
        for (int k = 0; k < job.inner; k++)
            dot += job.a(r * job.inner + k) * job.b(k * job.cols + n);
        job.put(r * job.cols + n, alpha * dot + job.c(n));
    }
}
KERNELS_OF(matmul)

/* y = a b^T + c */
ROW(linear)
{
    EACH_COLUMN(n)
    {
        typename type_of<T>::real dot = 0;
        for (int k = 0; k < job.inner; k++)
            dot += job.a(r * job.inner + k) * job.b(n * job.inner + k);
        job.put(r * job.cols + n, dot + job.c(n));
    }
}
KERNELS_OF(linear)

/* Types that one operation serves, and what their values are made of. */
#define OTHER_TYPES(EACH)                                                                          \
    EACH(f8e4m3, __nv_fp8_e4m3, x)                                                                 \
    EACH(f8e5m2, __nv_fp8_e5m2, x)                                                                 \
    EACH(i8, signed char, floorf(x * 11))                                                          \
    EACH(i16, short, floorf(x * 11))                                                               \
    EACH(i32, int, floorf(x * 11))                                                                 \
    EACH(i64, long long, floorf(x * 11))                                                           \
    EACH(u8, unsigned char, floorf(fabsf(x) * 11))                                                 \
    EACH(u16, unsigned short, floorf(fabsf(x) * 11))                                               \
    EACH(u32, unsigned, floorf(fabsf(x) * 11))                                                     \
    EACH(u64, unsigned long long, floorf(fabsf(x) * 11))                                           \
    EACH(bool, bool, x > 0)
#define MUL_OF(suffix, T, value) KERNEL_OF(mul, suffix, T)
OTHER_TYPES(MUL_OF)

#define FILL(suffix, T, value)                                                                     \
    extern "C" __global__ void fill_##suffix(T *to, const float *from, int n)                      \
    {                                                                                              \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {  \
            float x = from[i];                                                                     \
            put_as(to + i, value);                                                                 \
        }                                                                                          \
    }
FILL(f64, double, x)
FILL(f32, float, x)
FILL(f16, __half, x)
FILL(bf16, __nv_bfloat16, x)
OTHER_TYPES(FILL)
