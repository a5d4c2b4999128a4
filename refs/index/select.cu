/*
 * select.cu - elements by index, written or added up at indexed places, and the largest of rows.
 *
 * Rows of a table by index, and sums into rows, are in embedding.cu. Where two indices are the
 * same, a plain copy may keep either element.
 */
#include "ref.h"

/* Elements of a sample, for about 2^22 comparisons of n indices. */
#define SELECT_BUDGET(n) ((n) > 32768 ? 128 : 4194304 / ((n) + 1))

// y(r, c) = x(r, index(r, c)): torch.gather along the last dim, index_select with a row of indices
// that repeats by a stride of 0; a sample of 65536 elements
REFERENCE_ONCE(gather, "in x[rows][entries], in index[rows][cols], out y[rows][cols], "
                       "each rows, each cols")
{
    SAMPLE(i, rows * cols, 65536)
    {
        long long r = i / cols, c = i % cols;
        y(r, c) = x(r, INDEX(index(r, c)));
    }
}

/* A negative index counts from the end of `entries`; with 0 entries it stays as it is. */
REF_FN long long ref_wrapped(long long e, long long entries)
{
    return e < 0 ? e + entries : e;
}

/* What a further index adds to a place; far before the memory where it names nothing. */
REF_FN long long ref_further(long long e, long long size, long long step)
{
    long long at = ref_wrapped(e, size);
    return at < 0 || at >= size ? -((long long)1 << 60) : at * step;
}

/* The place that the indices at c name: the first, counted in steps, and what the others add. */
#define PLACE_TERM                                                                                 \
    TERM(at, c,                                                                                    \
         ref_wrapped(INDEX(index(p, r, c)), wrap ? (size ? size : entries) : 0) * step +           \
             (second.given ? ref_further(INDEX(second(p, r, c)), second_size, second_step) : 0) +  \
             (third.given ? ref_further(INDEX(third(p, r, c)), third_size, third_step) : 0))

// y(p, r, c) = x(p, r, c, index(p, r, c)): torch.gather along any dim, x[index]. Each element has a
// row of x, and rows may share memory by strides of 0. With wrap = 1 a negative index counts from
// the end, of `size` where that is given. For x[i, j] and x[i, j, k] the row is all that they
// reach, and each counts in steps of its own. A sample of 65536 elements.
REFERENCE_ONCE(gather_each, "in x[planes][rows][cols][entries], in index[planes][rows][cols], "
                            "in second?[planes][rows][cols], in third?[planes][rows][cols], "
                            "out y[planes][rows][cols], int wrap = 0, int size = 0, int step = 1, "
                            "int second_size = 1, int second_step = 0, int third_size = 1, "
                            "int third_step = 0, each planes, each rows, each cols")
{
    SAMPLE(i, planes * rows * cols, 65536)
    {
        long long p = i / cols / rows, r = i / cols % rows;
        PLACE_TERM;
        y(p, r, i % cols) = x(p, r, i % cols, at(i % cols));
    }
}

// y(o, s, i) = x(o, (s + start) mod size, i): torch.roll along one dim
REFERENCE_ONCE(roll, "in x[outer][size][inner], out y[outer][size][inner], int start, each outer, "
                     "each inner")
{
    ELEMENT(o, outer * size, i, inner)
    {
        long long s = o % size + start;
        y(o / size, o % size, i) = x(o / size, s % size, i);
    }
}

// y(r, index(r, c)) = x(r, c), the others as before: torch.scatter along the last dim
REFERENCE_ONCE(scatter, "in index[rows][cols], in x[rows][cols], inout y[rows][entries], each rows")
{
    SAMPLE(i, rows * cols, SELECT_BUDGET(cols))
    {
        REPEATED(y);
        long long r = i / cols, c = i % cols, e = INDEX(index(r, c));
        auto got = y.after(r, e);
        real kept = SUM_IF(d, cols, INDEX(index(r, d)) == e, NUMBER(equals(x(r, d), got)));
        y(r, e) = kept.value(0) > 0 ? got : x(r, c);
    }
    SAMPLE(i, rows * entries, SELECT_BUDGET(cols))
    {
        long long r = i / entries, e = i % entries;
        long long hits = INDEX(SUM_IF(d, cols, INDEX(index(r, d)) == e, NUMBER(1)));
        LOOP(once, hits == 0) y(r, e) = y.before(r, e);
    }
}

// y(p, r, index(p, r, c)) = x(p, r, c), or `value` without x, the others as before: torch.scatter
// along any dim, x[index] = v, index_copy and index_fill. wrap, and what x[i, j] = v has besides,
// as in gather_each.
REFERENCE_ONCE(scatter_each,
               "in index[planes][rows][cols], in second?[planes][rows][cols], "
               "in third?[planes][rows][cols], in x?[planes][rows][cols], "
               "inout y[planes][rows][entries], real value = 0, int wrap = 0, int size = 0, "
               "int step = 1, int second_size = 1, int second_step = 0, int third_size = 1, "
               "int third_step = 0, each planes, each rows")
{
    SAMPLE(i, planes * rows * cols, SELECT_BUDGET(cols))
    {
        REPEATED(y);
        long long p = i / cols / rows, r = i / cols % rows, c = i % cols;
        PLACE_TERM;
        TERM(next, d, x.given ? x(p, r, d).value(0) : value.v);
        auto got = y.after(p, r, at(c));
        long long e = at(c);
        real kept = SUM_IF(d, cols, at(d) == e,
                           NUMBER(got.value(0) == next(d) ||
                                  (got.value(0) != got.value(0) && next(d) != next(d))));
        y(p, r, e) = kept.value(0) > 0 ? real(got) : x.given ? real(x(p, r, c)) : real(value.v);
    }
    SAMPLE(i, planes * rows * entries, SELECT_BUDGET(cols))
    {
        long long p = i / entries / rows, r = i / entries % rows, e = i % entries;
        PLACE_TERM;
        long long hits = INDEX(SUM_IF(d, cols, at(d) == e, NUMBER(1)));
        LOOP(once, hits == 0) y(p, r, e) = y.before(p, r, e);
    }
}

// y(r, e) = y(r, e) before + the sum of x(r, c) over those c with index(r, c) = e:
// torch.scatter_add along the last dim
REFERENCE_ONCE(scatter_add, "in index[rows][cols], in x[rows][cols], inout y[rows][entries], "
                            "each rows")
{
    SAMPLE(i, rows * cols, SELECT_BUDGET(cols))
    {
        REPEATED(y);
        long long r = i / cols, e = INDEX(index(r, i % cols));
        real held = HELD(y.before(r, e), c, cols, INDEX(index(r, c)) == e);
        y(r, e) = held + SUM_IF(c, cols, INDEX(index(r, c)) == e, x(r, c));
    }
    SAMPLE(i, rows * entries, SELECT_BUDGET(cols))
    {
        long long r = i / entries, e = i % entries;
        real held = HELD(y.before(r, e), c, cols, INDEX(index(r, c)) == e);
        y(r, e) = held + SUM_IF(c, cols, INDEX(index(r, c)) == e, x(r, c));
    }
}

// the same along any dim; with wrap = 1 a negative index counts from the end, with outside = 1 it
// names nothing
REFERENCE_ONCE(scatter_add_each, "in index[planes][rows][cols], in x[planes][rows][cols], "
                                 "inout y[planes][rows][entries], int wrap = 0, int outside = 0, "
                                 "each planes, each rows")
{
    SAMPLE(i, planes * rows * cols, SELECT_BUDGET(cols))
    {
        REPEATED(y);
        long long p = i / cols / rows, r = i / cols % rows;
        TERM(at, c, ref_wrapped(INDEX(index(p, r, c)), wrap ? entries : 0));
        long long e = at(i % cols);
        REPEAT(once, outside && e < 0 ? 0 : 1)
        {
            real held = HELD(y.before(p, r, e), c, cols, at(c) == e);
            y(p, r, e) = held + SUM_IF(c, cols, at(c) == e, x(p, r, c));
        }
    }
    SAMPLE(i, planes * rows * entries, SELECT_BUDGET(cols))
    {
        long long p = i / entries / rows, r = i / entries % rows, e = i % entries;
        TERM(at, c, ref_wrapped(INDEX(index(p, r, c)), wrap ? entries : 0));
        real held = HELD(y.before(p, r, e), c, cols, at(c) == e);
        y(p, r, e) = held + SUM_IF(c, cols, at(c) == e, x(p, r, c));
    }
}

// y(ids(t)) = x(t), the others as before: torch.index_copy along the first dim; with outside = 1
// tokens of an index that y does not have are dropped
REFERENCE_ONCE(index_copy, "in ids[tokens], in x[tokens][cols], inout y[entries][cols], "
                           "int outside = 0, each cols, touch entries by ids")
{
    SAMPLE(i, tokens * cols, SELECT_BUDGET(tokens))
    {
        REPEATED(y);
        long long t = i / cols, c = i % cols, e = INDEX(ids(t));
        REPEAT(once, outside && (e < 0 || e >= entries) ? 0 : 1)
        {
            auto got = y.after(e, c);
            real kept = SUM_IF(s, tokens, INDEX(ids(s)) == e, NUMBER(equals(x(s, c), got)));
            y(e, c) = kept.value(0) > 0 ? got : x(t, c);
        }
    }
    SAMPLE(i, entries * cols, SELECT_BUDGET(tokens))
    {
        long long e = i / cols, c = i % cols;
        long long hits = INDEX(SUM_IF(t, tokens, INDEX(ids(t)) == e, NUMBER(1)));
        LOOP(once, hits == 0) y(e, c) = y.before(e, c);
    }
}

/* Rows of a sample, for about 2^23 comparisons, but 16 rows at least. */
#define TOPK_ROWS(best, cols) ((best) * (cols) > 524288 ? 16 : 8388608 / ((best) * (cols) + 1))

// y(i) = the i-th of a row's elements from the largest down, NaN before all numbers, places(i) =
// where it lies: torch.topk. Of several that are equal any place is right, but each only once. A
// sample of rows.
REFERENCE_ONCE(topk, "in x[rows][cols], out y[rows][best], out places?[rows][best], each rows")
{
    SAMPLE(r, rows, TOPK_ROWS(best, cols))
    {
        TERM(got, i, INDEX(places.after(r, i)));
        ref_ranked next(REF_FALLING);
        REPEAT(i, best)
        {
            next = NEXT_IF(next, c, cols, true, x(r, c));
            const bool right = FRESH(got, i, cols) && next.ties(x(r, got(i)));
            const long long at = right ? got(i) : next.place;
            y(r, i) = x(r, at);
            if (places.given)
                places(r, i) = NUMBER(at);
        }
    }
}

// places = where the `best` largest of a row lie, in any order, NaN before all numbers, or, with
// smallest = 1, the smallest, NaN behind all numbers; y = what lies there:
// torch.topk(sorted=False), a router's experts. Right is a place that no other has, if nothing that
// is left out comes before it; the others are held against the first that are missing, in order. A
// sample of rows.
REFERENCE_ONCE(topk_unsorted,
               "in x[planes][rows][cols], out places[planes][rows][best], "
               "out y?[planes][rows][best], int smallest = 0, each planes, each rows")
{
    SAMPLE(n, planes * rows, TOPK_ROWS(best, cols))
    {
        const long long p = n / rows, r = n % rows;
        TERM(got, i, INDEX(places.after(p, r, i)));
        TERM(named, c, SUM(i, best, NUMBER(got(i) == c)).value(0) > 0);
        ref_ranked next(smallest ? REF_RISING : REF_FALLING);
        const ref_ranked left = NEXT_IF(next, c, cols, !named(c), x(p, r, c));
        TERM(fits, c, !left.leads(x(p, r, c)));
        REPEAT(i, best)
        {
            const bool right = FRESH(got, i, cols) && fits(got(i));
            REPEAT(once, !right)
            {
                next = NEXT_IF(next, c, cols, !(named(c) && fits(c)), x(p, r, c));
            }
            const long long at = right ? got(i) : next.place;
            places(p, r, i) = NUMBER(at);
            if (y.given)
                y(p, r, i) = x(p, r, at);
        }
    }
}

// pairs of a key and a value in the order of their keys, NaN as the largest: torch.sort of short
// rows, in place. Of several pairs of one key any may come first, but each only once. A key is
// right where as many come before it as there are places; a wrong one is held against that of a
// stable sort, for n^2 comparisons. A sample of elements.
REFERENCE_ONCE(sort_pairs, "inout keys[planes][rows][n], inout values[planes][rows][n], "
                           "int descending = 0, each planes, each rows")
{
    SAMPLE(i, planes * rows * n, SELECT_BUDGET(n))
    {
        long long p = i / n / rows, r = i / n % rows, at = i % n;
        const bool down = descending != 0;
        auto key = keys.after(p, r, at);
        auto value = values.after(p, r, at);
        TERM(old, c, keys.before(p, r, c).value(0));
        TERM(first, c, ref_key_before(old(c), key.value(0), down));
        TERM(same, c, equals(keys.before(p, r, c), key).yes[0]);
        const double begin = SUM_IF(c, n, first(c), NUMBER(1)).value(0);
        const double end = begin + SUM_IF(c, n, same(c), NUMBER(1)).value(0);
        const bool right = begin <= (double)at && (double)at < end;
        TERM(had, c, same(c) && equals(values.before(p, r, c), value).yes[0]);
        TERM(has, c,
             equals(keys.after(p, r, c), key).yes[0] &&
                 equals(values.after(p, r, c), value).yes[0]);
        const bool own =
            SUM_IF(c, n, had(c), NUMBER(1)).value(0) >= SUM_IF(c, n, has(c), NUMBER(1)).value(0);
        REPEAT(once, right)
        {
            keys(p, r, at) = key;
        }
        REPEAT(once, right && own)
        {
            values(p, r, at) = value;
        }
        REPEAT(once, right && !own)
        {
            TERM(kept, c,
                 SUM(j, n,
                     NUMBER(equals(keys.after(p, r, j), key)) *
                         NUMBER(equals(values.after(p, r, j), values.before(p, r, c))))
                         .value(0) > 0);
            values(p, r, at) = MAX_IF(c, n, same(c) && !kept(c), values.before(p, r, c));
        }
        long long from = 0;
        REPEAT(c, right ? 0 : n)
        {
            const ref_ranked own(down, old(c), c);
            real ahead = SUM_IF(j, n, ref_ranked(down, old(j), j).before(own), NUMBER(1));
            from = ahead.value(0) == (double)at ? c : from;
        }
        REPEAT(once, !right)
        {
            keys(p, r, at) = keys.before(p, r, from);
            values(p, r, at) = values.before(p, r, from);
        }
    }
}

// y(s, c) = the sum of x(order(t), c) over t from starts(s) to starts(s + 1) or the end, for s
// below segments(0): the first step of PyTorch's gradient of an embedding. Of bags the row is
// bag(order(t)), over its size where sizes are given, times the token's factor. A sample of
// elements.
REFERENCE_ONCE(segment_sum, "in order[tokens], in x[sources][cols], in starts[parts], "
                            "in segments[1], in bag?[tokens], in sizes?[sources], "
                            "in factors?[tokens], out y[parts][cols], each cols, "
                            "touch sources by bag")
{
    long long used = INDEX(segments(0));
    SAMPLE(i, (used > parts ? parts : used) * cols, 65536)
    {
        long long s = i / cols, c = i % cols, from = INDEX(starts(s));
        long long count = (s + 1 < used ? INDEX(starts(s + 1)) : tokens) - from;
        TERM(token, t, INDEX(order(from + t)));
        TERM(row, t, bag.given ? INDEX(bag(token(t))) : token(t));
        TERM(whole, t, real(x(row(t), c)));
        TERM(share, t, sizes.given ? whole(t) / real(sizes(row(t))) : whole(t));
        TERM(part, t, factors.given ? share(t) * real(factors(token(t))) : share(t));
        y(s, c) = SUM_IF(t, count, true, part(t));
    }
}
