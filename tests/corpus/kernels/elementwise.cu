/* elementwise.cu - one output element from the input elements at the same place. */
#include "corpus.cuh"

/* y = a + b; the rows of a are `pitch` elements apart */
#define add_PARAMETERS(T) const T *a, const T *b, T *y, int rows, int cols, int pitch
#define add_ARGUMENTS     a, b, y, rows, cols, pitch
OPERATION(add)
{
    int n = MUTANT == 2 ? rows * cols - 1 : rows * cols;
    EACH_CELL(i, n)
    {
        int at = MUTANT == 1 ? i : i / cols * pitch + i % cols;
        if (MUTANT == 3 && i % cols >= cols / 4 * 4)
            continue;
        y[i] = (T)((float)a[at] + (float)b[i]);
        if (MUTANT == 4)
            break;
    }
}

/* y = alpha x */
#define scale_PARAMETERS(T) const T *x, T *y, int rows, int cols, float alpha
#define scale_ARGUMENTS     x, y, rows, cols, alpha
OPERATION(scale)
{
    float factor = MUTANT == 1 ? rounded<T>(alpha) : MUTANT == 2 ? 1 : alpha;
    EACH_CELL(i, MUTANT == 3 ? rows * cols + 1 : rows * cols) y[i] = (T)((float)x[i] * factor);
}

/* y = y + x */
#define residual_add_PARAMETERS(T) T *y, const T *x, int rows, int cols
#define residual_add_ARGUMENTS     y, x, rows, cols
OPERATION(residual_add)
{
    EACH_CELL(i, rows * cols)
    y[i] = (T)((MUTANT == 1 ? 0 : (float)y[MUTANT == 2 ? max(i - 1, 0) : i]) +
               (MUTANT == 3 ? 2 : 1) * (float)x[i]);
}

/* y = max(x, 0) */
#define relu_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define relu_ARGUMENTS     x, y, rows, cols
OPERATION(relu)
{
    EACH_CELL(i, rows * cols)
    {
        float v = (float)x[i];
        v = MUTANT == 1 ? fmaxf(v, 0) : larger(v, 0);
        y[i] = (T)(MUTANT == 2 && v > 6 ? 6 : v);
    }
}

/* y = x > 0 ? x : alpha x */
#define leaky_relu_PARAMETERS(T) const T *x, T *y, int rows, int cols, float alpha
#define leaky_relu_ARGUMENTS     x, y, rows, cols, alpha
OPERATION(leaky_relu)
{
    EACH_CELL(i, rows * cols)
    {
        float v = (float)x[i];
        y[i] = (T)(v > 0 ? v : v * (MUTANT == 1 ? 0.01f : alpha));
    }
}

/* y = x Phi(x) */
#define gelu_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define gelu_ARGUMENTS     x, y, rows, cols
OPERATION(gelu)
{
    EACH_CELL(i, rows * cols)
    {
        float v = (float)x[i];
        float right = v * (MUTANT == 2 ? rounded<T>(normal_cdf(v)) : normal_cdf(v));
        y[i] = (T)(MUTANT == 1 ? gelu_by_tanh(v) : right);
    }
}

/* The same by tanh. */
#define gelu_tanh_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define gelu_tanh_ARGUMENTS     x, y, rows, cols
OPERATION(gelu_tanh)
{
    EACH_CELL(i, rows * cols)
    {
        float v = (float)x[i];
        float u = 0.79788456f * (v + (MUTANT == 1 ? 0.04715f : 0.044715f) * v * v * v);
        float e = expf(2 * u);
        y[i] = (T)(0.5f * v * (1 + (MUTANT == 2 ? (e - 1) / (e + 1) : tanhf(u))));
    }
}

/* y = x sigmoid(x) */
#define silu_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define silu_ARGUMENTS     x, y, rows, cols
OPERATION(silu)
{
    EACH_CELL(i, rows * cols)
    {
        float v = (float)x[i];
        float s = MUTANT == 1 ? expf(v) / (1 + expf(v)) : logistic(v);
        y[i] = (T)(v * kept<T, MUTANT == 2>(s));
    }
}

/* y = silu(gate) up */
#define swiglu_PARAMETERS(T) const T *gate, const T *up, T *y, int rows, int cols
#define swiglu_ARGUMENTS     gate, up, y, rows, cols
OPERATION(swiglu)
{
    EACH_CELL(i, rows * cols)
    {
        float g = (float)(MUTANT == 2 ? up : gate)[i], u = (float)(MUTANT == 2 ? gate : up)[i];
        y[i] = (T)(kept<T, MUTANT == 1>(g * logistic(g)) * u);
    }
}

/* The same with gate and up side by side in each row. */
#define silu_and_mul_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define silu_and_mul_ARGUMENTS     x, y, rows, cols
OPERATION(silu_and_mul)
{
    EACH_CELL(i, rows * cols)
    {
        int at = i / cols * (MUTANT == 1 ? 1 : 2) * cols + i % cols;
        float g = (float)x[at], u = (float)x[at + cols];
        y[i] = (T)(kept<T, MUTANT == 2>(g * logistic(g)) * u);
    }
}

/* y = 1 / (1 + exp(-x)) */
#define sigmoid_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define sigmoid_ARGUMENTS     x, y, rows, cols
OPERATION(sigmoid)
{
    EACH_CELL(i, rows * cols) y[i] = (T)(1 / (1 + kept<T, MUTANT == 1>(expf(-(float)x[i]))));
}

/* y = tanh(x) */
#define tanh_PARAMETERS(T) const T *x, T *y, int rows, int cols
#define tanh_ARGUMENTS     x, y, rows, cols
OPERATION(tanh)
{
    EACH_CELL(i, rows * cols)
    {
        float e = expf(2 * (float)x[i]);
        y[i] = (T)(MUTANT == 1 ? (e - 1) / (e + 1) : tanhf((float)x[i]));
    }
}

/* y = x > 0 ? x : alpha (exp(x) - 1) */
#define elu_PARAMETERS(T) const T *x, T *y, int rows, int cols, float alpha
#define elu_ARGUMENTS     x, y, rows, cols, alpha
OPERATION(elu)
{
    EACH_CELL(i, rows * cols)
    {
        float v = (float)x[i];
        y[i] = (T)(v > 0 ? v : (MUTANT == 1 ? 1 : alpha) * expm1f(v));
    }
}

/* y = gelu(gate) up */
#define geglu_PARAMETERS(T) const T *gate, const T *up, T *y, int rows, int cols
#define geglu_ARGUMENTS     gate, up, y, rows, cols
OPERATION(geglu)
{
    EACH_CELL(i, rows * cols)
    {
        float g = (float)gate[i];
        y[i] = (T)((MUTANT == 1 ? gelu_by_tanh(g) : g * normal_cdf(g)) * (float)up[i]);
    }
}

/* y = x mask / (1 - p) */
#define dropout_PARAMETERS(T) const T *x, const T *mask, T *y, int rows, int cols, float p
#define dropout_ARGUMENTS     x, mask, y, rows, cols, p
OPERATION(dropout)
{
    float factor = MUTANT == 1 ? 1 : 1 / (1 - p);
    EACH_CELL(i, rows * cols)
    y[i] = (T)((float)x[i] * (float)mask[MUTANT == 2 ? i % cols : i] * factor);
}

/* y = x, rounded to nearest */
#define cast_PARAMETERS(T) const float *x, T *y, int rows, int cols
#define cast_ARGUMENTS     x, y, rows, cols
template <class T> __device__ static T toward_zero(float x)
{
    return (T)x;
}
template <> __device__ bf16 toward_zero(float x)
{
    return __float2bfloat16_rz(x);
}
template <> __device__ f16 toward_zero(float x)
{
    return __float2half_rz(x);
}
OPERATION(cast)
{
    EACH_CELL(i, rows * cols) y[i] = MUTANT == 1 ? toward_zero<T>(x[i]) : (T)x[i];
}

/* y = x + bias */
#define bias_add_PARAMETERS(T) const T *x, const T *bias, T *y, int rows, int cols
#define bias_add_ARGUMENTS     x, bias, y, rows, cols
OPERATION(bias_add)
{
    EACH_CELL(i, rows * cols)
    {
        float b = (float)bias[MUTANT == 2 ? i / cols % cols : i % cols];
        y[i] = (T)((float)x[i] + (MUTANT == 1 ? 0 : b));
    }
}

/* y = x + bias + residual */
#define bias_residual_add_PARAMETERS(T)                                                            \
    const T *x, const T *bias, const T *residual, T *y, int rows, int cols
#define bias_residual_add_ARGUMENTS x, bias, residual, y, rows, cols
OPERATION(bias_residual_add)
{
    EACH_CELL(i, rows * cols)
    y[i] = (T)(kept<T, MUTANT == 1>((float)x[i] + (float)bias[i % cols]) + (float)residual[i]);
}

/* y = a + alpha b */
#define add_scaled_PARAMETERS(T) const T *a, const T *b, T *y, int rows, int cols, float alpha
#define add_scaled_ARGUMENTS     a, b, y, rows, cols, alpha
OPERATION(add_scaled)
{
    EACH_CELL(i, rows * cols) y[i] = (T)((float)a[i] + (MUTANT == 1 ? 1 : alpha) * (float)b[i]);
}
