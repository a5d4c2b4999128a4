/* norm.cu - normalisation of rows. */
#include "ref.h"

// y = x / rms(x) * w, rstd = 1 / rms(x), rms(x) = sqrt(mean(x^2) + eps) (Zhang and Sennrich 2019)
REFERENCE(rmsnorm, "in x[rows][cols], in w[cols] = 1, out y[rows][cols], out rstd?[rows], "
                   "real eps")
{
    ROW(r, rows)
    {
        real ms = SUM(c, cols, square(x(r, c))) / cols;
        real inv = rsqrt(ms + eps);
        EACH(c, cols) y(r, c) = x(r, c) * inv * w(c);
        if (rstd.given)
            rstd(r) = inv;
    }
}

// y = (x - mean(x)) / sqrt(var(x) + eps) * w + b, var with 1 / n (Ba, Kiros and Hinton 2016)
REFERENCE(layernorm, "in x[rows][cols], in w[cols] = 1, in b[cols] = 0, out y[rows][cols], "
                     "out mean?[rows], out rstd?[rows], real eps")
{
    ROW(r, rows)
    {
        real mu = SUM(c, cols, x(r, c)) / cols;
        real var = SUM(c, cols, square(x(r, c) - mu)) / cols;
        real inv = rsqrt(var + eps);
        EACH(c, cols) y(r, c) = (x(r, c) - mu) * inv * w(c) + b(c);
        if (mean.given)
            mean(r) = mu;
        if (rstd.given)
            rstd(r) = inv;
    }
}
