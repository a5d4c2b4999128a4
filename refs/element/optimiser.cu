/*
 * optimiser.cu - steps of optimisers.
 *
 * Parameters may have a master copy in a finer dtype, from which the step goes on and which is
 * written as well; gradients are multiplied by grad_scale first.
 */
#include "ref.h"

// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
// p = p - lr (m / c1 / (sqrt(v / c2) + eps) + decay p), c1 = 1 - beta1^t, c2 = 1 - beta2^t
// (Loshchilov and Hutter 2019)
REFERENCE_ONCE(adamw,
               "inout p[rows][cols], inout master?[rows][cols], in g[rows][cols], "
               "inout m[rows][cols], inout v[rows][cols], real lr, real beta1, real beta2, "
               "real eps, real decay, real c1, real c2, real grad_scale = 1, each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto old = master.given ? master.before(r, c) : p.before(r, c);
        auto grad = g(r, c) * grad_scale;
        auto m1 = m.before(r, c) * beta1 + grad * (1 - beta1);
        auto v1 = v.before(r, c) * beta2 + square(grad) * (1 - beta2);
        auto step = m1 / c1 / (sqrt(v1 / c2) + eps) + old * decay;
        m(r, c) = m1;
        v(r, c) = v1;
        p(r, c) = old - step * lr;
        if (master.given)
            master(r, c) = old - step * lr;
    }
}

// the same with the corrections by the number of the step, 1 for the first: c1 = 1 - beta1^step,
// c2 = 1 - beta2^step, for kernels that compute them (torch's fused AdamW)
REFERENCE_ONCE(adamw_step,
               "inout p[rows][cols], inout master?[rows][cols], in g[rows][cols], "
               "inout m[rows][cols], inout v[rows][cols], real lr, real beta1, real beta2, "
               "real eps, real decay, real step, real grad_scale = 1, each rows, each cols")
{
    real c1 = 1 - power(beta1, step), c2 = 1 - power(beta2, step);
    ELEMENT(r, rows, c, cols)
    {
        auto old = master.given ? master.before(r, c) : p.before(r, c);
        auto grad = g(r, c) * grad_scale;
        auto m1 = m.before(r, c) * beta1 + grad * (1 - beta1);
        auto v1 = v.before(r, c) * beta2 + square(grad) * (1 - beta2);
        auto change = m1 / c1 / (sqrt(v1 / c2) + eps) + old * decay;
        m(r, c) = m1;
        v(r, c) = v1;
        p(r, c) = old - change * lr;
        if (master.given)
            master(r, c) = old - change * lr;
    }
}

// g = g + decay p, m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
// p = p - lr m / c1 / (sqrt(v / c2) + eps) with c1 and c2 as in adamw_step, and where `most` is
// given the largest v so far in v's place: torch's fused Adam, AMSGrad too (Reddi et al. 2018).
// With coupled = 0 g stays and decay lr p is subtracted, as in AdamW.
REFERENCE_ONCE(adam_step,
               "inout p[rows][cols], inout master?[rows][cols], in g[rows][cols], "
               "inout m[rows][cols], inout v[rows][cols], inout most?[rows][cols], real lr, "
               "real beta1, real beta2, real eps, real decay, real step, real grad_scale = 1, "
               "int coupled = 1, each rows, each cols")
{
    real c1 = 1 - power(beta1, step), c2 = 1 - power(beta2, step);
    ELEMENT(r, rows, c, cols)
    {
        auto old = master.given ? master.before(r, c) : p.before(r, c);
        auto scaled = g(r, c) * grad_scale;
        auto grad = coupled ? scaled + old * decay : scaled + old * 0;
        auto m1 = m.before(r, c) * beta1 + grad * (1 - beta1);
        auto v1 = v.before(r, c) * beta2 + square(grad) * (1 - beta2);
        auto largest = most.given ? max(most.before(r, c), v1) : max(v1, v1);
        auto step1 = m1 / c1 / (sqrt(largest / c2) + eps);
        auto change = coupled ? step1 + old * 0 : step1 + old * decay;
        m(r, c) = m1;
        v(r, c) = v1;
        if (most.given)
            most(r, c) = largest;
        p(r, c) = old - change * lr;
        if (master.given)
            master(r, c) = old - change * lr;
    }
}

// g = g + decay p, m = momentum m + (1 - dampening) g, m = g in the first step,
// p = p - lr m, or p - lr (g + momentum m) after Nesterov: torch.optim.SGD
REFERENCE_ONCE(sgd, "inout p[rows][cols], inout master?[rows][cols], in g[rows][cols], "
                    "inout m?[rows][cols], real lr, real momentum = 0, real dampening = 0, "
                    "real decay = 0, real grad_scale = 1, int nesterov = 0, int first = 0, "
                    "each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto old = master.given ? master.before(r, c) : p.before(r, c);
        auto grad = g(r, c) * grad_scale + old * decay;
        auto m1 = m.before(r, c) * momentum + grad * (1 - dampening);
        auto kept = m.given && !first ? m1 : grad;
        auto step = m.given && !nesterov ? kept : m.given ? grad + kept * momentum : grad;
        p(r, c) = old - step * lr;
        if (m.given)
            m(r, c) = kept;
        if (master.given)
            master(r, c) = old - step * lr;
    }
}
