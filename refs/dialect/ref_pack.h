/* ref_pack.h - packs of consecutive indices, and the kinds of index that a tensor is read by. */
#ifndef REFS_REF_PACK_H
#define REFS_REF_PACK_H

#include "ref_math.h"

/* Lanes of a pack: 16 bytes of bf16; half of that where the bound is f64 and registers dear. */
#ifdef __CUDACC__
#ifndef REF_LANES
#define REF_LANES 8
#endif
template <class E> struct ref_lanes {
    static constexpr int count = REF_LANES;
};
template <> struct ref_lanes<double> {
    static constexpr int count = 4;
};
#else
#ifndef REF_HOST_LANES /* 8 exercises the packs of the GPU on the host */
#define REF_HOST_LANES 1
#endif
template <class E> struct ref_lanes {
    static constexpr int count = REF_HOST_LANES;
};
#endif

/* Consecutive indices i .. i + count - 1 of one axis; count < W only in the last pack of a row. */
template <int W> struct ref_pack {
    long long i;
    int count;
};

template <int W> REF_FN ref_pack<W> operator+(const ref_pack<W> &c, long long shift)
{
    return {(long long)((uint64_t)c.i + (uint64_t)shift), c.count};
}

template <int W> REF_FN ref_pack<W> operator-(const ref_pack<W> &c, long long shift)
{
    return {(long long)((uint64_t)c.i - (uint64_t)shift), c.count};
}

/* A place in a tensor: its indices, and which of them is the pack (none: -1). */
struct ref_place {
    long long at[REF_MAX_DIMS];
};

/* A pack of columns divided by a number: lane j stands at (at.i + j) / by. */
template <int W> struct ref_groups {
    ref_pack<W> at;
    long long by;
};

template <int W> REF_FN ref_groups<W> operator/(const ref_pack<W> &c, long long by)
{
    return {c, by > 1 ? by : 1};
}

/* The kinds of index. */
template <class I> struct ref_index {
    static constexpr int lanes = 0;
    REF_FN static long long first(const I &i)
    {
        return i;
    }
    REF_FN static int count(const I &)
    {
        return 1;
    }
};
template <int W> struct ref_index<ref_pack<W>> {
    static constexpr int lanes = W;
    REF_FN static long long first(const ref_pack<W> &c)
    {
        return c.i;
    }
    REF_FN static int count(const ref_pack<W> &c)
    {
        return c.count;
    }
};

template <int W> struct ref_index<ref_groups<W>> : ref_index<ref_pack<W>> {
    REF_FN static long long first(const ref_groups<W> &c)
    {
        return c.at.i;
    }
    REF_FN static int count(const ref_groups<W> &c)
    {
        return c.at.count;
    }
};

template <class I> struct ref_by {
    static constexpr bool grouped = false;
    REF_FN static long long size(const I &)
    {
        return 1;
    }
};
template <int W> struct ref_by<ref_groups<W>> {
    static constexpr bool grouped = true;
    REF_FN static long long size(const ref_groups<W> &c)
    {
        return c.by;
    }
};

/* Position of the pack among the indices, and its lanes. */
template <class... I> REF_FN constexpr int ref_axis()
{
    const int lanes[] = {ref_index<I>::lanes..., 0};
    for (int k = 0; k < (int)sizeof...(I); k++)
        if (lanes[k] > 0)
            return k;
    return -1;
}

template <class... I> REF_FN constexpr int ref_width()
{
    const int lanes[] = {ref_index<I>::lanes..., 0};
    int width = 1;
    for (int k = 0; k < (int)sizeof...(I); k++)
        width = lanes[k] > 0 ? lanes[k] : width;
    return width;
}

#endif
