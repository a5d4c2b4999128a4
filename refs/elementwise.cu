/* elementwise.cu - one output element from the input elements at the same place. */
#include "ref.h"

// y = a + b
REFERENCE(add, "in a[rows][cols], in b[rows][cols], out y[rows][cols]")
{
    ELEMENT(r, rows, c, cols) y(r, c) = a(r, c) + b(r, c);
}

// y = a * b
REFERENCE(mul, "in a[rows][cols], in b[rows][cols], out y[rows][cols]")
{
    ELEMENT(r, rows, c, cols) y(r, c) = a(r, c) * b(r, c);
}

// y = alpha x
REFERENCE(scale, "in x[rows][cols], out y[rows][cols], real alpha")
{
    ELEMENT(r, rows, c, cols) y(r, c) = x(r, c) * alpha;
}

// y = x + residual, the skip connection of a transformer block
REFERENCE(residual_add, "in x[rows][cols], in residual[rows][cols], out y[rows][cols]")
{
    ELEMENT(r, rows, c, cols) y(r, c) = x(r, c) + residual(r, c);
}

// y = max(x, 0); NaN stays NaN, as in torch.relu
REFERENCE(relu, "in x[rows][cols], out y[rows][cols]")
{
    ELEMENT(r, rows, c, cols) y(r, c) = max(x(r, c), 0);
}

// y = x > 0 ? x : alpha x
REFERENCE(leaky_relu, "in x[rows][cols], out y[rows][cols], real alpha = 0.01")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = x(r, c);
        y(r, c) = where(t > 0, t, t * alpha);
    }
}

// y = x Phi(x) = x (1 + erf(x / sqrt 2)) / 2 (Hendrycks and Gimpel 2016)
REFERENCE(gelu, "in x[rows][cols], out y[rows][cols]")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = x(r, c);
        y(r, c) = t * 0.5 * (1 + erf(t * 0.7071067811865476));
    }
}

// y = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, the same paper's approximation
REFERENCE(gelu_tanh, "in x[rows][cols], out y[rows][cols]")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = x(r, c);
        auto u = (t + t * t * t * 0.044715) * 0.7978845608028654;
        y(r, c) = t * 0.5 * (1 + tanh(u));
    }
}

// y = x sigmoid(x)
REFERENCE(silu, "in x[rows][cols], out y[rows][cols]")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = x(r, c);
        y(r, c) = t * sigmoid(t);
    }
}

// y = silu(gate) up (Shazeer 2020)
REFERENCE(swiglu, "in gate[rows][cols], in up[rows][cols], out y[rows][cols]")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = gate(r, c);
        y(r, c) = t * sigmoid(t) * up(r, c);
    }
}

// the same with gate and up side by side in each row, as in vLLM's silu_and_mul
REFERENCE(silu_and_mul, "in x[rows][2][cols], out y[rows][cols]")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = x(r, 0, c);
        y(r, c) = t * sigmoid(t) * x(r, 1, c);
    }
}
