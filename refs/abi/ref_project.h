/*
 * ref_project.h - the arithmetic of ref_product.h, for the GPU and the host: a pass adds up pairs
 * of numbers over one index for each value of another, and stores the sums.
 *
 *   before    i of c, before the launch: (sum_j r_j before c_ij, sum_j of its margin^2)
 *   factors   l of b: (sum_j r_j b_lj, sum_j b_lj^2)
 *   outputs   i of c: (sum_j r_j (c_ij - added_ij), sum_j margin_ij^2)
 *   rows      i of a: (sum_l a_il (b r)_l, sum_l |a_il| beta_l), held against the others
 *
 * Of a row of outputs that holds Inf or NaN, while what is added is small, the second sum is Inf,
 * and of no other.
 */
#ifndef REFS_REF_PROJECT_H
#define REFS_REF_PROJECT_H

#include "ref_dtype.h"
#include "ref_product.h"

struct ref_pair {
    double x, y;
};

/* 32 signs, those of columns 32 * word and on: a bit set is a minus (SplitMix64's finaliser). */
REF_FN uint32_t ref_signs(uint64_t seed, uint64_t word)
{
    uint64_t z = seed + (word + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (uint32_t)((z ^ z >> 31) >> 32);
}

REF_FN double ref_signed(const uint32_t *signs, int64_t column, double value)
{
    return signs[column / 32] >> (column % 32) & 1 ? -value : value;
}

REF_FN double ref_half_number(uint16_t bits)
{
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return (double)value;
#else
    return ref_half_to_double(bits);
#endif
}

/* An f8e5m2 is the upper half of an f16. An f8e4m3 in the place of an f16's bits is one 256 times
 * as small, and its last pattern NaN. */
REF_FN double ref_e5m2_number(uint8_t bits)
{
    return ref_half_number((uint16_t)(bits << 8));
}

REF_FN double ref_e4m3_number(uint8_t bits)
{
    if ((bits & 0x7f) == 0x7f)
        return ref_nan();
    return 256 * ref_half_number((uint16_t)((bits & 0x80) << 8 | (bits & 0x7f) << 7));
}

/* An element of a dtype that is none of the usual ones: once in the code, for it is long. */
REF_SLOW double ref_rare_number(int dtype, const void *data, int64_t at)
{
    switch (ref_dtype_bytes(dtype)) {
    case 8:
        return ref_decode(dtype, ((const uint64_t *)data)[at]);
    case 4:
        return ref_decode(dtype, ((const uint32_t *)data)[at]);
    case 2:
        return ref_decode(dtype, ((const uint16_t *)data)[at]);
    default:
        return ref_decode(dtype, ((const uint8_t *)data)[at]);
    }
}

/* An element as a number. D is its dtype where that is one of the usual ones, else DTYPE_NONE. */
template <int D> REF_FN double ref_number(const ref_matrix &matrix, int64_t at)
{
    if constexpr (D == DTYPE_F32)
        return (double)((const float *)matrix.data)[at];
    if constexpr (D == DTYPE_BF16)
        return (double)ref_from_bits((uint32_t)((const uint16_t *)matrix.data)[at] << 16);
    if constexpr (D == DTYPE_F16)
        return ref_half_number(((const uint16_t *)matrix.data)[at]);
    switch (matrix.dtype) {
    case DTYPE_F32:
        return ref_number<DTYPE_F32>(matrix, at);
    case DTYPE_BF16:
        return ref_number<DTYPE_BF16>(matrix, at);
    case DTYPE_F16:
        return ref_number<DTYPE_F16>(matrix, at);
    case DTYPE_F8E4M3:
        return ref_e4m3_number(((const uint8_t *)matrix.data)[at]);
    case DTYPE_F8E5M2:
        return ref_e5m2_number(((const uint8_t *)matrix.data)[at]);
    default:
        return ref_rare_number((int)matrix.dtype, matrix.data, at);
    }
}

/* Element (i, j) of matrix s. */
REF_FN int64_t ref_at(const ref_matrix &matrix, int64_t s, int64_t i, int64_t j)
{
    return s * matrix.stride[0] + i * matrix.stride[1] + j * matrix.stride[2];
}

/* What element (i, j) is multiplied by. */
REF_FN double ref_scale(const ref_scales &scales, int64_t i, int64_t j)
{
    if (!scales.data)
        return 1;
    return (double)scales.data[(int64_t)((uint32_t)i / scales.rows) * scales.stride[0] +
                               (int64_t)((uint32_t)j / scales.cols) * scales.stride[1]];
}

REF_FN double ref_times(const ref_product &p)
{
    return p.times ? (double)*p.times : 1;
}

/* The vectors that the passes leave each other, one after another. */
struct ref_vectors {
    double *folded, *length;  /* b r and beta: batch * k */
    double *output, *margin;  /* (c - added) r and the square of its margins: batch * m */
    double *old, *old_margin; /* the same of what c held before */
};

REF_FN ref_vectors ref_vectors_at(const ref_product &p, double *vectors)
{
    int64_t inner = p.batch * p.k, rows = p.batch * p.m;
    double *of_rows = vectors + 2 * inner;
    return {vectors,        vectors + inner,    of_rows,
            of_rows + rows, of_rows + 2 * rows, of_rows + 3 * rows};
}

/* What a pass has in common: `kept` values of `over` numbers each, `batch` times. */
template <int D> struct ref_pass {
    const ref_product &p;
    const ref_vectors &vectors;
    const uint32_t *signs;
    ref_product_answer *answer;
    double times, absolute; /* ref_times; the part of a margin that is the same for all elements */
};

REF_FN ref_pass<DTYPE_NONE> ref_pass_of(const ref_product &p, const ref_vectors &vectors,
                                        const uint32_t *signs, ref_product_answer *answer)
{
    const double times = ref_times(p);
    return {p,      vectors, signs,
            answer, times,   p.absolute + p.of_times * ref_more(ref_abs(times), 1.0)};
}

template <int D> struct ref_factors : ref_pass<D> {
    REF_FN int64_t kept() const
    {
        return this->p.k;
    }
    REF_FN int64_t over() const
    {
        return this->p.n;
    }
    REF_FN void add(int64_t s, int64_t l, int64_t j, ref_pair &sum) const
    {
        const ref_matrix &b = this->p.b;
        double value = ref_number<D>(b, ref_at(b, s, l, j));
        if constexpr (D == DTYPE_NONE)
            value *= ref_scale(this->p.b_scales, l, s * this->p.part + j);
        sum.x += ref_signed(this->signs, j, value);
        sum.y += value * value;
    }
    REF_FN void put(int64_t s, int64_t l, const ref_pair &sum) const
    {
        this->vectors.folded[s * this->p.k + l] = sum.x;
        this->vectors.length[s * this->p.k + l] = sqrt(sum.y) + this->p.floor;
    }
};

/* One over the rows of c. */
template <int D> struct ref_pass_of_c : ref_pass<D> {
    REF_FN int64_t kept() const
    {
        return this->p.m;
    }
    REF_FN int64_t over() const
    {
        return this->p.n;
    }
};

/* The square of an element's margin. Inf: the element is Inf or NaN, which what is added does not
 * explain. NaN: it cannot be judged. Other sums of squares stay below Inf. */
REF_FN double ref_margin_square(const ref_product &p, double absolute, double got, double added)
{
    double size = ref_abs(got);
    double margin = p.half_ulp * ref_binade(size, p.least) + absolute + p.relative * size +
                    p.of_added * added + p.own * (size + added);
    double square = margin * margin;
    if (size < p.largest && square < REF_PRODUCT_SQUARE)
        return square;
    return !ref_finite(got) && added < p.limit ? ref_infinity() : ref_nan();
}

template <int D> struct ref_outputs : ref_pass_of_c<D> {
    REF_FN void add(int64_t s, int64_t i, int64_t j, ref_pair &sum) const
    {
        const ref_product &p = this->p;
        double got = ref_number<D>(p.c, ref_at(p.c, s, i, j));
        double added = 0, size = 0;
        REF_ROLLED
        for (uint32_t d = 0; d < p.addends; d++) {
            const ref_matrix &from = p.added[d];
            double term =
                this->times * p.scale[d] * ref_number<DTYPE_NONE>(from, ref_at(from, s, i, j));
            added += term;
            size += ref_abs(term);
        }
        sum.x += ref_signed(this->signs, j, got - added);
        sum.y += ref_margin_square(p, this->absolute, got, size);
    }
    REF_FN void put(int64_t s, int64_t i, const ref_pair &sum) const
    {
        this->vectors.output[s * this->p.m + i] = sum.x;
        this->vectors.margin[s * this->p.m + i] = sum.y;
    }
};

template <int D> struct ref_before : ref_pass_of_c<D> {
    REF_FN void add(int64_t s, int64_t i, int64_t j, ref_pair &sum) const
    {
        const ref_product &p = this->p;
        double value = this->times * p.before * ref_number<D>(p.c, ref_at(p.c, s, i, j));
        double margin = (p.of_added + p.own) * ref_abs(value);
        sum.x += ref_signed(this->signs, j, value);
        sum.y += margin * margin;
    }
    REF_FN void put(int64_t s, int64_t i, const ref_pair &sum) const
    {
        this->vectors.old[s * this->p.m + i] = sum.x;
        this->vectors.old_margin[s * this->p.m + i] = sum.y;
    }
};

REF_FN void ref_product_clear(ref_product_answer *answer)
{
    *answer = {};
    answer->first = ~(uint64_t)0;
}

/* A row that is seen to be off; many may be noted at once. */
REF_FN void ref_product_note(ref_product_answer *answer, uint64_t row, float ratio)
{
    uint64_t worst = (uint64_t)ref_bits(ratio) << 32 | (uint32_t)row;
#ifdef __CUDA_ARCH__
    typedef unsigned long long word;
    atomicAdd((word *)&answer->violations, 1ull);
    atomicMin((word *)&answer->first, (word)row);
    atomicMax((word *)&answer->last, (word)row);
    atomicMax((word *)&answer->worst, (word)worst);
#else
    answer->violations++;
    answer->first = row < answer->first ? row : answer->first;
    answer->last = row > answer->last ? row : answer->last;
    answer->worst = worst > answer->worst ? worst : answer->worst;
#endif
}

REF_FN void ref_product_count(uint64_t *counter)
{
#ifdef __CUDA_ARCH__
    atomicAdd((unsigned long long *)counter, 1ull);
#else
    ++*counter;
#endif
}

template <int D> struct ref_rows : ref_pass<D> {
    REF_FN int64_t kept() const
    {
        return this->p.m;
    }
    REF_FN int64_t over() const
    {
        return this->p.k;
    }
    REF_FN void add(int64_t s, int64_t i, int64_t l, ref_pair &sum) const
    {
        const ref_matrix &a = this->p.a;
        double value = ref_number<D>(a, ref_at(a, s, i, l));
        if constexpr (D == DTYPE_NONE)
            value *= ref_scale(this->p.a_scales, i, l);
        sum.x += value * this->vectors.folded[s * this->p.k + l];
        sum.y += ref_abs(value) * this->vectors.length[s * this->p.k + l];
    }
    REF_FN void put(int64_t s, int64_t i, const ref_pair &scaled) const
    {
        const ref_product &p = this->p;
        const ref_pair sum = {scaled.x * this->times, scaled.y * ref_abs(this->times)};
        int64_t row = s * p.m + i;
        double was = p.before != 0 ? this->vectors.old[row] : 0;
        double margin = sqrt(this->vectors.margin[row]);
        if (p.before != 0)
            margin += sqrt(this->vectors.old_margin[row]);
        double off = ref_abs(this->vectors.output[row] - was - p.alpha * sum.x);
        double bound = p.odds * (margin + p.of_sum * sum.y) + p.own_sum * sum.y;
        ref_product_count(&this->answer->done);
        if (ref_finite(off) && ref_finite(bound)) {
            if (off > bound)
                ref_product_note(this->answer, (uint64_t)row, (float)(off / bound));
        } else if (this->vectors.margin[row] == ref_infinity() && reach(row, sum.y) < p.limit) {
            ref_product_note(this->answer, (uint64_t)row, ref_from_bits(0x7f800000u));
        } else {
            ref_product_count(&this->answer->left);
        }
    }
    /* No element of the row is larger by right, nor a sum on the way, without the addends; NaN
     * where an input is. `sizes`: at least S of each element. */
    REF_FN double reach(int64_t row, double sizes) const
    {
        const ref_product &p = this->p;
        double old = p.before != 0 ? sqrt(this->vectors.old_margin[row]) / (p.of_added + p.own) : 0;
        return (ref_more(ref_abs(p.alpha), 1.0) + p.of_sum) * sizes + old;
    }
};

template <template <int> class Pass, int D>
REF_FN Pass<D> ref_pass_as(const ref_pass<DTYPE_NONE> &with)
{
    return {{with.p, with.vectors, with.signs, with.answer, with.times, with.absolute}};
}

/* Calls `call` with the pass for the matrix's dtype. Scales cost time, also where there are none:
 * matrices of the usual dtypes have a pass without. */
template <template <int> class Pass, class Call>
REF_FN void ref_pass_for(const ref_matrix &matrix, bool scaled, const ref_pass<DTYPE_NONE> &with,
                         Call call)
{
    switch (scaled ? (uint32_t)DTYPE_NONE : matrix.dtype) {
    case DTYPE_F32:
        return call(ref_pass_as<Pass, DTYPE_F32>(with));
    case DTYPE_BF16:
        return call(ref_pass_as<Pass, DTYPE_BF16>(with));
    case DTYPE_F16:
        return call(ref_pass_as<Pass, DTYPE_F16>(with));
    default:
        return call(ref_pass_as<Pass, DTYPE_NONE>(with));
    }
}

#endif
