/*
 * indexed.cu - elements by a mask, by their place in a row, and places themselves; elements by
 * index are in select.cu.
 */
#include "ref.h"

// y(i) = source(prefix(i)) where the mask holds, else x(i); prefix(i) counts the elements of the
// mask before i: torch.masked_scatter. A sample of elements.
REFERENCE_ONCE(masked_scatter,
               "in x[n], in mask[n], in prefix[n], in source[entries][1], out y[n], each n, "
               "touch entries by prefix")
{
    SAMPLE(i, n, 65536)
    {
        if (INDEX(mask(i)) != 0)
            y(i) = source(INDEX(prefix(i)), 0);
        else
            y(i) = x(i);
    }
}

// y(r, c) = x(r, c) where c <= r + diagonal, or with upper = 1 where c >= r + diagonal, else 0:
// torch.tril, torch.triu
REFERENCE_ONCE(triangle, "in x[outer][planes][rows][cols], out y[outer][planes][rows][cols], "
                         "int diagonal = 0, int upper = 0, each outer, each planes")
{
    ELEMENT(i, outer * planes * rows, c, cols)
    {
        const long long o = i / rows / planes, p = i / rows % planes, r = i % rows;
        if (upper)
            y(o, p, r, c) = where(NUMBER(c) < (double)(r + diagonal), 0.0, x(o, p, r, c));
        else
            y(o, p, r, c) = where(NUMBER(c) > (double)(r + diagonal), 0.0, x(o, p, r, c));
    }
}

// y(p, r, c) = x from the other end along each dim whose number is 1: torch.flip
REFERENCE_ONCE(flip, "in x[planes][rows][cols], out y[planes][rows][cols], int plane_back = 0, "
                     "int row_back = 0, int column_back = 1")
{
    SAMPLE(i, planes * rows * cols, 65536)
    {
        const long long p = i / cols / rows, r = i / cols % rows, c = i % cols;
        y(p, r, c) = x(plane_back ? planes - 1 - p : p, row_back ? rows - 1 - r : r,
                       column_back ? cols - 1 - c : c);
    }
}

// y(j) = how many of `ends`, which grow, are j or less: the items of torch.repeat_interleave by
// the sums of their repeats. A sample of about 2^23 comparisons.
REFERENCE_ONCE(repeat_index, "in ends[n], out y[length]")
{
    SAMPLE(j, length, n > 32768 ? 256 : 8388608 / (n + 1))
    {
        y(j) = SUM_IF(i, n, INDEX(ends(i)) <= j, NUMBER(1));
    }
}

// y(r, c) = the place in row r of `edges`, in ascending order, before which all are less than
// x(r, c), and with right = 1 no greater: torch.searchsorted. A place between two elements that is
// right for both of them is right.
REFERENCE_ONCE(search_sorted, "in edges[rows][n], in x[rows][cols], out y[rows][cols], "
                              "int right = 0, each rows, each cols")
{
    SAMPLE(i, rows * cols, n > 32768 ? 256 : 8388608 / (n + 1))
    {
        const long long r = i / cols, c = i % cols;
        const double value = x(r, c).value(0);
        TERM(before, e, right ? !(edges(r, e).value(0) > value) : !(edges(r, e).value(0) >= value));
        const long long got = INDEX(y.after(r, c));
        bool fits = got >= 0 && got <= n && (got == 0 || before(got - 1));
        fits = fits && (got == n || !before(got));
        real all = SUM_IF(e, n, before(e), NUMBER(1));
        y(r, c) = fits ? real(NUMBER(got)) : all;
    }
}
