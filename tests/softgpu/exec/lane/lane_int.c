/* lane_int.c - integers: add, sub, mul.lo, mul.hi, mad, div, rem, min, max, abs, neg, sad and kin.
 */
#include "exec/lane/lane_loop.h"

#define AS_S16(v) ((s32)(s16)(v))
#define AS_U16(v) ((u32)(u16)(v))

/* ---- the values of one lane ------------------------------------------------------------------ */

/* What the device gives for a division by zero: all ones, also as the remainder. */
LANE_INLINE u32 div_u32(u32 x, u32 y)
{
    return y ? x / y : ~0u;
}
LANE_INLINE u32 rem_u32(u32 x, u32 y)
{
    return y ? x % y : ~0u;
}
LANE_INLINE u64 div_u64(u64 x, u64 y)
{
    return y ? x / y : ~0ull;
}
LANE_INLINE u64 rem_u64(u64 x, u64 y)
{
    return y ? x % y : ~0ull;
}
/* Dividing by -1 is a negation, which wraps where a division would trap. */
LANE_INLINE u32 div_s32(s32 x, s32 y)
{
    return y == -1 ? 0u - (u32)x : y ? (u32)(x / y) : ~0u;
}
LANE_INLINE u32 rem_s32(s32 x, s32 y)
{
    return y == -1 ? 0 : y ? (u32)(x % y) : ~0u;
}
LANE_INLINE u64 div_s64(s64 x, s64 y)
{
    return y == -1 ? 0ull - (u64)x : y ? (u64)(x / y) : ~0ull;
}
LANE_INLINE u64 rem_s64(s64 x, s64 y)
{
    return y == -1 ? 0 : y ? (u64)(x % y) : ~0ull;
}

LANE_INLINE u64 mulhi_u64(u64 x, u64 y)
{
    return (u64)((u128)x * y >> 64);
}
LANE_INLINE u64 mulhi_s64(s64 x, s64 y)
{
    return (u64)((s128)x * y >> 64);
}

LANE_INLINE u32 clamp_s32(s64 value)
{
    return (u32)(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (s32)value);
}

#define LEAST(x, y)    ((x) < (y) ? (x) : (y))
#define GREATEST(x, y) ((x) > (y) ? (x) : (y))
#define AT_LEAST_0(x)  ((x) < 0 ? 0 : (x))
#define APART_32(x, y) ((x) > (y) ? (u32)(x) - (u32)(y) : (u32)(y) - (u32)(x))
#define APART_64(x, y) ((x) > (y) ? (u64)(x) - (u64)(y) : (u64)(y) - (u64)(x))

/* ---- the same for both signs ----------------------------------------------------------------- */

#define WRAPPING(BITS, W)                                                                          \
    MAP2(add_b##BITS, 32, u##BITS, u##BITS, W, SAME, x + y)                                        \
    MAP2(sub_b##BITS, 32, u##BITS, u##BITS, W, SAME, x - y)                                        \
    MAP1(neg_b##BITS, 32, u##BITS, u##BITS, W, SAME, 0 - x)
WRAPPING(16, AS_U16)
WRAPPING(32, AS_U32)
WRAPPING(64, AS_U64)
MAP2(add_x2, 64, u16, u16, AS_U16, SAME, x + y)

#define MULTIPLYING(BITS, W)                                                                       \
    MAP2(mul_lo_b##BITS, 32, u##BITS, u##BITS, W, SAME, x *y)                                      \
    MAP3(mad_lo_b##BITS, 32, u##BITS, u##BITS, W, W, SAME, x *y + z)
MULTIPLYING(16, AS_U16)
MULTIPLYING(32, AS_U32)
MULTIPLYING(64, AS_U64)

MAP2(add_sat_s32, 32, u32, u32, AS_S32, clamp_s32, (s64)x + y)
MAP2(sub_sat_s32, 32, u32, u32, AS_S32, clamp_s32, (s64)x - y)

/* ---- one for each type ----------------------------------------------------------------------- */

#define ORDERED(T, BITS, COUNT, W)                                                                 \
    MAP2(min_##T, COUNT, u##BITS, u##BITS, W, SAME, LEAST(x, y))                                   \
    MAP2(max_##T, COUNT, u##BITS, u##BITS, W, SAME, GREATEST(x, y))
ORDERED(u16, 16, 32, AS_U16)
ORDERED(s16, 16, 32, AS_S16)
ORDERED(u16x2, 16, 64, AS_U16)
ORDERED(s16x2, 16, 64, AS_S16)
ORDERED(u32, 32, 32, AS_U32)
ORDERED(s32, 32, 32, AS_S32)
ORDERED(u64, 64, 32, AS_U64)
ORDERED(s64, 64, 32, AS_S64)

MAP2(min_relu_s32, 32, u32, u32, AS_S32, AT_LEAST_0, LEAST(x, y))
MAP2(max_relu_s32, 32, u32, u32, AS_S32, AT_LEAST_0, GREATEST(x, y))
MAP2(min_relu_s16x2, 64, u16, u16, AS_S16, AT_LEAST_0, LEAST(x, y))
MAP2(max_relu_s16x2, 64, u16, u16, AS_S16, AT_LEAST_0, GREATEST(x, y))

#define SIGNED(BITS, W, WIDE)                                                                      \
    MAP1(abs_s##BITS, 32, u##BITS, u##BITS, W, SAME, x < 0 ? 0 - (WIDE)x : (WIDE)x)
SIGNED(16, AS_S16, u32)
SIGNED(32, AS_S32, u32)
SIGNED(64, AS_S64, u64)

#define DIVIDING(T, BITS, W, CALL)                                                                 \
    MAP2(div_##T, 32, u##BITS, u##BITS, W, SAME, div_##CALL(x, y))                                 \
    MAP2(rem_##T, 32, u##BITS, u##BITS, W, SAME, rem_##CALL(x, y))
DIVIDING(u16, 16, AS_U16, u32)
DIVIDING(s16, 16, AS_S16, s32)
DIVIDING(u32, 32, AS_U32, u32)
DIVIDING(s32, 32, AS_S32, s32)
DIVIDING(u64, 64, AS_U64, u64)
DIVIDING(s64, 64, AS_S64, s64)

#define FAR_APART(T, BITS, W, WIDE)                                                                \
    MAP3(sad_##T, 32, u##BITS, u##BITS, W, WIDE, SAME, z + APART_##WIDE(x, y))
#define APART_AS_U32 APART_32
#define APART_AS_U64 APART_64
FAR_APART(u16, 16, AS_U16, AS_U32)
FAR_APART(s16, 16, AS_S16, AS_U32)
FAR_APART(u32, 32, AS_U32, AS_U32)
FAR_APART(s32, 32, AS_S32, AS_U32)
FAR_APART(u64, 64, AS_U64, AS_U64)
FAR_APART(s64, 64, AS_S64, AS_U64)

/* ---- upper halves ---------------------------------------------------------------------------- */

#define HIGH_u16(x, y) ((x) * (y) >> 16)
#define HIGH_s16(x, y) ((u32)((x) * (y) >> 16))
#define HIGH_u32(x, y) ((u32)((u64)(x) * (y) >> 32))
#define HIGH_s32(x, y) ((u32)((s64)(x) * (y) >> 32))
#define HIGH_u64(x, y) mulhi_u64(x, y)
#define HIGH_s64(x, y) mulhi_s64(x, y)
#define HIGH(T, BITS, W, WIDE)                                                                     \
    MAP2(mul_hi_##T, 32, u##BITS, u##BITS, W, SAME, HIGH_##T(x, y))                                \
    MAP3(mad_hi_##T, 32, u##BITS, u##BITS, W, WIDE, SAME, HIGH_##T(x, y) + z)
HIGH(u16, 16, AS_U16, AS_U32)
HIGH(s16, 16, AS_S16, AS_U32)
HIGH(u32, 32, AS_U32, AS_U32)
HIGH(s32, 32, AS_S32, AS_U32)
HIGH(u64, 64, AS_U64, AS_U64)
HIGH(s64, 64, AS_S64, AS_U64)
MAP3(mad_hi_sat_s32, 32, u32, u32, AS_S32, AS_S32, clamp_s32, ((s64)x * y >> 32) + z)

/* ---- rows ------------------------------------------------------------------------------------ */

#define ROWS_BOTH(OP, NAME, LETTERS)                                                               \
    ROW(#OP ".u16", LETTERS("h"), NAME##_b16), ROW(#OP ".s16", LETTERS("h"), NAME##_b16),          \
        ROW(#OP ".u32", LETTERS("w"), NAME##_b32), ROW(#OP ".s32", LETTERS("w"), NAME##_b32),      \
        ROW(#OP ".u64", LETTERS("d"), NAME##_b64), ROW(#OP ".s64", LETTERS("d"), NAME##_b64)
#define ROWS_EACH(OP, NAME, LETTERS)                                                               \
    ROW(#OP ".u16", LETTERS("h"), NAME##_u16), ROW(#OP ".s16", LETTERS("h"), NAME##_s16),          \
        ROW(#OP ".u32", LETTERS("w"), NAME##_u32), ROW(#OP ".s32", LETTERS("w"), NAME##_s32),      \
        ROW(#OP ".u64", LETTERS("d"), NAME##_u64), ROW(#OP ".s64", LETTERS("d"), NAME##_s64)
#define ONE(L)   L L
#define TWO(L)   L L L
#define THREE(L) L L L L

static const struct lane_row ROWS[] = {
    ROWS_BOTH(add, add, TWO),
    ROWS_BOTH(sub, sub, TWO),
    ROWS_BOTH(mul.lo, mul_lo, TWO),
    ROWS_BOTH(mad.lo, mad_lo, THREE),
    ROW("add.u16x2", "www", add_x2),
    ROW("add.s16x2", "www", add_x2),
    ROW("add.sat.s32", "www", add_sat_s32),
    ROW("sub.sat.s32", "www", sub_sat_s32),
    ROW("neg.s16", "hh", neg_b16),
    ROW("neg.s32", "ww", neg_b32),
    ROW("neg.s64", "dd", neg_b64),

    ROW("abs.s16", "hh", abs_s16),
    ROW("abs.s32", "ww", abs_s32),
    ROW("abs.s64", "dd", abs_s64),
    ROWS_EACH(min, min, TWO),
    ROWS_EACH(max, max, TWO),
    ROW("min.u16x2", "www", min_u16x2),
    ROW("min.s16x2", "www", min_s16x2),
    ROW("max.u16x2", "www", max_u16x2),
    ROW("max.s16x2", "www", max_s16x2),
    ROW("min.relu.s16x2", "www", min_relu_s16x2),
    ROW("max.relu.s16x2", "www", max_relu_s16x2),
    ROW("min.relu.s32", "www", min_relu_s32),
    ROW("max.relu.s32", "www", max_relu_s32),
    ROWS_EACH(div, div, TWO),
    ROWS_EACH(rem, rem, TWO),
    ROWS_EACH(sad, sad, THREE),
    ROWS_EACH(mul.hi, mul_hi, TWO),
    ROWS_EACH(mad.hi, mad_hi, THREE),
    ROW("mad.hi.sat.s32", "wwww", mad_hi_sat_s32),
};
LANE_FAMILY(lane_int_family, ROWS);
