/* elementwise.cu - one output element from the input elements at the same place. */
#include "ref.h"
#include "ref_machine.h"

// y = a + b
REFERENCE(add, "in a[rows][cols], in b[rows][cols], out y[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = a(r, c) + b(r, c);
}

// y = a * b
REFERENCE(mul, "in a[rows][cols], in b[rows][cols], out y[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = a(r, c) * b(r, c);
}

// y = alpha x
REFERENCE(scale, "in x[rows][cols], out y[rows][cols], real alpha, each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = x(r, c) * alpha;
}

// y = x + residual, the skip connection of a transformer block
REFERENCE(residual_add,
          "in x[rows][cols], in residual[rows][cols], out y[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = x(r, c) + residual(r, c);
}

// y = max(x, 0); NaN stays NaN, as in torch.relu
REFERENCE(relu, "in x[rows][cols], out y[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = max(x(r, c), 0);
}

// y = x > 0 ? x : alpha x
REFERENCE(leaky_relu,
          "in x[rows][cols], out y[rows][cols], real alpha = 0.01, each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = x(r, c);
        y(r, c) = where(t > 0, t, t * alpha);
    }
}

// y = x Phi(x) = x (1 + erf(x / sqrt 2)) / 2 (Hendrycks and Gimpel 2016)
REFERENCE(gelu, "in x[rows][cols], out y[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = x(r, c);
        y(r, c) = t * 0.5 * one_plus_erf(t * 0.7071067811865476);
    }
}

// y = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, the same paper's approximation
REFERENCE(gelu_tanh, "in x[rows][cols], out y[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = x(r, c);
        auto u = (t + t * t * t * 0.044715) * 0.7978845608028654;
        y(r, c) = t * 0.5 * one_plus_tanh(u);
    }
}

// y = x sigmoid(x)
REFERENCE(silu, "in x[rows][cols], out y[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = x(r, c);
        y(r, c) = t * sigmoid(t);
    }
}

// y = silu(gate) up (Shazeer 2020); `act` is silu(gate), rounded before the product in vLLM
REFERENCE(swiglu, "in gate[rows][cols], in up[rows][cols], out y[rows][cols], point act, "
                  "each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = gate(r, c);
        y(r, c) = act(t * sigmoid(t)) * up(r, c);
    }
}

// the same with gate and up side by side in each row, as in vLLM's silu_and_mul
REFERENCE(silu_and_mul, "in x[rows][2][cols], out y[rows][cols], point act, each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = x(r, 0, c);
        y(r, c) = act(t * sigmoid(t)) * x(r, 1, c);
    }
}

// y = a + alpha b, torch.add
REFERENCE_ONCE(add_scaled, "in a[rows][cols], in b[rows][cols], out y[rows][cols], "
                           "real alpha, each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = a(r, c) + b(r, c) * alpha;
}

// y = x + bias, the same for all rows
REFERENCE_ONCE(bias_add, "in x[rows][cols], in bias[cols], out y[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = x(r, c) + bias(c);
}

// y = max(t, 0), t = x + bias; `sum` is t, rounded where the sum is a kernel of its own
REFERENCE_ONCE(bias_relu, "in x[rows][cols], in bias[cols], out y[rows][cols], point sum, "
                          "each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = max(sum(x(r, c) + bias(c)), 0);
}

// y = gelu(t), t = x + bias, gelu with erf
REFERENCE_ONCE(bias_gelu, "in x[rows][cols], in bias[cols], out y[rows][cols], point sum, "
                          "each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = sum(x(r, c) + bias(c));
        y(r, c) = t * 0.5 * one_plus_erf(t * 0.7071067811865476);
    }
}

// y = gelu(t), t = x + bias, with gelu's approximation by tanh: Megatron's bias_gelu
REFERENCE_ONCE(bias_gelu_tanh, "in x[rows][cols], in bias[cols], out y[rows][cols], point sum, "
                               "each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = sum(x(r, c) + bias(c));
        auto u = (t + t * t * t * 0.044715) * 0.7978845608028654;
        y(r, c) = t * 0.5 * one_plus_tanh(u);
    }
}

// y = t sigmoid(t), t = x + bias
REFERENCE_ONCE(bias_silu, "in x[rows][cols], in bias[cols], out y[rows][cols], point sum, "
                          "each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = sum(x(r, c) + bias(c));
        y(r, c) = t * sigmoid(t);
    }
}

// y = x + bias + residual, what follows the output projection of a transformer block
REFERENCE_ONCE(bias_residual_add, "in x[rows][cols], in bias[cols], in residual[rows][cols], "
                                  "out y[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = x(r, c) + bias(c) + residual(r, c);
}

// y = x, rounded to the output's dtype
REFERENCE_ONCE(cast, "in x[rows][cols], out y[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = x(r, c);
}

// y = start + i step: torch.arange. A sample of 65536 elements.
REFERENCE_ONCE(arange, "out y[n], real start = 0, real step = 1")
{
    SAMPLE(i, n, 65536) y(i) = start + real(i) * step;
}

// y = start + i step in the first half, stop - (n - 1 - i) step in the second, from either end:
// torch.linspace, whose kernels of 16 bits round i. A sample of 65536 elements.
REFERENCE_ONCE(linspace, "out y[n], real start, real stop, real step, point number")
{
    SAMPLE(i, n, 65536)
    {
        real far = number(real(i < n / 2 ? i : n - 1 - i)) * step;
        y(i) = i < n / 2 ? start + far : stop - far;
    }
}

// y = x mask / (1 - p), mask of 0 and 1 as the kernel wrote or read it (Srivastava et al. 2014)
REFERENCE_ONCE(dropout, "in x[rows][cols], in mask[rows][cols], out y[rows][cols], real p, "
                        "each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = x(r, c) * mask(r, c) / (1 - p);
}

// y = x bit / (1 - p), the mask packed: bit c % bits of element c / bits of a row, the lowest bit
// first, `bits` in an element (8 of u8, 32 of i32 or u32; words of 64 bits are declared as twice as
// many of 32). A sample of 65536 elements.
REFERENCE_ONCE(dropout_bits, "in x[rows][cols], in mask[rows][words], out y[rows][cols], real p, "
                             "int bits, each rows")
{
    SAMPLE(i, bits > 0 ? rows * cols : 0, 65536)
    {
        long long r = i / cols, c = i % cols, word = INDEX(mask(r, c / bits));
        if (word >> c % bits & 1)
            y(r, c) = x(r, c) / (1 - p);
        else
            y(r, c) = 0.0;
    }
}

// y = 1 / (1 + e^-x)
REFERENCE_ONCE(sigmoid, "in x[rows][cols], out y[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = sigmoid(x(r, c));
}

// y = tanh(x)
REFERENCE_ONCE(tanh, "in x[rows][cols], out y[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = tanh(x(r, c));
}

// y = x > 0 ? x : alpha (e^x - 1) (Clevert, Unterthiner and Hochreiter 2015)
REFERENCE_ONCE(elu, "in x[rows][cols], out y[rows][cols], real alpha = 1, each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = x(r, c);
        y(r, c) = where(t > 0, t, (exp(t) - 1) * alpha);
    }
}

// y = gelu(gate) up, gelu with erf (Shazeer 2020)
REFERENCE_ONCE(geglu,
               "in gate[rows][cols], in up[rows][cols], out y[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = gate(r, c);
        y(r, c) = t * 0.5 * one_plus_erf(t * 0.7071067811865476) * up(r, c);
    }
}

// the same with gelu's approximation by tanh, as in Gemma
REFERENCE_ONCE(geglu_tanh,
               "in gate[rows][cols], in up[rows][cols], out y[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = gate(r, c);
        auto u = (t + t * t * t * 0.044715) * 0.7978845608028654;
        y(r, c) = t * 0.5 * one_plus_tanh(u) * up(r, c);
    }
}

// y = cap tanh(x / cap), which bounds logits (Gemma 2)
REFERENCE_ONCE(softcap, "in x[rows][cols], out y[rows][cols], real cap, each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = tanh(x(r, c) / cap) * cap;
}

// y = mask ? value : x, torch.masked_fill
REFERENCE_ONCE(masked_fill, "in x[rows][cols], in mask[rows][cols], out y[rows][cols], "
                            "real value, each rows, each cols")
{
    ELEMENT(r, rows, c, cols) y(r, c) = where(equals(mask(r, c), 0), x(r, c), value);
}

// y = x in another order of its dims, by the arrays' strides: transposes, torch.permute
REFERENCE_ONCE(permute, "in x[planes][batch][rows][cols], out y[planes][batch][rows][cols], "
                        "each planes, each batch, each rows, each cols")
{
    ELEMENT(i, planes * batch * rows, c, cols)
    {
        long long p = i / rows / batch, n = i / rows % batch, r = i % rows;
        y(p, n, r, c) = x(p, n, r, c);
    }
}

// queries, keys and values of all heads, side by side in each token, to heads apart: llm.c's
// permute_kernel; triples = 3 heads
REFERENCE_ONCE(qkv_split, "in x[batch][time][triples][dim], out q[batch][heads][time][dim], "
                          "out k[batch][heads][time][dim], out v[batch][heads][time][dim], "
                          "each batch, each time, each dim")
{
    ELEMENT(i, batch * heads * time, c, dim)
    {
        long long n = i / time / heads, h = i / time % heads, t = i % time;
        q(n, h, t, c) = x(n, t, h, c);
        k(n, h, t, c) = x(n, t, h + heads, c);
        v(n, h, t, c) = x(n, t, h + 2 * heads, c);
    }
}

// y = f(a, b, c, d), f being the formula of the entry; k0 .. k7 are its numbers. The program's
// default is that of k0 a + b.
REFERENCE_ONCE(formula, "in a[outer][planes][rows][cols] = 0, in b[outer][planes][rows][cols] = 0, "
                        "in c[outer][planes][rows][cols] = 0, in d[outer][planes][rows][cols] = 0, "
                        "out y[outer][planes][rows][cols], "
                        "int code0 = 60180923906, int code1 = 0, int code2 = 0, int code3 = 0, "
                        "int code4 = 0, int code5 = 0, int code6 = 0, int code7 = 0, "
                        "real k0 = 0, real k1 = 0, real k2 = 0, real k3 = 0, "
                        "real k4 = 0, real k5 = 0, real k6 = 0, real k7 = 0, "
                        "each outer, each planes, each rows, each cols")
{
    const long long word[FORMULA_WORDS] = {code0, code1, code2, code3, code4, code5, code6, code7};
    ELEMENT(row, outer * planes * rows, i, cols)
    {
        const long long o = row / (planes * rows), p = row / rows % planes, r = row % rows;
        typedef ref_same<decltype(a(o, p, r, i))> number;
        formula_machine<number> machine = {{number(a(o, p, r, i)), number(b(o, p, r, i)),
                                            number(c(o, p, r, i)), number(d(o, p, r, i))},
                                           {number(k0), number(k1), number(k2), number(k3),
                                            number(k4), number(k5), number(k6), number(k7)},
                                           {},
                                           0};
        machine.all(word);
        y(o, p, r, i) = machine.stack[0];
    }
}
