/* lane_cvt_int.c - cvt from integer to integer: cut, extended or saturated; and cvt.pack. */
#include "exec/lane/lane_kinds.h"
#include "exec/lane/lane_loop.h"

/* ---- between all kinds ----------------------------------------------------------------------- */

LANE_INLINE s64 clamp_signed(s64 value, s64 least, u64 most)
{
    s64 top = most > INT64_MAX ? INT64_MAX : (s64)most;
    return value < least ? least : value > top ? top : value;
}
LANE_INLINE u64 clamp_unsigned(u64 value, u64 most)
{
    return value > most ? most : value;
}
#define CLAMP_u8(value, T)  clamp_unsigned(value, MAX_##T)
#define CLAMP_u16(value, T) clamp_unsigned(value, MAX_##T)
#define CLAMP_u32(value, T) clamp_unsigned(value, MAX_##T)
#define CLAMP_u64(value, T) clamp_unsigned(value, MAX_##T)
#define CLAMP_s8(value, T)  clamp_signed(value, MIN_##T, MAX_##T)
#define CLAMP_s16(value, T) clamp_signed(value, MIN_##T, MAX_##T)
#define CLAMP_s32(value, T) clamp_signed(value, MIN_##T, MAX_##T)
#define CLAMP_s64(value, T) clamp_signed(value, MIN_##T, MAX_##T)

#define CONVERT(NAME, D, D_REG, S, S_REG, EXPR)                                                    \
    LANE_SLOW_FN(                                                                                  \
        NAME, u##D_REG *d = args->d; const u##S_REG *s0 = args->s[0]; EACH(LANES) {                \
            S x = (S)s0[i];                                                                        \
            d[i] = WIDEN(D, D_REG, EXPR);                                                          \
        })
#define FUNCTIONS(ANY, D, D_REG, D_LETTER, S, S_REG, S_LETTER)                                     \
    CONVERT(cvt_##D##_##D_REG##_##S##_##S_REG, D, D_REG, S, S_REG, x)                              \
    CONVERT(sat_##D##_##D_REG##_##S##_##S_REG, D, D_REG, S, S_REG, CLAMP_##S(x, D))
#define FUNCTIONS_TO(ANY, D, D_REG, D_LETTER) KINDS_FROM(FUNCTIONS, ANY, D, D_REG, D_LETTER)
KINDS_TO(FUNCTIONS_TO, )

/* ---- cvt.pack: a above b, and c pushed up where there is one --------------------------------- */

#define PACK_16(T)                                                                                 \
    MAP2(pack_##T, 32, u32, u32, AS_S32, SAME,                                                     \
         (u32)(u16)CLAMP_s32(x, T) << 16 | (u16)CLAMP_s32(y, T))
#define PACK_8(T)                                                                                  \
    MAP3(pack_##T, 32, u32, u32, AS_S32, AS_U32, SAME,                                             \
         z << 16 | (u32)(u8)CLAMP_s32(x, T) << 8 | (u8)CLAMP_s32(y, T))
/* Fields of less than a byte: of the saturated value the lower bits. */
#define PACK_BITS(T, BITS, LOW, HIGH)                                                              \
    MAP3(pack_##T, 32, u32, u32, AS_S32, AS_U32, SAME,                                             \
         z << 2 * BITS | FIELD(x, BITS, LOW, HIGH) << BITS | FIELD(y, BITS, LOW, HIGH))
#define FIELD(v, BITS, LOW, HIGH)                                                                  \
    ((u32)((v) < (LOW) ? (LOW) : (v) > (HIGH) ? (HIGH) : (v)) & ((1u << (BITS)) - 1))
PACK_BITS(u4, 4, 0, 15)
PACK_BITS(s4, 4, -8, 7)
PACK_BITS(u2, 2, 0, 3)
PACK_BITS(s2, 2, -2, 1)
PACK_16(u16)
PACK_16(s16)
PACK_8(u8)
PACK_8(s8)

/* ---- rows ------------------------------------------------------------------------------------ */

#define ROWS_OF(ANY, D, D_REG, D_LETTER, S, S_REG, S_LETTER)                                       \
    SLOW_ROW("cvt." #D "." #S, D_LETTER S_LETTER, cvt_##D##_##D_REG##_##S##_##S_REG),              \
        SLOW_ROW("cvt.sat." #D "." #S, D_LETTER S_LETTER, sat_##D##_##D_REG##_##S##_##S_REG),
#define ROWS_TO(ANY, D, D_REG, D_LETTER) KINDS_FROM(ROWS_OF, ANY, D, D_REG, D_LETTER)

static const struct lane_row ROWS[] = {
    KINDS_TO(ROWS_TO, ) ROW("cvt.pack.sat.u16.s32", "www", pack_u16),
    ROW("cvt.pack.sat.s16.s32", "www", pack_s16),
    ROW("cvt.pack.sat.u8.s32.b32", "wwww", pack_u8),
    ROW("cvt.pack.sat.s8.s32.b32", "wwww", pack_s8),
    ROW("cvt.pack.sat.u4.s32.b32", "wwww", pack_u4),
    ROW("cvt.pack.sat.s4.s32.b32", "wwww", pack_s4),
    ROW("cvt.pack.sat.u2.s32.b32", "wwww", pack_u2),
    ROW("cvt.pack.sat.s2.s32.b32", "wwww", pack_s2),
};
LANE_FAMILY(lane_cvt_int_family, ROWS);
