/* reduce.cu - one number from each row, or from each line along another axis. */
#include "ref.h"

// y = sum(x)
REFERENCE(row_sum, "in x[rows][cols], out y[rows], each rows")
{
    ROW(r, rows) y(r) = SUM(c, cols, x(r, c));
}

// y = max(x); NaN if one is NaN
REFERENCE(row_max, "in x[rows][cols], out y[rows], each rows")
{
    ROW(r, rows) y(r) = MAX(c, cols, x(r, c));
}

// y = max |x|, which a scale into f8 comes from; NaN if one is NaN
REFERENCE_ONCE(row_max_abs, "in x[rows][cols], out y[rows], each rows")
{
    ROW(r, rows) y(r) = MAX(c, cols, abs(x(r, c)));
}

// y = mean(x)
REFERENCE(row_mean, "in x[rows][cols], out y[rows], each rows")
{
    ROW(r, rows) y(r) = SUM(c, cols, x(r, c)) / cols;
}

// y = min(x); NaN if one is NaN
REFERENCE_ONCE(row_min, "in x[rows][cols], out y[rows], each rows")
{
    ROW(r, rows) y(r) = MIN(c, cols, x(r, c));
}

// y = the product of x
REFERENCE_ONCE(row_prod, "in x[rows][cols], out y[rows], each rows")
{
    ROW(r, rows) y(r) = PRODUCT(c, cols, x(r, c));
}

// y = the place of max(x), NaN counting as the largest: torch.argmax. Where several are largest,
// any of their places is right; the first is expected of a kernel that names none of them.
REFERENCE_ONCE(row_argmax, "in x[rows][cols], out y[rows], each rows")
{
    ROW(r, rows)
    {
        real most = MAX(c, cols, x(r, c));
        real first = MIN(c, cols, where(equals(x(r, c), most), NUMBER(c), cols));
        long long got = INDEX(y.after(r));
        long long place = got >= 0 && got < cols ? got : 0;
        y(r) = where(equals(x(r, place), most), NUMBER(place), first);
    }
}

// y = the place of max(x), of several the first, NaN counting as the largest: numpy.argmax
REFERENCE_ONCE(row_argmax_first, "in x[rows][cols], out y[rows], each rows")
{
    ROW(r, rows)
    {
        real most = MAX(c, cols, x(r, c));
        y(r) = MIN(c, cols, where(equals(x(r, c), most), NUMBER(c), cols));
    }
}

// y = sum(x) over the first n columns of each row, or with mean = 1 divided by max(n, least). Row r
// has n = lengths(r items / rows): a length for each row, or one for rows / items neighbours.
REFERENCE_ONCE(row_sum_lengths, "in x[rows][cols], in lengths[items], out y[rows], "
                                "real least = 0, int mean = 0, each rows like items")
{
    ROW(r, rows)
    {
        long long length = INDEX(lengths(r * items / rows));
        long long n = length < 0 ? 0 : length < cols ? length : cols;
        real sum = SUM(c, n, x(r, c));
        y(r) = mean ? sum / max(NUMBER(n), least) : sum;
    }
}

// y(b) = the sum of x(b, t) over the times t < n = lengths(b), divided by max(n, least) unless mean
// is 0: pooling of sequences of several lengths
REFERENCE_ONCE(pool_lengths, "in x[batch][time][cols], in lengths[batch], out y[batch][cols], "
                             "real least = 0, int mean = 1, each batch, each cols")
{
    ELEMENT(b, batch, c, cols)
    {
        long long length = INDEX(lengths(b));
        long long n = length < 0 ? 0 : length < time ? length : time;
        auto sum = SUM(t, n, x(b, t, c));
        if (mean)
            y(b, c) = sum / max(NUMBER(n), least);
        else
            y(b, c) = sum;
    }
}

// y(c) = x(0) + .. + x(c), torch.cumsum; a sample of the elements, about 2^23 additions
REFERENCE_ONCE(row_cumsum, "in x[rows][cols], out y[rows][cols], each rows")
{
    SAMPLE(i, rows * cols, cols > 32768 ? 256 : 8388608 / (cols + 1))
    {
        long long r = i / cols, last = i % cols;
        y(r, last) = SUM(c, last + 1, x(r, c));
    }
}

// y = the sum of each column, the gradient of a bias
REFERENCE_ONCE(col_sum, "in x[rows][cols], out y[cols], each cols")
{
    ROW(c, cols) y(c) = SUM(r, rows, x(r, c));
}

// y = the sum over an axis in the middle; one in front has planes = 1
REFERENCE_ONCE(axis_sum, "in x[planes][n][cols], out y[planes][cols], each planes, each cols")
{
    ELEMENT(p, planes, c, cols) y(p, c) = SUM(i, n, x(p, i, c));
}

// y = the mean over an axis in the middle
REFERENCE_ONCE(axis_mean, "in x[planes][n][cols], out y[planes][cols], each planes, each cols")
{
    ELEMENT(p, planes, c, cols) y(p, c) = SUM(i, n, x(p, i, c)) / n;
}

// y = the largest over an axis in the middle; NaN if one is NaN
REFERENCE_ONCE(axis_max, "in x[planes][n][cols], out y[planes][cols], each planes, each cols")
{
    ELEMENT(p, planes, c, cols) y(p, c) = MAX(i, n, x(p, i, c));
}

// y(b) = how many x are b, torch.bincount; a sample of the bins, about 2^23 comparisons
REFERENCE_ONCE(histogram, "in x[n], out y[bins]")
{
    SAMPLE(b, bins, n > 32768 ? 256 : 8388608 / (n + 1))
    {
        y(b) = SUM(i, n, NUMBER(equals(x(i), b)));
    }
}

// y = factor sum(x), over the two inner dims: a reduction over any of an array's dims. With
// skip_nan = 1 NaN counts as 0: torch.nansum
REFERENCE_ONCE(sum_over, "in x[outer][rows][planes][cols], out y[outer][rows], real factor = 1, "
                         "int skip_nan = 0, each outer, each rows")
{
    ROW(row, outer * rows)
    {
        const long long o = row / rows, r = row % rows;
        TERM(value, j, x(o, r, j / cols, j % cols));
        TERM(counts, j, !skip_nan || value(j).value(0) == value(j).value(0));
        y(o, r) = SUM_IF(j, planes * cols, counts(j), value(j)) * factor;
    }
}

// y = max(x), over the two inner dims, or with sign = -1 min(x); NaN if one is NaN. With truth = 1
// of 1 for each x that is not 0, and 0: torch.any, torch.all
REFERENCE_ONCE(max_over, "in x[outer][rows][planes][cols], out y[outer][rows], real sign = 1, "
                         "int truth = 0, each outer, each rows")
{
    ROW(row, outer * rows)
    {
        const long long o = row / rows, r = row % rows;
        TERM(value, j,
             truth ? real(NUMBER(x(o, r, j / cols, j % cols).value(0) != 0))
                   : real(x(o, r, j / cols, j % cols)));
        y(o, r) = sign * MAX_IF(j, planes * cols, true, sign * value(j));
    }
}

// y = sqrt(sum(x^2)), over the two inner dims; with root = 0 the sum itself, with power = 1 that
// of |x|; with power = 0 sum(|x|^exponent)^(1 / exponent)
REFERENCE_ONCE(norm_over, "in x[outer][rows][planes][cols], out y[outer][rows], int power = 2, "
                          "int root = 1, real exponent = 1, each outer, each rows")
{
    ROW(row, outer * rows)
    {
        const long long o = row / rows, r = row % rows;
        TERM(value, j, x(o, r, j / cols, j % cols));
        if (power == 0) {
            real all = SUM_IF(j, planes * cols, value(j).value(0) != 0,
                              exp(exponent * log(abs(value(j)))));
            y(o, r) = exp(log(all) / exponent);
        } else {
            real sum = power == 1 ? SUM_IF(j, planes * cols, true, abs(value(j)))
                                  : SUM_IF(j, planes * cols, true, square(value(j)));
            y(o, r) = root ? sqrt(sum) : sum;
        }
    }
}

// y = max(x), over the two inner dims, or with sign = -1 min(x), NaN counting as either; places =
// its place among them, the first one expected, any of several right: torch.max, torch.argmin
REFERENCE_ONCE(extreme_over, "in x[outer][rows][planes][cols], out y?[outer][rows], "
                             "out places?[outer][rows], real sign = 1, each outer, each rows")
{
    ROW(row, outer * rows)
    {
        const long long o = row / rows, r = row % rows, n = planes * cols;
        TERM(value, j, sign * x(o, r, j / cols, j % cols));
        real most = MAX_IF(j, n, true, value(j));
        real first = -MAX_IF(j, n, equals(value(j), most).yes[0], -NUMBER(j));
        long long got = INDEX(places.after(o, r));
        long long place = got >= 0 && got < n ? got : 0;
        if (y.given)
            y(o, r) = sign * most;
        if (places.given && n > 0)
            places(o, r) = where(equals(value(place), most), NUMBER(place), first);
    }
}

// mean and y = sum((x - mean)^2) / max(n - correction, 0), over the two inner dims of n elements,
// or with root = 1 its square root: torch.var_mean, torch.std
REFERENCE_ONCE(variance_over, "in x[outer][rows][planes][cols], out y?[outer][rows], "
                              "out mean?[outer][rows], real correction = 1, int root = 0, "
                              "each outer, each rows")
{
    ROW(row, outer * rows)
    {
        const long long o = row / rows, r = row % rows, n = planes * cols;
        TERM(value, j, x(o, r, j / cols, j % cols));
        real mu = SUM_IF(j, n, true, value(j)) / n;
        real spread = SUM_IF(j, n, true, square(value(j) - mu)) / max(n - correction, 0);
        if (y.given)
            y(o, r) = root ? sqrt(spread) : spread;
        if (mean.given)
            mean(o, r) = mu;
    }
}
