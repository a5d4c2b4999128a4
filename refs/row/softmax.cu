/* softmax.cu - rows to probabilities and to their logarithms. */
#include "ref.h"

// y = exp(s x - m) / sum(exp(s x - m)), m = max(s x), s = scale; `scaled` is s x, rounded where the
// scaling is a kernel of its own in the unfused formula
REFERENCE(softmax, "in x[rows][cols], out y[rows][cols], real scale = 1, point scaled, each rows")
{
    ROW(r, rows)
    {
        // the largest s x: that of the largest x, or of the smallest where s is negative
        real top = scale.v < 0 ? MIN(c, cols, x(r, c)) : MAX(c, cols, x(r, c));
        real m = scaled(top * scale);
        MASKED(m);
        real inv = 1 / SUM(c, cols, exp(scaled(x(r, c) * scale) - m));
        EACH(c, cols) y(r, c) = exp(scaled(x(r, c) * scale) - m) * inv;
    }
}

// y = x - m - ln(sum(exp(x - m))), m = max(x)
REFERENCE(log_softmax, "in x[rows][cols], out y[rows][cols], each rows")
{
    ROW(r, rows)
    {
        real m = MAX(c, cols, x(r, c));
        real lse = log(SUM(c, cols, exp(x(r, c) - m)));
        EACH(c, cols) y(r, c) = x(r, c) - m - lse;
    }
}

// y = softmax(s x + mask), s = scale; a mask that several heads or sequences share has strides of
// 0. What is subtracted before exp cancels from the quotient: a finite mask of -1e9 costs nothing.
REFERENCE_ONCE(softmax_masked,
               "in x[batch][heads][rows][cols], in mask[batch][heads][rows][cols] = 0, "
               "out y[batch][heads][rows][cols], real scale = 1, each batch, each heads, each rows")
{
    ROW(i, batch * heads * rows)
    {
        long long n = i / rows / heads, h = i / rows % heads, r = i % rows;
        real m = exactly(MAX(c, cols, x(n, h, r, c) * scale + mask(n, h, r, c)));
        MASKED(m);
        real inv = 1 / SUM(c, cols, exp(x(n, h, r, c) * scale + mask(n, h, r, c) - m));
        EACH(c, cols)
        y(n, h, r, c) = exp(x(n, h, r, c) * scale + mask(n, h, r, c) - m) * inv;
    }
}

// y = softmax(s x) over the columns whose mask is 0, and 0 in the others, also where a row has no
// such column, or NaN where it has a NaN or Inf in one: Megatron's fused softmax
REFERENCE_ONCE(softmax_boolean,
               "in x[batch][heads][rows][cols], in mask[batch][heads][rows][cols], "
               "out y[batch][heads][rows][cols], real scale = 1, each batch, each heads, each rows")
{
    ROW(i, batch * heads * rows)
    {
        long long n = i / rows / heads, h = i / rows % heads, r = i % rows;
        real m = exactly(MAX_IF(c, cols, INDEX(mask(n, h, r, c)) == 0, x(n, h, r, c) * scale));
        real inv =
            1 / SUM_IF(c, cols, INDEX(mask(n, h, r, c)) == 0, exp(x(n, h, r, c) * scale - m));
        const double rest = m.value(0) < ref_infinity() ? 0 : ref_nan();
        EACH(c, cols)
        y(n, h, r, c) =
            where(equals(mask(n, h, r, c), 0), exp(x(n, h, r, c) * scale - m) * inv, rest);
    }
}

// y = softmax(s x) over the columns c <= r + diagonal, which is torch.tril's; 0 in the others, or,
// with zeros = 0, these are not checked (llm.c leaves them as they were)
REFERENCE_ONCE(softmax_causal, "in x[batch][rows][cols], out y[batch][rows][cols], "
                               "real scale = 1, int diagonal = 0, int zeros = 1, each batch")
{
    ROW(i, batch * rows)
    {
        long long n = i / rows, r = i % rows, last = diagonal < cols ? r + diagonal : cols;
        long long seen = last < 0 ? 0 : last < cols ? last + 1 : cols;
        real m = exactly(MAX(c, seen, x(n, r, c) * scale));
        MASKED(m);
        real inv = 1 / SUM(c, seen, exp(x(n, r, c) * scale - m));
        EACH(c, seen) y(n, r, c) = exp(x(n, r, c) * scale - m) * inv;
        EACH(c, zeros ? cols - seen : 0) y(n, r, c + seen) = 0.0;
    }
}

// y = softmax(s x) over the first columns of each row, s = scale; 0 in the others, or, with
// zeros = 0, these are not checked. Row r has lengths(r items / rows) first columns: a length for
// each row, or one for rows / items neighbours, such as the heads and queries of a sequence.
REFERENCE_ONCE(softmax_lengths, "in x[rows][cols], in lengths[items], out y[rows][cols], "
                                "real scale = 1, int zeros = 1, each rows like items")
{
    ROW(r, rows)
    {
        long long length = INDEX(lengths(r * items / rows));
        long long seen = length < 0 ? 0 : length < cols ? length : cols;
        real m = exactly(MAX(c, seen, x(r, c) * scale));
        MASKED(m);
        real inv = 1 / SUM(c, seen, exp(x(r, c) * scale - m));
        EACH(c, seen) y(r, c) = exp(x(r, c) * scale - m) * inv;
        EACH(c, zeros ? cols - seen : 0) y(r, c + seen) = 0.0;
    }
}

// y = m + ln(sum(exp(x - m))), m = max(x), 0 where that is infinite: torch.logsumexp
REFERENCE_ONCE(logsumexp, "in x[rows][cols], out y[rows], each rows")
{
    ROW(r, rows)
    {
        real most = MAX(c, cols, x(r, c));
        real m = where(abs(most) < 1e300, most, 0);
        y(r) = m + log(SUM(c, cols, exp(x(r, c) - m)));
    }
}
