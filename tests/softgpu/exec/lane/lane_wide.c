/* lane_wide.c - integers with more than a plain result: wide products, mul24, dot products,
 * carries. */
#include "exec/lane/lane_loop.h"

/* ---- products twice as wide ------------------------------------------------------------------ */

#define AS_S16(v) ((s32)(s16)(v))
#define AS_U16(v) ((u32)(u16)(v))
#define WIDE(T, D, S, W, ADD)                                                                      \
    MAP2(mul_wide_##T, 32, D, S, W, SAME, (D)x *(D)y)                                              \
    MAP3(mad_wide_##T, 32, D, S, W, ADD, SAME, (D)x *(D)y + z)
WIDE(u16, u32, u16, AS_U16, AS_U32)
WIDE(s16, u32, u16, AS_S16, AS_U32)
WIDE(u32, u64, u32, AS_U32, AS_U64)
WIDE(s32, u64, u32, AS_S32, AS_U64)

/* ---- 24 bits --------------------------------------------------------------------------------- */

#define AS_U24(v) ((u64)((v)&0xffffff))
#define AS_S24(v) ((s64)((s32)((u32)(v) << 8) >> 8))
LANE_INLINE u32 clamp_s32(s64 value)
{
    return (u32)(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (s32)value);
}
/* The upper 32 of a product's 48 bits. */
#define UPPER(product) ((u32)((product) >> 16))
#define TIMES_24(T, W)                                                                             \
    MAP2(mul24_lo_##T, 32, u32, u32, W, (u32), x *y)                                               \
    MAP2(mul24_hi_##T, 32, u32, u32, W, UPPER, x *y)                                               \
    MAP3(mad24_lo_##T, 32, u32, u32, W, AS_U32, SAME, (u32)(x * y) + z)                            \
    MAP3(mad24_hi_##T, 32, u32, u32, W, AS_U32, SAME, UPPER(x *y) + z)
TIMES_24(u32, AS_U24)
TIMES_24(s32, AS_S24)
MAP3(mad24_hi_sat_s32, 32, u32, u32, AS_S24, AS_S32, clamp_s32, (s64)(s32)UPPER(x *y) + z)

/* ---- dot products ---------------------------------------------------------------------------- */

#define PART_u8(v, at)  ((u32)(u8)((v) >> (at)*8))
#define PART_s8(v, at)  ((u32)(s32)(s8)((v) >> (at)*8))
#define PART_u16(v, at) ((u32)(u16)((v) >> (at)*16))
#define PART_s16(v, at) ((u32)(s32)(s16)((v) >> (at)*16))
#define DOTS(A, B)                                                                                 \
    MAP3(dp4a_##A##32_##B##32, 32, u32, u32, AS_U32, AS_U32, SAME,                                 \
         z + PART_##A##8(x, 0) * PART_##B##8(y, 0) + PART_##A##8(x, 1) * PART_##B##8(y, 1) +       \
             PART_##A##8(x, 2) * PART_##B##8(y, 2) + PART_##A##8(x, 3) * PART_##B##8(y, 3))        \
    MAP3(dp2a_lo_##A##32_##B##32, 32, u32, u32, AS_U32, AS_U32, SAME,                              \
         z + PART_##A##16(x, 0) * PART_##B##8(y, 0) + PART_##A##16(x, 1) * PART_##B##8(y, 1))      \
    MAP3(dp2a_hi_##A##32_##B##32, 32, u32, u32, AS_U32, AS_U32, SAME,                              \
         z + PART_##A##16(x, 0) * PART_##B##8(y, 2) + PART_##A##16(x, 1) * PART_##B##8(y, 3))
DOTS(u, u)
DOTS(u, s)
DOTS(s, u)
DOTS(s, s)

/* The one video instruction that compilers still make. */
#define APART(A, x, y, at)                                                                         \
    ((s32)PART_##A##8(x, at) > (s32)PART_##A##8(y, at) ? PART_##A##8(x, at) - PART_##A##8(y, at)   \
                                                       : PART_##A##8(y, at) - PART_##A##8(x, at))
#define APART_4(A)                                                                                 \
    MAP3(vabsdiff4_##A##32, 32, u32, u32, AS_U32, AS_U32, SAME,                                    \
         ((void)z, APART(A, x, y, 0) | APART(A, x, y, 1) << 8 | APART(A, x, y, 2) << 16 |          \
                       APART(A, x, y, 3) << 24))                                                   \
    MAP3(vabsdiff4_add_##A##32, 32, u32, u32, AS_U32, AS_U32, SAME,                                \
         z + APART(A, x, y, 0) + APART(A, x, y, 1) + APART(A, x, y, 2) + APART(A, x, y, 3))
APART_4(u)
APART_4(s)

/* ---- carries --------------------------------------------------------------------------------- */

/*
 * The carry comes in and goes out as a mask of the lanes. IN is 1 where the instruction reads it,
 * OUT where it writes it, and START what stands for it where it is not read. A subtraction adds the
 * complement and 1, so that no carry out of it means a borrow.
 */
#define PLAIN(y)      (y)
#define COMPLEMENT(y) (~(y))
#define CARRYING(NAME, BITS, WIDER, IN, START, OUT, SECOND)                                        \
    LANE_SLOW_FN(                                                                                  \
        NAME, u##BITS *d = args->d; const u##BITS *s0 = args->s[0];                                \
        const u##BITS *s1 = args->s[1]; u32 out = 0; for (unsigned i = 0; i < LANES; i++) {        \
            WIDER carry = IN ? *args->carry >> i & 1 : START;                                      \
            WIDER sum = (WIDER)s0[i] + (u##BITS)SECOND(s1[i]) + carry;                             \
            d[i] = (u##BITS)sum;                                                                   \
            out |= (u32)(sum >> BITS & 1) << i;                                                    \
        } if (OUT) *args->carry = out;)
#define CARRIES(BITS, WIDER)                                                                       \
    CARRYING(add_cc_##BITS, BITS, WIDER, 0, 0, 1, PLAIN)                                           \
    CARRYING(addc_##BITS, BITS, WIDER, 1, 0, 0, PLAIN)                                             \
    CARRYING(addc_cc_##BITS, BITS, WIDER, 1, 0, 1, PLAIN)                                          \
    CARRYING(sub_cc_##BITS, BITS, WIDER, 0, 1, 1, COMPLEMENT)                                      \
    CARRYING(subc_##BITS, BITS, WIDER, 1, 0, 0, COMPLEMENT)                                        \
    CARRYING(subc_cc_##BITS, BITS, WIDER, 1, 0, 1, COMPLEMENT)
CARRIES(32, u64)
CARRIES(64, u128)

#define LOW_u32(x, y)  ((x) * (y))
#define LOW_s32(x, y)  ((u32)(x) * (u32)(y))
#define LOW_u64(x, y)  ((x) * (y))
#define LOW_s64(x, y)  ((u64)(x) * (u64)(y))
#define HIGH_u32(x, y) ((u32)((u64)(x) * (y) >> 32))
#define HIGH_s32(x, y) ((u32)((s64)(x) * (y) >> 32))
#define HIGH_u64(x, y) ((u64)((u128)(x) * (y) >> 64))
#define HIGH_s64(x, y) ((u64)((s128)(x) * (y) >> 64))
#define CARRYING_MAD(NAME, T, BITS, IN, OUT, PART)                                                 \
    LANE_SLOW_FN(                                                                                  \
        NAME, u##BITS *d = args->d; const T *s0 = args->s[0]; const T *s1 = args->s[1];            \
        const u##BITS *s2 = args->s[2]; u32 out = 0; for (unsigned i = 0; i < LANES; i++) {        \
            u128 carry = IN ? *args->carry >> i & 1 : 0;                                           \
            u128 sum = (u128)PART##_##T(s0[i], s1[i]) + s2[i] + carry;                             \
            d[i] = (u##BITS)sum;                                                                   \
            out |= (u32)(sum >> BITS & 1) << i;                                                    \
        } if (OUT) *args->carry = out;)
#define CARRYING_MADS(T, BITS)                                                                     \
    CARRYING_MAD(mad_lo_cc_##T, T, BITS, 0, 1, LOW)                                                \
    CARRYING_MAD(mad_hi_cc_##T, T, BITS, 0, 1, HIGH)                                               \
    CARRYING_MAD(madc_lo_##T, T, BITS, 1, 0, LOW)                                                  \
    CARRYING_MAD(madc_hi_##T, T, BITS, 1, 0, HIGH)                                                 \
    CARRYING_MAD(madc_lo_cc_##T, T, BITS, 1, 1, LOW)                                               \
    CARRYING_MAD(madc_hi_cc_##T, T, BITS, 1, 1, HIGH)
CARRYING_MADS(u32, 32)
CARRYING_MADS(s32, 32)
CARRYING_MADS(u64, 64)
CARRYING_MADS(s64, 64)

/* ---- rows ------------------------------------------------------------------------------------ */

#define WIDE_ROWS(T, D, S)                                                                         \
    ROW("mul.wide." #T, D S S, mul_wide_##T), ROW("mad.wide." #T, D S S D, mad_wide_##T)
#define ROWS_24(T)                                                                                 \
    ROW("mul24.lo." #T, "www", mul24_lo_##T), ROW("mul24.hi." #T, "www", mul24_hi_##T),            \
        ROW("mad24.lo." #T, "wwww", mad24_lo_##T), ROW("mad24.hi." #T, "wwww", mad24_hi_##T)
#define DOT_ROWS(A, B)                                                                             \
    ROW("dp4a." #A "." #B, "wwww", dp4a_##A##_##B),                                                \
        ROW("dp2a.lo." #A "." #B, "wwww", dp2a_lo_##A##_##B),                                      \
        ROW("dp2a.hi." #A "." #B, "wwww", dp2a_hi_##A##_##B)
#define CARRY_ROWS(T, BITS, L)                                                                     \
    SLOW_ROW("add.cc." #T, L L L, add_cc_##BITS), SLOW_ROW("addc." #T, L L L, addc_##BITS),        \
        SLOW_ROW("addc.cc." #T, L L L, addc_cc_##BITS),                                            \
        SLOW_ROW("sub.cc." #T, L L L, sub_cc_##BITS), SLOW_ROW("subc." #T, L L L, subc_##BITS),    \
        SLOW_ROW("subc.cc." #T, L L L, subc_cc_##BITS)
#define CARRY_MAD_ROWS(T, L)                                                                       \
    SLOW_ROW("mad.lo.cc." #T, L L L L, mad_lo_cc_##T),                                             \
        SLOW_ROW("mad.hi.cc." #T, L L L L, mad_hi_cc_##T),                                         \
        SLOW_ROW("madc.lo." #T, L L L L, madc_lo_##T),                                             \
        SLOW_ROW("madc.hi." #T, L L L L, madc_hi_##T),                                             \
        SLOW_ROW("madc.lo.cc." #T, L L L L, madc_lo_cc_##T),                                       \
        SLOW_ROW("madc.hi.cc." #T, L L L L, madc_hi_cc_##T)

static const struct lane_row ROWS[] = {
    WIDE_ROWS(u16, "w", "h"),
    WIDE_ROWS(s16, "w", "h"),
    WIDE_ROWS(u32, "d", "w"),
    WIDE_ROWS(s32, "d", "w"),
    ROWS_24(u32),
    ROWS_24(s32),
    ROW("mad24.hi.sat.s32", "wwww", mad24_hi_sat_s32),
    DOT_ROWS(u32, u32),
    DOT_ROWS(u32, s32),
    DOT_ROWS(s32, u32),
    DOT_ROWS(s32, s32),
    ROW("vabsdiff4.u32.u32.u32", "wwww", vabsdiff4_u32),
    ROW("vabsdiff4.u32.s32.s32", "wwww", vabsdiff4_s32),
    ROW("vabsdiff4.add.u32.u32.u32", "wwww", vabsdiff4_add_u32),
    ROW("vabsdiff4.add.u32.s32.s32", "wwww", vabsdiff4_add_s32),
    CARRY_ROWS(u32, 32, "w"),
    CARRY_ROWS(s32, 32, "w"),
    CARRY_ROWS(u64, 64, "d"),
    CARRY_ROWS(s64, 64, "d"),
    CARRY_MAD_ROWS(u32, "w"),
    CARRY_MAD_ROWS(s32, "w"),
    CARRY_MAD_ROWS(u64, "d"),
    CARRY_MAD_ROWS(s64, "d"),
};
LANE_FAMILY(lane_wide_family, ROWS);
