/*
 * ref_tensor.h - reading a pack of elements through a ref_tensor.
 *
 * A pack is up to W consecutive indices along one axis. There are three ways to read one:
 *   ref_load_dense   special kernels: one dtype, whole 16-byte words, no branch. A tensor is proved
 *                    at the start to fit (ref_ready, ref_dense); if it does not, all is refused
 *   ref_fetch_usual  general kernels: whole packs of the usual float formats from a tensor proved
 *                    ready, by 16-byte loads where the address allows
 *   ref_gather       everything else, element by element, each one checked; ref_gather_part for
 *                    block formats
 * The last ones read no address outside [base, base + bytes), the first goes on to the end of the
 * pack that it is in.
 */
#ifndef REFS_REF_TENSOR_H
#define REFS_REF_TENSOR_H

#include "ref_blocks.h"
#include "ref_pack.h"

/* Offset of the last element by `rank` indices at the ends of their ranges; < 0: too far. */
REF_FN long long ref_reach(const ref_tensor &t, int rank)
{
    double far = 0;
    int64_t offset = 0;
    REF_ROLLED
    for (int k = 0; k < rank; k++) {
        if (t.dim[k] < 0 || t.stride[k] < 0)
            return -1;
        if (t.dim[k] == 0)
            return 0;
        far += (double)(t.dim[k] - 1) * (double)t.stride[k];
        offset = (int64_t)((uint64_t)offset + (uint64_t)(t.dim[k] - 1) * (uint64_t)t.stride[k]);
    }
    return far < 0x1p50 ? offset : -1;
}

/* Whether every index within the dims is safe from this base, and its dtype one of the usual. */
REF_SLOW bool ref_ready(const ref_tensor *t, const void *base, int rank, bool f64)
{
    bool usual = t->dtype == DTYPE_F32 || t->dtype == DTYPE_F16 || t->dtype == DTYPE_BF16 ||
                 (f64 && t->dtype == DTYPE_F64);
    int bytes = ref_dtype_bytes(t->dtype);
    long long last = ref_reach(*t, rank);
    return usual && base && ((uint64_t)base & (unsigned)(bytes - 1)) == 0 && last >= 0 &&
           (last + 1) * bytes <= t->bytes;
}

REF_FN uint64_t ref_fetch_bits(const char *at, int bytes)
{
    switch (bytes) {
    case 8:
        return *(const uint64_t *)at;
    case 4:
        return *(const uint32_t *)at;
    case 2:
        return *(const unsigned short *)at;
    default:
        return *(const unsigned char *)at;
    }
}

/* ref_fetch for block formats, which only references with a coded formal read. */
REF_SLOW bool ref_fetch_block(const ref_tensor *t, const char *base, const ref_place *place,
                              int rank, int part, double *value)
{
    int elements = ref_block_elements(t->dtype), bytes = ref_block_bytes(t->dtype), inside = 0;
    double far = 0;
    uint64_t offset = 0;
    REF_ROLLED
    for (int k = 0; k < rank; k++) {
        uint64_t at = (uint64_t)place->at[k];
        if (at >= (uint64_t)t->dim[k] || t->dim[k] < 0 || t->stride[k] < 0)
            return false;
        if (k == rank - 1) {
            inside = (int)(at & (unsigned)(elements - 1));
            at >>= elements == 32 ? 5 : 8;
        }
        far += (double)at * (double)t->stride[k];
        offset += at * (uint64_t)t->stride[k];
    }
    if (bytes == 0 || !(far < 0x1p50) || (int64_t)offset + bytes > t->bytes)
        return false;
    *value = ref_decode_block(t->dtype, (const unsigned char *)base + offset, inside, part);
    return true;
}

/* Reads one element of any tensor at any index: false if it must not be touched. */
REF_FN bool ref_fetch(const ref_tensor *t, const char *base, const ref_place &place, int rank,
                      double *value)
{
    int bytes = ref_dtype_bytes(t->dtype);
    double far = 0;
    uint64_t offset = 0;
    REF_ROLLED
    for (int k = 0; k < rank; k++) {
        if ((uint64_t)place.at[k] >= (uint64_t)t->dim[k] || t->dim[k] < 0 || t->stride[k] < 0)
            return false;
        far += (double)place.at[k] * (double)t->stride[k];
        offset += (uint64_t)place.at[k] * (uint64_t)t->stride[k];
    }
    if (bytes == 0 || !(far < 0x1p50) || (int64_t)(offset + 1) * bytes > t->bytes)
        return false;
    const char *at = base + offset * (unsigned)bytes;
    if ((uint64_t)at & (unsigned)(bytes - 1))
        return false;
    *value = ref_decode(t->dtype, ref_fetch_bits(at, bytes));
    return true;
}

/*
 * The slow path: `count` elements from `place` along `axis` into out, zeros up to `width`; returns
 * the number refused. Of a tensor that is not given, every element is `absent`.
 */
REF_SLOW int ref_gather(const ref_tensor *t, const void *base, const ref_place *place, int rank,
                        int axis, int count, int width, double *out)
{
    ref_place one = *place;
    int refused = 0;
    REF_ROLLED
    for (int j = 0; j < width; j++) {
        out[j] = base ? 0 : t->absent;
        if (base && j < count && !ref_fetch(t, (const char *)base, one, rank, &out[j]))
            refused++;
        if (axis >= 0)
            one.at[axis] = (long long)((uint64_t)one.at[axis] + 1);
    }
    return refused;
}

/* ref_gather for what no other load can do: block formats (CODED), a part of each element, or the
 * same element for `by` neighbours. */
template <bool CODED>
REF_SHARED int ref_gather_part(const ref_tensor *t, const void *base, const ref_place *place,
                               int rank, int axis, int count, int width, int part, long long by,
                               double *out)
{
    ref_place one = *place;
    int refused = 0;
    REF_ROLLED
    for (int j = 0; j < width; j++) {
        out[j] = base || part == REF_LOW ? 0 : part == REF_CODE ? 1 : t->absent;
        if (axis >= 0)
            one.at[axis] = (long long)((uint64_t)place->at[axis] + (unsigned)j) / by;
        if (!base || j >= count)
            continue;
        if (CODED && t->dtype >= DTYPE_Q4_0)
            refused += !ref_fetch_block(t, (const char *)base, &one, rank, part, &out[j]);
        else if (!ref_fetch(t, (const char *)base, one, rank, &out[j]))
            refused++;
        else if (part == REF_LOW || part == REF_CODE)
            out[j] = part == REF_CODE;
    }
    return refused;
}

/* ----------------------------------------------------------------------- the hot path */

/* The low half of a word of two f16 as a float. */
REF_FN float ref_widen_half(uint32_t bits)
{
#ifdef __CUDA_ARCH__
    float f;
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l;}" : "=f"(f) : "r"(bits));
    return f;
#else
    return (float)ref_half_to_double(bits & 0xffff);
#endif
}

REF_FN float ref_widen_high_half(uint32_t bits)
{
#ifdef __CUDA_ARCH__
    float f;
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h;}" : "=f"(f) : "r"(bits));
    return f;
#else
    return (float)ref_half_to_double(bits >> 16);
#endif
}

/*
 * Of arrays that nothing changes while a reference runs. Not __ldg: that is volatile, and the
 * compiler keeps nothing in registers across it.
 */
REF_FN uint64_t ref_read(const uint64_t *at)
{
    return *at;
}

REF_FN uint32_t ref_read(const uint32_t *at)
{
#ifdef __CUDA_ARCH__
    uint32_t word;
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(word) : "l"(at));
    return word;
#else
    return *at;
#endif
}

REF_FN uint32_t ref_read(const unsigned short *at)
{
#ifdef __CUDA_ARCH__
    unsigned short half;
    asm("ld.global.nc.u16 %0, [%1];" : "=h"(half) : "l"(at));
    return half;
#else
    return *at;
#endif
}

#ifdef __CUDA_ARCH__
REF_FN void ref_read_four(const char *at, uint32_t *word)
{
    asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
        : "l"(at));
}
#endif

/* WORDS words of 4 bytes from an aligned address, 16 or 8 bytes at a time: true if that worked. */
template <int WORDS> REF_FN bool ref_read_dense(const char *at, uint32_t (&word)[WORDS])
{
#ifdef __CUDA_ARCH__
    if constexpr (WORDS % 4 == 0) {
        if ((uint64_t)at & 15)
            return false;
        REF_UNROLL
        for (int i = 0; i < WORDS; i += 4)
            ref_read_four(at + 4 * i, word + i);
        return true;
    } else if constexpr (WORDS == 2) {
        if ((uint64_t)at & 7)
            return false;
        asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(word[0]), "=r"(word[1]) : "l"(at));
        return true;
    }
#else
    (void)at, (void)word;
#endif
    return false;
}

/* The same from an address that is known to be aligned. */
template <int WORDS> REF_FN void ref_read_whole(const char *at, uint32_t (&word)[WORDS])
{
#ifdef __CUDA_ARCH__
    REF_UNROLL
    for (int i = 0; i < WORDS; i += 4)
        ref_read_four(at + 4 * i, word + i);
#else
    for (int i = 0; i < WORDS; i++)
        word[i] = ((const uint32_t *)at)[i];
#endif
}

/* W elements of 2 bytes, `step` apart, two to a word. */
template <int W>
REF_FN void ref_fetch_twos(const char *at, long long step, uint32_t (&word)[(W + 1) / 2])
{
    if (step == 1 && ref_read_dense(at, word))
        return;
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        uint32_t one = ref_read((const unsigned short *)at + j * step);
        word[j / 2] = j % 2 ? word[j / 2] | one << 16 : one;
    }
}

template <int W> REF_FN void ref_fetch_fours(const char *at, long long step, uint32_t (&word)[W])
{
    if (step == 1 && ref_read_dense(at, word))
        return;
    REF_UNROLL
    for (int j = 0; j < W; j++)
        word[j] = ref_read((const uint32_t *)at + j * step);
}

/* f64 arithmetic takes most of the time: no wide loads. */
template <int W> REF_FN void ref_fetch_eights(const char *at, long long step, double (&f)[W])
{
    REF_UNROLL
    for (int j = 0; j < W; j++)
        f[j] = ref_from_bits(ref_read((const uint64_t *)at + j * step));
}

/* Whole packs of a ready tensor, as E: exact, since f64 is ready only where E is double. */
template <class E, int W>
REF_FN void ref_fetch_usual(const ref_tensor &t, const void *base, long long offset, long long step,
                            E (&f)[W])
{
    const char *origin = (const char *)base;
    if (t.dtype == DTYPE_BF16 || t.dtype == DTYPE_F16) {
        uint32_t word[(W + 1) / 2];
        ref_fetch_twos<W>(origin + offset * 2, step, word);
        if (t.dtype == DTYPE_BF16) {
            REF_UNROLL
            for (int j = 0; j < W; j++)
                f[j] = ref_from_bits(j % 2 ? word[j / 2] & 0xffff0000u : word[j / 2] << 16);
        } else {
            REF_UNROLL
            for (int j = 0; j < W; j++)
                f[j] = j % 2 ? ref_widen_high_half(word[j / 2]) : ref_widen_half(word[j / 2]);
        }
        return;
    }
    if constexpr (sizeof(E) == 8) {
        if (t.dtype == DTYPE_F64) {
            ref_fetch_eights(origin + offset * 8, step, f);
            return;
        }
    }
    uint32_t word[W];
    ref_fetch_fours(origin + offset * 4, step, word);
    REF_UNROLL
    for (int j = 0; j < W; j++)
        f[j] = ref_from_bits(word[j]);
}

/* Whether the last axis of a ready tensor is read by whole 16-byte words: then a kernel for its
 * dtype alone needs no branch. */
REF_SLOW bool ref_dense(const ref_tensor *t, const void *base, int rank)
{
    int bytes = ref_dtype_bytes(t->dtype);
    bool dense = ((uint64_t)base & 15) == 0 && t->stride[rank - 1] == 1;
    REF_ROLLED
    for (int k = 0; k + 1 < rank; k++)
        dense = dense && (t->dim[k] <= 1 || ((uint64_t)t->stride[k] * (unsigned)bytes & 15) == 0);
    return dense;
}

/* A pack of a ready and dense tensor as it was read: W elements of dtype D. */
template <int D, int W> struct ref_words {
    static constexpr bool read = true;
    static constexpr int dtype = D, width = W;
    uint32_t word[D == DTYPE_F32 ? W : (W + 1) / 2];
    bool ok; /* false: refused */
};

template <int D, class E, int W> REF_FN void ref_widen(const ref_words<D, W> &x, E (&f)[W])
{
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        if constexpr (D == DTYPE_F32)
            f[j] = ref_from_bits(x.word[j]);
        else if constexpr (D == DTYPE_BF16)
            f[j] = ref_from_bits(j % 2 ? x.word[j / 2] & 0xffff0000u : x.word[j / 2] << 16);
        else
            f[j] = j % 2 ? ref_widen_high_half(x.word[j / 2]) : ref_widen_half(x.word[j / 2]);
    }
}

/* Whether the whole pack (or, with AXIS < 0, the element) lies within the dims. */
template <int RANK, int AXIS, int W>
REF_FN bool ref_within(const ref_tensor &t, const ref_place &place)
{
    bool within = true;
    REF_UNROLL
    for (int k = 0; k < RANK; k++) {
        if (k == AXIS)
            within = within && place.at[k] >= 0 && place.at[k] <= t.dim[k] - W;
        else
            within = within && (uint64_t)place.at[k] < (uint64_t)t.dim[k];
    }
    return within;
}

template <int RANK> REF_FN long long ref_offset(const ref_tensor &t, const ref_place &place)
{
    long long offset = 0;
    REF_UNROLL
    for (int k = 0; k < RANK; k++)
        offset += place.at[k] * t.stride[k];
    return offset;
}

#ifdef __CUDACC__
/* Where a refused load of a special kernel goes, so that it needs no branch. */
__device__ const uint4 ref_nowhere[2] = {};
#else
static const uint32_t ref_nowhere[8] = {};
#endif

/*
 * `at`; and the line of `next`, if below `end`, is on its way into the GPU's cache: a hint, and
 * nothing waits for it. No branch in C++, behind which the next load would stand, and no volatile
 * asm, as above: so it has a result.
 */
REF_FN const char *ref_fetch_ahead(const char *at, [[maybe_unused]] const char *next,
                                   [[maybe_unused]] const char *end)
{
#ifdef __CUDACC__
    asm("{ .reg .pred near;\n"
        "  setp.lt.u64 near, %2, %3;\n"
        "  @near prefetch.global.L2 [%2];\n"
        "  mov.u64 %0, %1; }"
        : "=l"(at)
        : "l"(at), "l"(next), "l"(end));
#endif
    return at;
}

/*
 * A pack of a ready and dense tensor of dtype D, without a branch, so that the loads of a formula
 * all start before the first of them is waited for. The last pack of a row is read whole: behind
 * a row there is room for a pack (ref_tensor.bytes). Of arrays with rows the lane's next pack,
 * `ahead` elements further, is sent for as well: there are too few lanes on a multiprocessor for
 * others to fill the time that memory takes.
 */
template <int D, int RANK, int W>
REF_FN ref_words<D, W> ref_read_pack(const ref_tensor &t, const void *base, bool ready,
                                     const ref_place &place, [[maybe_unused]] long long ahead)
{
    constexpr int bytes = D == DTYPE_F32 ? 4 : 2;
    ref_words<D, W> x;
    bool ok = ready;
    long long offset = place.at[RANK - 1];
    REF_UNROLL
    for (int k = 0; k < RANK; k++)
        ok &= (uint64_t)place.at[k] < (uint64_t)t.dim[k]; /* no && here: it would branch */
    REF_UNROLL
    for (int k = 0; k + 1 < RANK; k++)
        offset += place.at[k] * t.stride[k];
    const char *at = (const char *)base + offset * bytes;
    ok &= ((uint64_t)at & 15) == 0; /* a formula may shift its pack */
    const char *from = ok ? at : (const char *)ref_nowhere;
    if (RANK > 1 && ahead != 0) {
        const char *end = (const char *)base + t.bytes; /* computed in any case: no branch */
        from = ref_fetch_ahead(from, at + ahead * bytes, ok ? end : nullptr);
    }
    ref_read_whole(from, x.word);
    x.ok = ok;
    return x;
}

/* Its values and shadows. The default of an optional tensor is taken as a number of the accumulator
 * here. */
template <int D, int RANK, bool OPTIONAL, class E, int W>
REF_FN int ref_load_dense(const ref_tensor &t, const void *base, bool ready, E absent,
                          const ref_place &place, long long ahead, double (&v)[W], E (&f)[W])
{
    const ref_words<D, W> x = ref_read_pack<D, RANK, W>(t, base, ready, place, ahead);
    ref_widen(x, f);
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        if constexpr (OPTIONAL)
            f[j] = base ? f[j] : absent;
        v[j] = f[j];
    }
    return x.ok || (OPTIONAL && !base) ? 0 : W;
}

/* The same for bounds in f64, once in the code and not wherever something is read: there arithmetic
 * is what costs, and a kernel of nothing else is quickly compiled. */
template <int RANK, int AXIS, int W>
REF_SHARED int ref_load_wide(const ref_tensor *t, const void *base, int ready,
                             const ref_place *place, int count, double *v)
{
    double f[W];
    if (ready && count == W && ref_within<RANK, AXIS, W>(*t, *place)) {
        long long step = AXIS < 0 ? 1 : t->stride[AXIS < 0 ? 0 : AXIS];
        ref_fetch_usual(*t, base, ref_offset<RANK>(*t, *place), step, f);
        REF_UNROLL
        for (int j = 0; j < W; j++)
            v[j] = f[j];
        return 0;
    }
    return ref_gather(t, base, place, RANK, AXIS, count, W, v);
}

/*
 * Values and shadows of a pack; returns the number of refused elements. D: DTYPE_NONE for a tensor
 * of any kind, then `ready` is ref_ready's word; or the one dtype that a special kernel reads, then
 * `ready` is ref_dense's word as well.
 */
template <int D, int RANK, int AXIS, bool OPTIONAL, class E, int W>
REF_FN int ref_load(const ref_tensor &t, const void *base, bool ready, E absent,
                    const ref_place &place, int count, [[maybe_unused]] long long ahead,
                    double (&v)[W], E (&f)[W])
{
    if constexpr (sizeof(E) == 8) {
        double out[W];
        ref_place copy = place;
        int refused = ref_load_wide<RANK, AXIS, W>(&t, base, ready, &copy, count, out);
        REF_UNROLL
        for (int j = 0; j < W; j++)
            v[j] = f[j] = out[j];
        return refused;
    } else if constexpr (D != DTYPE_NONE && AXIS == RANK - 1) {
        return ref_load_dense<D, RANK, OPTIONAL>(t, base, ready, absent, place, ahead, v, f);
    } else if (D == DTYPE_NONE && ready && count == W && ref_within<RANK, AXIS, W>(t, place)) {
        long long step = AXIS < 0 ? 1 : t.stride[AXIS < 0 ? 0 : AXIS];
        ref_fetch_usual(t, base, ref_offset<RANK>(t, place), step, f);
        REF_UNROLL
        for (int j = 0; j < W; j++)
            v[j] = f[j];
        return 0;
    }
    if (!base) {
        REF_UNROLL
        for (int j = 0; j < W; j++) {
            v[j] = t.absent;
            f[j] = (E)t.absent;
        }
        return 0;
    }
    double out[W];
    ref_place copy = place;
    int refused = ref_gather(&t, base, &copy, RANK, AXIS, count, W, out);
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        v[j] = out[j];
        f[j] = (E)v[j];
    }
    return refused;
}

#endif
