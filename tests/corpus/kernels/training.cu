/* training.cu - gradients of activations, and steps of optimisers. */
#include "corpus.cuh"

/* dx = dy s (1 + x (1 - s)), s = sigmoid(x) */
#define silu_backward_PARAMETERS(T) const T *dy, const T *x, T *dx, int rows, int cols
#define silu_backward_ARGUMENTS     dy, x, dx, rows, cols
OPERATION(silu_backward)
{
    EACH_CELL(i, rows * cols)
    {
        if (MUTANT == 2)
            ((T *)x)[i] = (T)(2 * (float)x[i]);
        float v = (float)x[i], s = kept<T, MUTANT == 1>(logistic(v));
        dx[i] = (T)((float)dy[i] * s * (1 + v * (1 - s)));
    }
}

/* dx = dy (Phi(x) + x phi(x)) */
#define gelu_backward_PARAMETERS(T) const T *dy, const T *x, T *dx, int rows, int cols
#define gelu_backward_ARGUMENTS     dy, x, dx, rows, cols
OPERATION(gelu_backward)
{
    EACH_CELL(i, rows * cols)
    {
        float v = (float)x[i], density = expf(-0.5f * v * v) * 0.39894228f;
        float slope = MUTANT == 1 ? 1.702f * logistic(1.702f * v) : density;
        float q = logistic(1.702f * v);
        dx[i] =
            (T)((float)dy[i] * (MUTANT == 1 ? q + v * slope * (1 - q) : normal_cdf(v) + v * slope));
    }
}

/* The same of gelu by tanh. */
#define gelu_tanh_backward_PARAMETERS(T) const T *dy, const T *x, T *dx, int rows, int cols
#define gelu_tanh_backward_ARGUMENTS     dy, x, dx, rows, cols
OPERATION(gelu_tanh_backward)
{
    EACH_CELL(i, rows * cols)
    {
        float v = (float)x[i];
        float h = tanhf(0.79788456f * (v + 0.044715f * v * v * v));
        float slope = 0.79788456f * (1 + (MUTANT == 1 ? 1 : 3) * 0.044715f * v * v);
        dx[i] = (T)((float)dy[i] * (0.5f * (1 + h) + 0.5f * v * (1 - h * h) * slope));
    }
}

/* dgate = dy up s (1 + gate (1 - s)), dup = dy gate s, s = sigmoid(gate) */
#define swiglu_backward_PARAMETERS(T)                                                              \
    const T *dy, const T *gate, const T *up, T *dgate, T *dup, int rows, int cols
#define swiglu_backward_ARGUMENTS dy, gate, up, dgate, dup, rows, cols
OPERATION(swiglu_backward)
{
    EACH_CELL(i, rows * cols)
    {
        float d = (float)dy[i], g = (float)gate[i], s = logistic(g);
        dgate[i] = (T)(d * (float)up[i] * s * (1 + g * (1 - s)));
        dup[i] = (T)(d * kept<T, MUTANT == 1>(g * s));
    }
}

/* One step of AdamW; the moments are f32. */
#define adamw_PARAMETERS(T)                                                                        \
    T *p, const T *g, float *m, float *v, int rows, int cols, float lr, float beta1, float beta2,  \
        float eps, float decay, float c1, float c2
#define adamw_ARGUMENTS p, g, m, v, rows, cols, lr, beta1, beta2, eps, decay, c1, c2
OPERATION(adamw)
{
    EACH_CELL(i, rows * cols)
    {
        float old = (float)p[i], grad = (float)g[i];
        m[i] = beta1 * m[i] + (1 - beta1) * grad;
        v[i] = beta2 * v[i] + (1 - beta2) * grad * grad;
        float by =
            MUTANT == 1 ? sqrtf(v[i] / c2 + eps) : sqrtf(v[i] / (MUTANT == 3 ? 1 : c2)) + eps;
        float step = m[i] / c1 / by + (MUTANT == 2 ? 0 : decay) * old;
        p[i] = (T)(kept<T, MUTANT == 4>(old) - kept<T, MUTANT == 4>(lr * step));
    }
}

/* One step of SGD with momentum. */
#define sgd_PARAMETERS(T)                                                                          \
    T *p, const T *g, T *m, int rows, int cols, float lr, float momentum, float dampening,         \
        float decay
#define sgd_ARGUMENTS p, g, m, rows, cols, lr, momentum, dampening, decay
OPERATION(sgd)
{
    EACH_CELL(i, rows * cols)
    {
        float old = (float)p[i], grad = (float)g[i] + (MUTANT == 2 ? 0 : decay) * old;
        float next = momentum * (float)m[i] + (1 - (MUTANT == 1 ? 0 : dampening)) * grad;
        m[i] = (T)next;
        p[i] = (T)(old - lr * (MUTANT == 3 ? (float)m[i] : next));
    }
}
