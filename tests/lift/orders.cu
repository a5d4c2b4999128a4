// orders.cu - the same computations in other orders, and others beside them, for `cuvet lift
// --exact`.
//
// A kernel NAME_wrong computes something else than those that share NAME. All take rows of x.
#define ROW_OF(x) (x + blockIdx.x * cols)
#define KERNEL(name)                                                                               \
    extern "C" __global__ void name(const float *x, const float *w, float *y, int cols, float eps)

/* ---- sums ---- */

KERNEL(sum_forward)
{
    float s = 0;
    for (int c = 0; c < cols; c++)
        s += ROW_OF(x)[c];
    if (threadIdx.x == 0)
        y[blockIdx.x] = s * eps;
}

KERNEL(sum_backward)
{
    float s = 0;
    for (int c = cols - 1; c >= 0; c--)
        s += ROW_OF(x)[c] * eps;
    if (threadIdx.x == 0)
        y[blockIdx.x] = s;
}

__device__ static float warp_sum(float s)
{
    for (int step = 16; step; step /= 2)
        s += __shfl_xor_sync(~0u, s, step);
    return s;
}

KERNEL(sum_lanes)
{
    float s = 0;
    for (int c = threadIdx.x; c < cols; c += 32)
        s += ROW_OF(x)[c];
    s = warp_sum(s);
    if (threadIdx.x == 0)
        y[blockIdx.x] = s * eps;
}

KERNEL(sum_atomic)
{
    if (threadIdx.x == 0)
        y[blockIdx.x] = 0;
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += 32)
        atomicAdd(&y[blockIdx.x], ROW_OF(x)[c] * eps);
}

KERNEL(sum_wrong)
{
    float s = 0;
    for (int c = threadIdx.x; c < cols - 1; c += 32)
        s += ROW_OF(x)[c];
    s = warp_sum(s);
    if (threadIdx.x == 0)
        y[blockIdx.x] = s * eps;
}

/* ---- softmax ---- */

#define EACH(c) for (int c = threadIdx.x; c < cols; c += 32)

KERNEL(softmax_plain)
{
    float s = 0;
    EACH(c) s += expf(ROW_OF(x)[c]);
    s = warp_sum(s);
    EACH(c) ROW_OF(y)[c] = expf(ROW_OF(x)[c]) / s;
}

__device__ static float warp_max(float m)
{
    for (int step = 16; step; step /= 2)
        m = fmaxf(m, __shfl_xor_sync(~0u, m, step));
    return m;
}

KERNEL(softmax_max)
{
    float m = -INFINITY, s = 0;
    EACH(c) m = fmaxf(m, ROW_OF(x)[c]);
    m = warp_max(m);
    EACH(c) s += expf(ROW_OF(x)[c] - m);
    s = 1 / warp_sum(s);
    EACH(c) ROW_OF(y)[c] = expf(ROW_OF(x)[c] - m) * s;
}

KERNEL(softmax_online)
{
    float m = -INFINITY, s = 0;
    EACH(c)
    {
        float v = ROW_OF(x)[c] * 1.44269504f, next = fmaxf(m, v);
        s = s * exp2f(m - next) + exp2f(v - next);
        m = next;
    }
    float most = warp_max(m);
    s = warp_sum(m == -INFINITY ? 0 : s * exp2f(m - most));
    EACH(c) ROW_OF(y)[c] = __expf(ROW_OF(x)[c] - most * 0.693147181f) / s;
}

KERNEL(softmax_wrong)
{
    float m = -INFINITY, s = 0;
    EACH(c) m = fmaxf(m, ROW_OF(x)[c]);
    m = warp_max(m);
    EACH(c) s += expf(ROW_OF(x)[c] - m);
    s = warp_sum(s) + expf(-m); /* padding counts */
    EACH(c) ROW_OF(y)[c] = expf(ROW_OF(x)[c] - m) / s;
}

/* ---- norms ---- */

KERNEL(norm_root)
{
    float s = 0;
    EACH(c) s += ROW_OF(x)[c] * ROW_OF(x)[c];
    s = warp_sum(s) / cols;
    EACH(c) ROW_OF(y)[c] = ROW_OF(x)[c] / sqrtf(s + eps) * w[c];
}

KERNEL(norm_scaled)
{
    float s = 0, part = 1.0f / cols;
    for (int c = cols - 1; c >= 0; c--)
        s = fmaf(ROW_OF(x)[c], ROW_OF(x)[c], s);
    float inverse = rsqrtf(s / cols + eps);
    EACH(c) ROW_OF(y)[c] = ROW_OF(x)[c] * (w[c] * inverse) + 0 * part;
}

KERNEL(norm_wrong)
{
    float s = 0;
    EACH(c) s += ROW_OF(x)[c] * ROW_OF(x)[c];
    s = warp_sum(s) / cols;
    EACH(c) ROW_OF(y)[c] = ROW_OF(x)[c] / (sqrtf(s) + eps) * w[c];
}

/* ---- elementwise ---- */

KERNEL(silu_quotient)
{
    EACH(c) ROW_OF(y)[c] = ROW_OF(x)[c] / (1 + expf(-ROW_OF(x)[c]));
}

KERNEL(silu_product)
{
    EACH(c)
    {
        float v = ROW_OF(x)[c], e = __expf(v);
        ROW_OF(y)[c] = v * (e / (e + 1));
    }
}

KERNEL(silu_wrong)
{
    EACH(c) ROW_OF(y)[c] = ROW_OF(x)[c] / (1 + expf(-1.702f * ROW_OF(x)[c]));
}

/* ---- products: x is [rows][cols], w one column ---- */

KERNEL(product_whole)
{
    float s = 0;
    for (int c = 0; c < cols; c++)
        s += ROW_OF(x)[c] * w[c];
    if (threadIdx.x == 0)
        y[blockIdx.x] = s + eps;
}

KERNEL(product_split)
{
    float even = eps, odd = 0;
    for (int c = 0; c < cols; c += 2)
        even += ROW_OF(x)[c] * w[c];
    for (int c = 1; c < cols; c += 2)
        odd += ROW_OF(x)[c] * w[c];
    if (threadIdx.x == 0)
        y[blockIdx.x] = odd + even;
}

KERNEL(product_wrong)
{
    float s = eps;
    for (int c = 0; c < cols; c++)
        s += ROW_OF(x)[c] * w[c ? c - 1 : 0];
    if (threadIdx.x == 0)
        y[blockIdx.x] = s;
}
