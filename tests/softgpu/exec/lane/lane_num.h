/*
 * lane_num.h - one number at a time: bits of floats, half precision, flushing, rounding once.
 *
 * All is straight-line code that becomes vectors inside the loops of lane_loop.h. A half (f16 or
 * bf16) is computed with as an f32 or f64 and rounded back; where the sum in between is not exact
 * it is rounded to odd, so that the second rounding is right.
 */
#ifndef SOFTGPU_LANE_NUM_H
#define SOFTGPU_LANE_NUM_H

#include <math.h>
#include <string.h>
#include "exec/lane/lane_loop.h"

#define NAN_F32  0x7fffffffu
#define NAN_HALF 0x7fffu
#define NAN_F64  0xfff8000000000000ull

LANE_INLINE u32 bits32(f32 value)
{
    union {
        f32 f;
        u32 u;
    } both = {.f = value};
    return both.u;
}
LANE_INLINE f32 from32(u32 bits)
{
    union {
        u32 u;
        f32 f;
    } both = {.u = bits};
    return both.f;
}
LANE_INLINE u64 bits64(f64 value)
{
    union {
        f64 f;
        u64 u;
    } both = {.f = value};
    return both.u;
}
LANE_INLINE f64 from64(u64 bits)
{
    union {
        u64 u;
        f64 f;
    } both = {.u = bits};
    return both.f;
}

/* ---- f32 ------------------------------------------------------------------------------------- */

/* A subnormal becomes a zero of its sign. */
LANE_INLINE f32 flush32(f32 value)
{
    u32 bits = bits32(value);
    return from32(bits & 0x7f800000 ? bits : bits & 0x80000000);
}
LANE_INLINE f32 from32_ftz(u32 bits)
{
    return flush32(from32(bits));
}
LANE_INLINE u32 store32(f32 value)
{
    return value != value ? NAN_F32 : bits32(value);
}
LANE_INLINE u32 store32_ftz(f32 value)
{
    return store32(flush32(value));
}
/* .ftz of a rounded result: as on the device, what would be below the least normal number if
 * exponents had no end becomes a zero. `exact` is what was rounded. */
LANE_INLINE f32 settle32(f32 rounded, f64 exact)
{
    f32 endless = (f32)(exact * 0x1p64);
    return from32(fabsf(endless) < 0x1p-62f ? bits32(rounded) & 0x80000000 : bits32(rounded));
}
/* NaN and -0 become 0. */
LANE_INLINE f32 clamp01(f32 value)
{
    return value > 0 ? (value < 1 ? value : 1) : 0;
}
LANE_INLINE u32 store32_sat(f32 value)
{
    return bits32(clamp01(value));
}
LANE_INLINE u32 store32_ftz_sat(f32 value)
{
    return bits32(flush32(clamp01(value)));
}
LANE_INLINE f64 clamp01_f64(f64 value)
{
    return value > 0 ? (value < 1 ? value : 1) : 0;
}
/* Negative numbers become 0, NaN stays. */
LANE_INLINE f32 relu(f32 value)
{
    return value > 0 || value != value ? value : 0;
}

/* -0 is less than +0; a NaN loses against a number. */
LANE_INLINE f32 min_f32(f32 x, f32 y)
{
    f32 equal = from32(bits32(x) | bits32(y));
    f32 less = x < y ? x : y < x ? y : equal;
    return x != x ? y : y != y ? x : less;
}
LANE_INLINE f32 max_f32(f32 x, f32 y)
{
    f32 equal = from32(bits32(x) & bits32(y));
    f32 more = x > y ? x : y > x ? y : equal;
    return x != x ? y : y != y ? x : more;
}
/* .NaN: a NaN wins. */
LANE_INLINE f32 min_nan_f32(f32 x, f32 y)
{
    return x != x ? x : y != y ? y : min_f32(x, y);
}
LANE_INLINE f32 max_nan_f32(f32 x, f32 y)
{
    return x != x ? x : y != y ? y : max_f32(x, y);
}
LANE_INLINE f32 abs_f32(f32 x)
{
    return from32(bits32(x) & 0x7fffffff);
}
/* .xorsign.abs: the sign of both sources' signs, upon the result for their magnitudes. */
LANE_INLINE f32 xorsign(f32 magnitude, f32 x, f32 y)
{
    return from32(bits32(magnitude) ^ ((bits32(x) ^ bits32(y)) & 0x80000000));
}

/* ---- f64 ------------------------------------------------------------------------------------- */

/* A NaN source goes through, quiet: the second before the third, and that before the first. */

LANE_INLINE u64 quiet(f64 x)
{
    return bits64(x) | 0x0008000000000000;
}
LANE_INLINE u64 store64_1(f64 value, f64 x)
{
    return value == value ? bits64(value) : x != x ? quiet(x) : NAN_F64;
}
LANE_INLINE u64 store64_2(f64 value, f64 x, f64 y)
{
    return value == value ? bits64(value) : y != y ? quiet(y) : x != x ? quiet(x) : NAN_F64;
}
LANE_INLINE u64 store64_3(f64 value, f64 x, f64 y, f64 z)
{
    u64 nan = y != y ? quiet(y) : z != z ? quiet(z) : x != x ? quiet(x) : NAN_F64;
    return value == value ? bits64(value) : nan;
}

/* ---- rounding to odd ------------------------------------------------------------------------- */

/* `value` + `rest` is the exact number, and value is next to it: gives the neighbour whose last bit
 * is set where rest is not 0. */
LANE_INLINE f32 odd32(f32 value, f64 rest)
{
    u32 bits = bits32(value);
    u32 outwards = (rest > 0) == !(bits >> 31);
    u32 odd = outwards ? bits + 1 : bits - 1;
    return from32(fabs(rest) > 0 && !(bits & 1) ? odd : bits);
}
LANE_INLINE f64 odd64(f64 value, f64 rest)
{
    u64 bits = bits64(value);
    u64 outwards = (rest > 0) == !(bits >> 63);
    u64 odd = outwards ? bits + 1 : bits - 1;
    return from64(fabs(rest) > 0 && !(bits & 1) ? odd : bits);
}
LANE_INLINE f32 odd_f32_of_f64(f64 value)
{
    f32 nearest = (f32)value;
    return odd32(nearest, value - (f64)nearest);
}
/* x + y, and what the sum lost (NaN where it overflowed, which counts as nothing). */
LANE_INLINE f32 odd_sum32(f32 x, f32 y)
{
    f32 sum = x + y, part = sum - x;
    return odd32(sum, (f64)((x - (sum - part)) + (y - part)));
}
LANE_INLINE f64 odd_sum64(f64 x, f64 y)
{
    f64 sum = x + y, part = sum - x;
    return odd64(sum, (x - (sum - part)) + (y - part));
}

/* ---- halves ---------------------------------------------------------------------------------- */

LANE_INLINE f32 load_f16(u16 half)
{
    u32 magnitude = (u32)(half & 0x7fff) << 13, sign = (u32)(half & 0x8000) << 16;
    u32 finite = bits32(from32(magnitude) * 0x1p112f);
    return from32(sign | (magnitude >= 0x0f800000 ? magnitude | 0x7f800000 : finite));
}
LANE_INLINE u16 store_f16(f32 value)
{
    u32 bits = bits32(value), magnitude = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    u32 normal = (magnitude + 0xc8000fff + (magnitude >> 13 & 1)) >> 13;
    u32 subnormal = bits32(from32(magnitude) + 0.5f) - 0x3f000000;
    u32 half = magnitude < 0x38800000 ? subnormal : normal;
    half = magnitude >= 0x477ff000 ? 0x7c00 : half;
    return (u16)(magnitude > 0x7f800000 ? NAN_HALF : sign | half);
}
LANE_INLINE f32 load_bf16(u16 half)
{
    return from32((u32)half << 16);
}
LANE_INLINE f64 load_bf16_f64(u16 half)
{
    return (f64)load_bf16(half);
}
LANE_INLINE u16 store_bf16(f32 value)
{
    u32 bits = bits32(value);
    return (u16)(value != value ? NAN_HALF : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
LANE_INLINE u16 store_bf16_f64(f64 value)
{
    return store_bf16(odd_f32_of_f64(value));
}
/* .ftz of f16, where the same holds as for settle32(). */
LANE_INLINE f32 load_f16_ftz(u16 half)
{
    return load_f16(half & 0x7c00 ? half : half & 0x8000);
}
LANE_INLINE u16 store_f16_ftz(f32 value)
{
    u16 half = store_f16(value), endless = store_f16(value * 0x1p12f);
    return (endless & 0x7fff) < 0x3400 ? half & 0x8000 : half;
}

/* ---- rounding to any format ------------------------------------------------------------------ */

enum rounding {
    ROUND_EVEN,    /* rn */
    ROUND_ZERO,    /* rz */
    ROUND_DOWN,    /* rm */
    ROUND_UP,      /* rp */
    ROUND_NEAREST, /* rna: ties away from zero */
};

/* A binary format: mantissa bits, the exponent of its least normal number, and the code of infinity
 * (for a format without one, the code after its greatest number). */
struct format {
    unsigned mantissa;
    int least;
    u32 infinity;
};
static const struct format FORMAT_F16 = {10, -14, 0x7c00};
static const struct format FORMAT_BF16 = {7, -126, 0x7f80};
static const struct format FORMAT_F32 = {23, -126, 0x7f800000};
static const struct format FORMAT_TF32 = {10, -126, 0x3fc00}; /* shifted up by 13 afterwards */
static const struct format FORMAT_E4M3 = {3, -6, 0x7f};
static const struct format FORMAT_E5M2 = {2, -14, 0x7c};

/* The code of |value| in `format`, without the sign; value is not NaN. `infinity` where it is too
 * great, or the greatest finite number where the rounding is towards that or `finite` is set. */
LANE_INLINE u32 narrow(f64 value, struct format format, enum rounding rounding, int finite)
{
    u64 bits = bits64(value), mantissa = bits & 0x000fffffffffffff;
    u32 negative = (u32)(bits >> 63);
    int exponent = (int)(bits >> 52 & 0x7ff);
    mantissa |= exponent ? 0x0010000000000000ull : 0;
    exponent = (exponent ? exponent : 1) - 1023;
    int below = exponent < format.least ? format.least - exponent : 0;
    unsigned shift = 52 - format.mantissa + (unsigned)(below < 60 ? below : 60);
    shift = shift < 60 ? shift : 60;
    u64 kept = mantissa >> shift, rest = mantissa & ((1ull << shift) - 1),
        half = 1ull << (shift - 1);
    int up = rounding == ROUND_EVEN      ? rest > half || (rest == half && (kept & 1))
             : rounding == ROUND_NEAREST ? rest >= half
             : rounding == ROUND_DOWN    ? negative && rest
             : rounding == ROUND_UP      ? !negative && rest
                                         : 0;
    u64 code = kept + (u64)up;
    code += exponent > format.least ? (u64)(exponent - format.least) << format.mantissa : 0;
    int inwards =
        finite || rounding == ROUND_ZERO || rounding == (negative ? ROUND_UP : ROUND_DOWN);
    if (code < format.infinity)
        return (u32)code;
    return format.infinity - (u32)(inwards && (finite || fabs(value) <= 0x1.fffffffffffffp1023));
}
LANE_INLINE u32 narrow_signed(f64 value, struct format format, unsigned sign_bit,
                              enum rounding rounding, int finite)
{
    return narrow(value, format, rounding, finite) | (u32)(bits64(value) >> 63) << sign_bit;
}

#endif
