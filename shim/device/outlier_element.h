/*
 * outlier_element.h - the elements of an input and what a thread adds up of them, once for the GPU
 * and for the host; and the words in which outlier_stat.h is written for both.
 *
 * Code for a warp (GPU: lanes = 32) or for one caller (host: lanes = 1): OUTLIER_EACH gives each
 * lane its share, outlier_most and outlier_total put the shares together, OUTLIER_TOGETHER lets all
 * lanes see what each wrote. OUTLIER_FEW is OUTLIER_EACH of 32 at most, in code without a branch:
 * lanes to spare do once more what the last one does, so they may only write what it writes.
 */
#ifndef DEVICE_OUTLIER_ELEMENT_H
#define DEVICE_OUTLIER_ELEMENT_H

#include <stddef.h>
#include "device/outlier_abi.h"
#include "refs/abi/ref_abi.h"

#ifdef __CUDACC__
#define OUTLIER_FN         static __device__ __forceinline__
#define OUTLIER_SELDOM     static __device__ __noinline__
#define OUTLIER_LANE()     (threadIdx.x % 32)
#define OUTLIER_LANES()    32
#define OUTLIER_TOGETHER() __syncwarp()
#define OUTLIER_ONES(x)    (uint32_t) __popc(x)
#define OUTLIER_RARE(x)    __builtin_expect(x, 0)
#define OUTLIER_FEW(i, from, end)                                                                  \
    for (uint32_t i = min((from) + OUTLIER_LANE(), (uint32_t)(end)-1), once = 1; once; once = 0)
#else
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#define OUTLIER_FN                static inline
#define OUTLIER_SELDOM            static inline
#define OUTLIER_LANE()            0u
#define OUTLIER_LANES()           1
#define OUTLIER_TOGETHER()        (void)0
#define OUTLIER_ONES(x)           (uint32_t) __builtin_popcount(x)
#define OUTLIER_RARE(x)           __builtin_expect(x, 0)
#define OUTLIER_FEW(i, from, end) OUTLIER_EACH(i, from, end)
#endif

#define OUTLIER_EACH(i, from, end)                                                                 \
    for (uint32_t i = (from) + OUTLIER_LANE(); i < (uint32_t)(end); i += OUTLIER_LANES())

OUTLIER_FN float outlier_float(uint32_t bits)
{
#ifdef __CUDA_ARCH__
    return __uint_as_float(bits);
#else
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
#endif
}

OUTLIER_FN uint32_t outlier_bits(float value)
{
#ifdef __CUDA_ARCH__
    return __float_as_uint(value);
#else
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
#endif
}

/* Of the 32-bit words at `from`, of any types. */
OUTLIER_FN uint32_t outlier_word_at(const void *from, uint32_t word)
{
#ifdef __CUDA_ARCH__
    return ((const uint32_t *)from)[word];
#else
    uint32_t value;
    memcpy(&value, (const char *)from + 4 * word, sizeof(value));
    return value;
#endif
}

/* Of all lanes. */
OUTLIER_FN uint32_t outlier_most_bits(uint32_t value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    value = __reduce_max_sync(~0u, value);
#elif defined(__CUDA_ARCH__)
    for (int step = 16; step; step /= 2)
        value = max(value, __shfl_xor_sync(~0u, value, step));
#endif
    return value;
}

OUTLIER_FN uint32_t outlier_count(uint32_t value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    value = __reduce_add_sync(~0u, value);
#elif defined(__CUDA_ARCH__)
    for (int step = 16; step; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
#endif
    return value;
}

/* Values that are not negative have the order of their bits. */
OUTLIER_FN float outlier_most(float value)
{
    return outlier_float(outlier_most_bits(outlier_bits(value)));
}

OUTLIER_FN float outlier_total(float value)
{
#ifdef __CUDA_ARCH__
    for (int step = 16; step; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
#endif
    return value;
}

/*
 * The GPU's own functions where 2^-21 of a value does for a statistic: exact ones take several
 * times as long, one after another. They take subnormal numbers for 0.
 */
#ifdef __CUDA_ARCH__
#define OUTLIER_FUNCTION(name, instruction, host)                                                  \
    OUTLIER_FN float name(float x)                                                                 \
    {                                                                                              \
        float value;                                                                               \
        asm(instruction ".approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(x));                         \
        return value;                                                                              \
    }
#else
#define OUTLIER_FUNCTION(name, instruction, host)                                                  \
    OUTLIER_FN float name(float x)                                                                 \
    {                                                                                              \
        return host;                                                                               \
    }
#endif
OUTLIER_FUNCTION(outlier_inverse, "rcp", 1 / x)
OUTLIER_FUNCTION(outlier_sqrt, "sqrt", sqrtf(x))
OUTLIER_FUNCTION(outlier_exp2, "ex2", exp2f(x))
OUTLIER_FUNCTION(outlier_normal_log2, "lg2", log2f(x))

/* Of subnormal numbers, too; 0 counts as about the smallest square of an f32. */
OUTLIER_FN float outlier_log2(float x)
{
    int tiny = x < 0x1p-100f;
    float value = outlier_normal_log2(x * (tiny ? 0x1p60f : 1.0f));
    return fmaxf(value - (tiny ? 60.0f : 0.0f), -300);
}

/* A hash of 32 bits with good low bits (the finaliser of MurmurHash3). */
OUTLIER_FN uint32_t outlier_hash(uint32_t x)
{
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

/*
 * Which piece is the k-th of the sample: one in each of `sampled` equal parts of all pieces, part k
 * being those from floor(pieces * k / sampled) on. `sampled` is `pieces` or a power of two:
 * divisions take the GPU longer than the rest of it.
 */
OUTLIER_FN uint64_t outlier_pick(uint64_t pieces, uint32_t sampled, uint64_t seed, uint32_t k)
{
    if (sampled == pieces)
        return k;
    uint32_t shift = OUTLIER_ONES(sampled - 1);
    uint64_t low = pieces * k >> shift, high = pieces * (k + 1) >> shift;
    uint32_t draw = outlier_hash((uint32_t)seed ^ outlier_hash((uint32_t)(seed >> 32) + k));
    return low + ((high - low) * (draw >> 8) >> 24);
}

/* ---- elements ---- */

/* A float format of at most 16 bits, as f32 holds it. `bias` 2^(127 - its bias); all ones in the
 * exponent is Inf and NaN when `ieee`. */
OUTLIER_FN float outlier_small_float(uint32_t bits, int exponent, int fraction, int ieee)
{
    uint32_t magnitude = bits & ((1u << (exponent + fraction)) - 1);
    uint32_t top = ((1u << exponent) - 1) << fraction;
    uint32_t sign = (bits >> (exponent + fraction) & 1) << 31;
    if (ieee ? magnitude >= top : magnitude == (top | ((1u << fraction) - 1)))
        return outlier_float(sign | 0x7f800000u |
                             (ieee ? (magnitude - top) << (23 - fraction) : 1));
    /* The exponent field lands below f32's; a product by a power of two puts it right, subnormals
     * too. */
    float scale = outlier_float((uint32_t)(254 - ((1 << (exponent - 1)) - 1)) << 23);
    float value = outlier_float(magnitude << (23 - fraction)) * scale;
    return outlier_float(sign | outlier_bits(value));
}

/* An element of a float dtype as f32; f64 keeps its class: what f32 cannot hold is the largest or
 * smallest that it can. */
OUTLIER_FN float outlier_decode(int dtype, uint64_t raw)
{
    uint32_t bits = (uint32_t)raw;
    switch (dtype) {
    case DTYPE_F32:
        return outlier_float(bits);
    case DTYPE_BF16:
        return outlier_float(bits << 16);
    case DTYPE_F16:
        return outlier_small_float(bits, 5, 10, 1);
    case DTYPE_F8E4M3:
        return outlier_small_float(bits, 4, 3, 0);
    case DTYPE_F8E5M2:
        return outlier_small_float(bits, 5, 2, 1);
    default:
        break;
    }
    uint32_t sign = (uint32_t)(raw >> 63) << 31;
    uint64_t magnitude = raw & ~((uint64_t)1 << 63);
    int exponent = (int)(magnitude >> 52) - 1023 + 127;
    uint32_t fraction = (uint32_t)(magnitude >> 29) & 0x7fffff;
    if (magnitude > (uint64_t)0x7ff << 52)
        return outlier_float(0x7fc00000u);
    if (magnitude == (uint64_t)0x7ff << 52)
        return outlier_float(sign | 0x7f800000u);
    if (magnitude == 0)
        return outlier_float(sign);
    if (exponent >= 255)
        return outlier_float(sign | 0x7f7fffffu);
    return outlier_float(sign | (exponent <= 0 ? 1 : (uint32_t)exponent << 23 | fraction));
}

/* The smallest normal value of a float dtype. */
OUTLIER_FN float outlier_tiny(int dtype)
{
    int exponent = dtype == DTYPE_F16 || dtype == DTYPE_F8E5M2 ? -14
                   : dtype == DTYPE_F8E4M3                     ? -6
                                                               : -126;
    return outlier_float((uint32_t)(127 + exponent) << 23);
}

/* An element of an integer dtype, sign-extended. */
OUTLIER_FN int64_t outlier_integer(int dtype, uint64_t raw)
{
    switch (dtype) {
    case DTYPE_I8:
        return (signed char)raw;
    case DTYPE_I16:
        return (short)raw;
    case DTYPE_I32:
        return (int32_t)raw;
    default:
        return (int64_t)raw;
    }
}

/* An element of any dtype, for the centroid detector. */
OUTLIER_FN float outlier_any(int dtype, int integer, uint64_t raw)
{
    return integer ? (float)outlier_integer(dtype, raw) : outlier_decode(dtype, raw);
}

/* Orders indices as unsigned ones, above 0; as well as a float does, since logarithms of them are
 * judged. */
OUTLIER_FN uint32_t outlier_rank(int64_t value)
{
    uint32_t bits = outlier_bits((float)value);
    return value < 0 ? ~bits : bits | 0x80000000u;
}

OUTLIER_FN float outlier_of_rank(uint32_t rank)
{
    return outlier_float(rank >> 31 ? rank & 0x7fffffff : ~rank);
}

OUTLIER_FN uint32_t outlier_id_bin(int64_t value)
{
    return outlier_hash((uint32_t)value ^ outlier_hash((uint32_t)((uint64_t)value >> 32))) %
           OUTLIER_ID_BINS;
}

/* The same of 32 bits: their sign has a hash that is known. */
OUTLIER_FN uint32_t outlier_small_id_bin(int32_t value)
{
    const uint32_t of_ones = 0x81f16f39u; /* outlier_hash(UINT32_MAX) */
    return outlier_hash((uint32_t)value ^ (value < 0 ? of_ones : 0)) % OUTLIER_ID_BINS;
}

/* Of units with elements that are not finite, or whose squares add up to more than a part of what
 * f32 holds. */
struct outlier_odd {
    double far; /* squares that do so by themselves; */
    float near; /* the others, handed on at once */
    float most;
    uint32_t nans, infs;
};

/* Elements below the normal range, and the zeros among them. */
struct outlier_small {
    uint32_t all, zeros;
};

/* What one thread has seen of a float input. */
struct outlier_tally {
    float square; /* of the piece under way */
    float sketch[OUTLIER_SKETCH];
    float most;
    uint32_t count;
    struct outlier_odd odd;
    struct outlier_small small;
};

enum { OUTLIER_SOME = 8 };

struct outlier_some {
    float value[OUTLIER_SOME];
};

/* The first of `count` values; `rest` fills up where there are fewer. */
OUTLIER_FN struct outlier_some outlier_some_of(const float *value, int count, float rest)
{
    struct outlier_some some;
    for (int i = 0; i < OUTLIER_SOME; i++)
        some.value[i] = i < count ? value[i] : rest;
    return some;
}

/*
 * The rare parts of a tally are functions that are not inlined: in line they would stand between
 * the code that every probe runs, and after other kernels a probe waits for its code to come from
 * memory. All is passed by value, which keeps a thread's tally in registers.
 */
OUTLIER_SELDOM struct outlier_odd outlier_take_odd(struct outlier_odd odd, struct outlier_some some)
{
    for (int i = 0; i < OUTLIER_SOME; i++) {
        float magnitude = fabsf(some.value[i]);
        if (!(magnitude >= 0)) {
            odd.nans++;
        } else if (magnitude > 3.402823466e38f) {
            odd.infs++;
        } else {
            float square = magnitude * magnitude;
            odd.near += square < 1e28f ? square : 0;
            odd.far += square < 1e28f ? 0 : (double)magnitude * magnitude;
            odd.most = fmaxf(odd.most, magnitude);
        }
    }
    return odd;
}

OUTLIER_SELDOM struct outlier_small outlier_take_small(struct outlier_small small,
                                                       struct outlier_some some, float tiny)
{
    for (int i = 0; i < OUTLIER_SOME; i++) {
        small.all += fabsf(some.value[i]) < tiny;
        small.zeros += some.value[i] == 0;
    }
    return small;
}

/* What `count` neighbours, 1 or an even number, add to a tally. */
struct outlier_unit {
    float square, most, least; /* sum of squares; magnitudes */
    float even, odd;           /* sums */
};

OUTLIER_FN struct outlier_unit outlier_unit_of(const float *value, int count)
{
    struct outlier_unit unit = {value[0] * value[0], fabsf(value[0]), fabsf(value[0]), value[0],
                                count > 1 ? value[1] : 0};
    for (int i = 1; i < count; i++) {
        unit.square += value[i] * value[i];
        unit.most = fmaxf(unit.most, fabsf(value[i]));
        unit.least = fminf(unit.least, fabsf(value[i]));
    }
    for (int i = 2; i + 1 < count; i += 2) {
        unit.even += value[i];
        unit.odd += value[i + 1];
    }
    return unit;
}

OUTLIER_FN int outlier_has_small(const struct outlier_unit *unit, float tiny)
{
    return unit->least < tiny;
}

/* A sample of units without stays far below the end of f32. */
OUTLIER_FN int outlier_has_odd(const struct outlier_unit *unit)
{
    return !(unit->square < 1e30f);
}

/* With which signs the 16-byte unit (or the element) number `column` of its row goes into the
 * sketch: bits that are set where it is taken from a sum, the third only of single elements. */
OUTLIER_FN uint32_t outlier_signs(uint32_t column, int count)
{
    return (~outlier_hash(column) & 3) | (count == 1 ? (column & 1) << 2 : 0);
}

/* `value`, negated where that bit is set. */
OUTLIER_FN float outlier_signed(float value, uint32_t signs, int bit)
{
    return outlier_float(outlier_bits(value) ^ (signs >> bit & 1) << 31);
}

/* A unit. With odd elements in it the square and the sketch are of no use: then the caller has the
 * tally from before, and takes the elements one by one. */
OUTLIER_FN void outlier_add(struct outlier_tally *tally, const struct outlier_unit *unit,
                            uint32_t signs)
{
    float sum = unit->even + unit->odd, difference = unit->even - unit->odd;
    tally->square += unit->square;
    tally->most = fmaxf(tally->most, unit->most);
    tally->sketch[0] += sum;
    tally->sketch[1] += outlier_signed(difference, signs, 2);
    tally->sketch[2] += outlier_signed(sum, signs, 0);
    tally->sketch[3] += outlier_signed(difference, signs, 1);
}

/* `count` values of a unit of any kind, with outlier_signs' signs. */
OUTLIER_FN void outlier_take(struct outlier_tally *tally, const float *value, int count,
                             uint32_t signs, float tiny)
{
    struct outlier_unit unit = outlier_unit_of(value, count);
    if (OUTLIER_RARE(outlier_has_small(&unit, tiny))) {
        for (int i = 0; i < count; i += OUTLIER_SOME)
            tally->small =
                outlier_take_small(tally->small, outlier_some_of(value + i, count - i, 1), tiny);
    }
    tally->count += (uint32_t)count;
    if (OUTLIER_RARE(outlier_has_odd(&unit))) {
        for (int i = 0; i < count; i += OUTLIER_SOME)
            tally->odd = outlier_take_odd(tally->odd, outlier_some_of(value + i, count - i, 0));
        tally->square += tally->odd.near;
        tally->odd.near = 0;
        return;
    }
    outlier_add(tally, &unit, signs);
}

/* Of the `count` elements of a piece's unit, which one goes into the histogram. */
OUTLIER_FN uint32_t outlier_binned_element(uint32_t unit, uint32_t count)
{
    return unit / 32 % 4 * count / 4;
}

/* The exponent's bin of a finite value other than 0, else -1. */
OUTLIER_FN int outlier_bin(float value)
{
    uint32_t magnitude = outlier_bits(value) & 0x7fffffff;
    return magnitude == 0 || magnitude >= 0x7f800000 ? -1 : (int)(magnitude >> 23) % OUTLIER_BINS;
}

#endif
