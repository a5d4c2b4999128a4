/* reduce.cu - one number from each row. */
#include "ref.h"

// y = sum(x)
REFERENCE(row_sum, "in x[rows][cols], out y[rows]")
{
    ROW(r, rows) y(r) = SUM(c, cols, x(r, c));
}

// y = max(x); NaN if one is NaN
REFERENCE(row_max, "in x[rows][cols], out y[rows]")
{
    ROW(r, rows) y(r) = MAX(c, cols, x(r, c));
}

// y = mean(x)
REFERENCE(row_mean, "in x[rows][cols], out y[rows]")
{
    ROW(r, rows) y(r) = SUM(c, cols, x(r, c)) / cols;
}
