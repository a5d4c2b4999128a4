/*
 * ref_index.h - indices as numbers, numbers as indices, and comparison for equality; windows and
 * sequences of indices.
 *
 * Indices that a kernel reads from memory (token ids, targets) come through arrays like all data,
 * as fp64, exact up to 2^53. INDEX makes an index of one; NUMBER goes the other way, and makes 1 or
 * 0 of a condition (Iverson's bracket).
 */
#ifndef REFS_REF_INDEX_H
#define REFS_REF_INDEX_H

#include "ref_tensor.h"
#include "ref_value.h"

/* Beyond 2^53 integers of 64 bits were rounded as they were loaded. Values of a narrow number are
 * its shadows. */
template <class E, int W>
REF_FN void ref_keep_values(ref_exact<E, W> &x, const double (&v)[W], int dtype)
{
    bool rounded = false;
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        x.v[j] = v[j];
        rounded = rounded || ref_abs(v[j]) > 0x1p53;
    }
    if (rounded && (dtype == DTYPE_I64 || dtype == DTYPE_U64))
        x.k.rho += (E)0x1p-53;
}
template <class E, int W> REF_FN void ref_keep_values(ref_narrow<E, W> &, const double (&)[W], int)
{
}

/* -1, an index that no array has, for what is no whole number's size: NaN, Inf, beyond 2^53. */
template <class A, int WIDTH = A::width> REF_FN long long ref_as_index(const A &a)
{
    static_assert(WIDTH == 1, "an index is one number, not a pack of them");
    double v = a.value(0);
    return ref_abs(v) < 0x1p53 ? (long long)v : -1;
}

/* An exact number without rules of its own: the other operand's apply. */
template <class E, int W> REF_FN ref_exact<E, W> ref_plain()
{
    ref_exact<E, W> x;
    ref_clear(x.k);
    return x;
}

template <class E> REF_FN ref_exact<E, 1> ref_as_number(long long i)
{
    ref_exact<E, 1> x = ref_plain<E, 1>();
    x.v[0] = (double)i;
    x.f[0] = (E)i;
    return x;
}

template <class E, int W> REF_FN ref_exact<E, W> ref_as_number(const ref_pack<W> &c)
{
    ref_exact<E, W> x = ref_plain<E, W>();
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        x.v[j] = (double)(c.i + j);
        x.f[j] = (E)x.v[j];
    }
    return x;
}

template <class E, int W> REF_FN ref_exact<E, W> ref_as_number(const ref_mask<W> &m)
{
    ref_exact<E, W> x = ref_plain<E, W>();
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        x.v[j] = m.yes[j] ? 1 : 0;
        x.f[j] = (E)x.v[j];
    }
    return x;
}

/* Whether they are the same number; NaN is the same as NaN. For loaded values and indices, which
 * have no error: the answer is never unsure. */
template <class A, class B, class R = ref_both<A, B>>
REF_FN ref_mask<R::width> equals(const A &a, const B &b)
{
    ref_mask<R::width> m;
    REF_UNROLL
    for (int j = 0; j < R::width; j++) {
        double x = a.value(j), y = b.value(j);
        m.yes[j] = x == y || (x != x && y != y);
        m.unsure[j] = false;
    }
    return m;
}

template <class A, class R = ref_same<A>> REF_FN ref_mask<R::width> equals(const A &a, double b)
{
    return equals(a, ref_scale<typename A::element>(b, a.rules()));
}

/* Whether a scalar is NaN. Of a SUM it is the same in each lane of the group. */
template <class A> REF_FN bool is_nan(const A &a)
{
    return a.value(0) != a.value(0);
}

/* Of `there` places those from `before` places before `at` to `after` places after it; negative:
 * all on that side. */
struct ref_window {
    long long first, count;

    REF_FN ref_window(long long at, long long there, long long before, long long after)
    {
        first = before < 0 || before >= at ? 0 : at - before;
        long long end = after < 0 || after >= there - at ? there : at + after + 1;
        count = end > first ? end - first : 0;
    }
    REF_FN bool has(long long place) const
    {
        return place >= first && place < first + count;
    }
};

/* A sequence of queries and keys: the first of them, and how many. */
struct ref_sequence {
    bool inside;
    long long query, queries, key, keys;

    /* The only one of its arrays. */
    REF_FN ref_sequence(long long queries_, long long keys_)
        : inside(true), query(0), queries(queries_), key(0), keys(keys_)
    {
    }
    /* Sequence s of `bounds - 1` that lie one behind the other, from start(s) to start(s + 1).
     * Behind the last one there may be padding, which is inside none. */
    template <class Q, class K>
    REF_FN ref_sequence(long long s, long long bounds, const Q &start, const K &key_start)
        : inside(s >= 0 && s + 1 < bounds)
    {
        long long own = inside ? s : 0, next = inside ? s + 1 : 0;
        query = start(own);
        queries = start(next) - query;
        key = key_start(own);
        keys = key_start(next) - key;
    }

    /* The keys of query i: from `left` before its place among the keys to `right` behind it. The
     * place is i's among the queries, moved at the bottom so that the last query is at the last
     * key. */
    REF_FN ref_window seen(long long i, long long left, long long right, bool bottom) const
    {
        ref_window window(i - query + (bottom ? keys - queries : 0), keys, left, right);
        window.first += key;
        return window;
    }
    /* The queries whose keys key j is one of. */
    REF_FN ref_window seeing(long long j, long long left, long long right, bool bottom) const
    {
        ref_window window(j - key - (bottom ? keys - queries : 0), queries, right, left);
        window.first += query;
        return window;
    }
};

/* Element i of [..][planes][high][wide]. */
struct ref_pixel {
    long long n, plane, row, column;

    REF_FN ref_pixel(long long i, long long planes, long long high, long long wide)
        : n(i / wide / high / planes), plane(i / wide / high % planes), row(i / wide % high),
          column(i % wide)
    {
    }
};

#endif
