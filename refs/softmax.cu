/* softmax.cu - rows to probabilities and to their logarithms. */
#include "ref.h"

// y = exp(s x - m) / sum(exp(s x - m)), m = max(s x), s = scale
REFERENCE(softmax, "in x[rows][cols], out y[rows][cols], real scale = 1")
{
    ROW(r, rows)
    {
        real m = MAX(c, cols, x(r, c) * scale);
        real inv = 1 / SUM(c, cols, exp(x(r, c) * scale - m));
        EACH(c, cols) y(r, c) = exp(x(r, c) * scale - m) * inv;
    }
}

// y = x - m - ln(sum(exp(x - m))), m = max(x)
REFERENCE(log_softmax, "in x[rows][cols], out y[rows][cols]")
{
    ROW(r, rows)
    {
        real m = MAX(c, cols, x(r, c));
        real lse = log(SUM(c, cols, exp(x(r, c) - m)));
        EACH(c, cols) y(r, c) = x(r, c) - m - lse;
    }
}
