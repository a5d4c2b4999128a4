/* lane_cvt_from_int.c - cvt from integer to float, rounded once. */
#include <fenv.h>
#include "exec/lane/lane_kinds.h"
#include "exec/lane/lane_num.h"

/* ---- f32 and f64: the CPU's own conversion, in the given mode ---------------------------- */

#define STORE_f32(v)     bits32(v)
#define STORE_SAT_f32(v) bits32(clamp01(v))
#define STORE_f64(v)     bits64(v)
#define STORE_SAT_f64(v) bits64(clamp01_f64(v))
#define CONVERT(NAME, BITS, F, STORE, T, REG)                                                      \
    LANE_FN(NAME, u##BITS *d = args->d; const u##REG *s0 = args->s[0];                             \
            EACH(LANES) d[i] = STORE((F)(T)s0[i]);)                                                \
    LANE_ROUNDED(rz_##NAME, NAME, FE_TOWARDZERO)                                                   \
    LANE_ROUNDED(rm_##NAME, NAME, FE_DOWNWARD)                                                     \
    LANE_ROUNDED(rp_##NAME, NAME, FE_UPWARD)

/* ---- halves: an f64 holds the integer, or that and whether there was more -------------------- */

LANE_INLINE f64 odd_u64(u64 value)
{
    u64 odd = (value & ~0xfffull) | (value & 0xfff ? 0x800 : 0);
    return (f64)(value >> 53 ? odd : value);
}
LANE_INLINE f64 odd_s64(s64 value)
{
    f64 magnitude = odd_u64(value < 0 ? 0 - (u64)value : (u64)value);
    return value < 0 ? -magnitude : magnitude;
}
#define HALF(NAME, FORMAT, ROUNDING, CLAMP, T, REG)                                                \
    LANE_SLOW_FN(NAME, u16 *d = args->d; const u##REG *s0 = args->s[0];                            \
                 for (unsigned i = 0; i < LANES; i++) d[i] =                                       \
                     (u16)half_of(CLAMP(ODD_##T((T)s0[i])), FORMAT, ROUNDING);)
#define ODD_u8  (f64)
#define ODD_s8  (f64)
#define ODD_u16 (f64)
#define ODD_s16 (f64)
#define ODD_u32 (f64)
#define ODD_s32 (f64)
#define ODD_u64 odd_u64
#define ODD_s64 odd_s64
/* Not inlined: there are hundreds of callers. */
static __attribute__((noinline)) u32 half_of(f64 value, struct format format,
                                             enum rounding rounding)
{
    return narrow_signed(value, format, 15, rounding, 0);
}
#define HALVES(T, REG, SAT, CLAMP, NAME, FORMAT)                                                   \
    HALF(SAT##NAME##_##T##_##REG, FORMAT, ROUND_EVEN, CLAMP, T, REG)                               \
    HALF(rz_##SAT##NAME##_##T##_##REG, FORMAT, ROUND_ZERO, CLAMP, T, REG)                          \
    HALF(rm_##SAT##NAME##_##T##_##REG, FORMAT, ROUND_DOWN, CLAMP, T, REG)                          \
    HALF(rp_##SAT##NAME##_##T##_##REG, FORMAT, ROUND_UP, CLAMP, T, REG)

#define FUNCTIONS(ANY, T, REG, LETTER)                                                             \
    CONVERT(f32_##T##_##REG, 32, f32, STORE_f32, T, REG)                                           \
    CONVERT(sat_f32_##T##_##REG, 32, f32, STORE_SAT_f32, T, REG)                                   \
    CONVERT(f64_##T##_##REG, 64, f64, STORE_f64, T, REG)                                           \
    CONVERT(sat_f64_##T##_##REG, 64, f64, STORE_SAT_f64, T, REG)                                   \
    HALVES(T, REG, , SAME, f16, FORMAT_F16)                                                        \
    HALVES(T, REG, sat_, clamp01_f64, f16, FORMAT_F16)                                             \
    HALVES(T, REG, , SAME, bf16, FORMAT_BF16)
KINDS_FROM(FUNCTIONS, )

/* ---- rows ------------------------------------------------------------------------------------ */

#define MODE_ROWS(A_ROW, D, SAT_KEY, SAT, OPERANDS, T, REG)                                        \
    A_ROW("cvt" SAT_KEY "." #D "." #T, OPERANDS, SAT##D##_##T##_##REG),                            \
        A_ROW("cvt.rz" SAT_KEY "." #D "." #T, OPERANDS, rz_##SAT##D##_##T##_##REG),                \
        A_ROW("cvt.rm" SAT_KEY "." #D "." #T, OPERANDS, rm_##SAT##D##_##T##_##REG),                \
        A_ROW("cvt.rp" SAT_KEY "." #D "." #T, OPERANDS, rp_##SAT##D##_##T##_##REG),
#define ROWS_OF(ANY, T, REG, LETTER)                                                               \
    MODE_ROWS(ROW, f32, "", , "w" LETTER, T, REG)                                                  \
    MODE_ROWS(ROW, f32, ".sat", sat_, "w" LETTER, T, REG)                                          \
    MODE_ROWS(ROW, f32, ".ftz", , "w" LETTER, T, REG)                                              \
    MODE_ROWS(ROW, f32, ".ftz.sat", sat_, "w" LETTER, T, REG)                                      \
    MODE_ROWS(ROW, f64, "", , "d" LETTER, T, REG)                                                  \
    MODE_ROWS(ROW, f64, ".sat", sat_, "d" LETTER, T, REG)                                          \
    MODE_ROWS(SLOW_ROW, f16, "", , "h" LETTER, T, REG)                                             \
    MODE_ROWS(SLOW_ROW, f16, ".sat", sat_, "h" LETTER, T, REG)                                     \
    MODE_ROWS(SLOW_ROW, bf16, "", , "h" LETTER, T, REG)

static const struct lane_row ROWS[] = {KINDS_FROM(ROWS_OF, )};
LANE_FAMILY(lane_cvt_from_int_family, ROWS);
