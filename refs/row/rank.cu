/* rank.cu - running sums and extremes of rows, elements by rank, counts by range. */
#include "ref.h"

/* Elements of a sample, for about 2^23 terms of n each. */
#define RANK_BUDGET(n) ((n) > 32768 ? 256 : 8388608 / ((n) + 1))

// y(c) = x(0) + .. + x(c), torch.cumsum; with kind = 1 their product, torch.cumprod; with kind = 2
// ln(exp(x(0)) + .. + exp(x(c))), torch.logcumsumexp, whose kernels round what they have so far at
// each step. A sample of the elements.
REFERENCE_ONCE(scan_each, "in x[planes][rows][cols], out y[planes][rows][cols], int kind = 0, "
                          "each planes, each rows")
{
    SAMPLE(i, planes * rows * cols, RANK_BUDGET(cols))
    {
        const long long p = i / cols / rows, r = i / cols % rows, last = i % cols;
        if (kind == 0)
            y(p, r, last) = SUM(c, last + 1, x(p, r, c));
        else if (kind == 1)
            y(p, r, last) = PRODUCT(c, last + 1, x(p, r, c));
        else {
            real most = MAX(c, last + 1, x(p, r, c));
            real m = where(abs(most) < 1e300, most, 0);
            real all = m + log(SUM(c, last + 1, exp(x(p, r, c) - m)));
            y(p, r, last) = HELD(all, c, last, true);
        }
    }
}

// y(c) = the largest of x(0) .. x(c), NaN counting as the largest, or with sign = -1 the smallest;
// places = where it lies, any of several: torch.cummax, torch.cummin. A sample of the elements.
REFERENCE_ONCE(scan_extreme, "in x[planes][rows][cols], out y?[planes][rows][cols], "
                             "out places?[planes][rows][cols], real sign = 1, each planes, "
                             "each rows")
{
    SAMPLE(i, planes * rows * cols, RANK_BUDGET(cols))
    {
        const long long p = i / cols / rows, r = i / cols % rows, last = i % cols;
        TERM(value, c, sign * x(p, r, c));
        real most = MAX_IF(c, last + 1, true, value(c));
        real first = -MAX_IF(c, last + 1, equals(value(c), most).yes[0], -NUMBER(c));
        long long got = INDEX(places.after(p, r, last));
        long long place = got >= 0 && got <= last ? got : 0;
        if (y.given)
            y(p, r, last) = sign * most;
        if (places.given)
            places(p, r, last) = where(equals(value(place), most), NUMBER(place), first);
    }
}

// y = the element of each row that `rank` others come before, NaN as the largest: torch.kthvalue.
// With middle = 1 rank is (cols - 1) / 2, and NaN where one is NaN: torch.median; with middle = 2
// that of the numbers alone: torch.nanmedian. places = where it lies, any of several. A sample of
// rows.
REFERENCE_ONCE(select_rank, "in x[planes][rows][cols], out y[planes][rows], "
                            "out places?[planes][rows], int rank = 0, int middle = 0, "
                            "each planes, each rows")
{
    SAMPLE(i, planes * rows, cols > 524288 ? 16 : 8388608 / (cols + 1))
    {
        const long long p = i / rows, r = i % rows;
        TERM(value, c, x(p, r, c).value(0));
        const long long numbers = INDEX(SUM_IF(c, cols, value(c) == value(c), NUMBER(1)));
        const long long most = middle == 1 && numbers < cols ? cols - 1 : (numbers - 1) / 2;
        const double k = (double)(middle ? most : rank);
        auto got = y.after(p, r);
        TERM(first, c, ref_key_before(value(c), got.value(0), REF_RISING));
        TERM(same, c, equals(x(p, r, c), got).yes[0]);
        const double begin = SUM_IF(c, cols, first(c), NUMBER(1)).value(0);
        const double end = begin + SUM_IF(c, cols, same(c), NUMBER(1)).value(0);
        const bool right = begin <= k && k < end;
        long long at = 0;
        REPEAT(c, right ? 0 : cols)
        {
            const ref_ranked own(REF_RISING, value(c), c);
            real ahead =
                SUM_IF(j, cols, ref_ranked(REF_RISING, value(j), j).before(own), NUMBER(1));
            at = ahead.value(0) == k ? c : at;
        }
        const long long named = INDEX(places.after(p, r));
        const bool holds = right && named >= 0 && named < cols && same(named);
        const long long other = right ? INDEX(-MAX_IF(c, cols, same(c), -NUMBER(c))) : at;
        y(p, r) = right ? real(got) : real(x(p, r, at));
        if (places.given)
            places(p, r) = NUMBER(holds ? named : other);
    }
}

// y = the element of each row that comes most often, any of several, places = where it lies:
// torch.mode. A sample of rows, cols^2 comparisons each.
REFERENCE_ONCE(row_mode, "in x[rows][cols], out y[rows], out places?[rows], each rows")
{
    SAMPLE(r, rows, cols > 1024 ? 8 : 8388608 / (cols * cols + 1))
    {
        TERM(times, c, SUM(j, cols, NUMBER(equals(x(r, j), x(r, c)))));
        real most = MAX_IF(c, cols, true, times(c));
        auto got = y.after(r);
        TERM(same, c, equals(x(r, c), got).yes[0]);
        real hits = SUM_IF(c, cols, same(c), NUMBER(1));
        const bool right = hits.value(0) == most.value(0);
        real often = MAX_IF(c, cols, times(c).value(0) == most.value(0), -NUMBER(c));
        const long long named = INDEX(places.after(r));
        const bool holds = right && named >= 0 && named < cols && same(named);
        real other = right ? -MAX_IF(c, cols, same(c), -NUMBER(c)) : -often;
        y(r) = right ? real(got) : real(x(r, INDEX(-often)));
        if (places.given)
            places(r) = holds ? real(NUMBER(named)) : other;
    }
}

// y(b) = how many x lie in the b-th of `bins` equal parts of bottom .. top, the last with its end:
// torch.histc. An element that lies within a rounding of an edge may count on either side. A sample
// of the bins.
REFERENCE_ONCE(histogram_range, "in x[n], out y[bins], real bottom, real top")
{
    SAMPLE(b, bins, RANK_BUDGET(n))
    {
        TERM(inside, i, x(i).value(0) >= bottom.value(0) && x(i).value(0) <= top.value(0));
        TERM(place, i, (x(i) - bottom) * real((double)bins) / (top - bottom));
        TERM(low, i, floor(place(i).value(0) - place(i).error(0)));
        TERM(high, i, floor(place(i).value(0) + place(i).error(0)));
        const double last = (double)bins - 1, here = (double)b;
        TERM(from, i, low(i) > last ? last : low(i));
        TERM(to, i, high(i) > last ? last : high(i));
        real sure = SUM_IF(i, n, inside(i) && from(i) == here && to(i) == here, NUMBER(1));
        real most = SUM_IF(i, n, inside(i) && from(i) <= here && here <= to(i), NUMBER(1));
        auto got = y.after(b);
        const bool right = got.value(0) >= sure.value(0) && got.value(0) <= most.value(0);
        y(b) = right ? real(got) : sure;
    }
}
