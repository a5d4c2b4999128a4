/* lane_cvt_to_int.c - cvt from float to integer: rounded, clamped, and what becomes of NaN. */
#include "exec/lane/lane_kinds.h"
#include "exec/lane/lane_num.h"

/* The first number that is too great, and the type through which the cast goes. */
#define BEYOND_u8  0x1p8f
#define BEYOND_s8  0x1p7f
#define BEYOND_u16 0x1p16f
#define BEYOND_s16 0x1p15f
#define BEYOND_u32 0x1p32f
#define BEYOND_s32 0x1p31f
#define BEYOND_u64 0x1p64f
#define BEYOND_s64 0x1p63f
typedef s32 by_u8, by_s8, by_u16, by_s16, by_s32;
typedef s64 by_u32, by_s64;
typedef u64 by_u64;

/* NaN gives 0, but the most significant bit alone where either side has 64 bits. */
#define NAN_f32_u8  0
#define NAN_f32_s8  0
#define NAN_f32_u16 0
#define NAN_f32_s16 0
#define NAN_f32_u32 0
#define NAN_f32_s32 0
#define NAN_f32_u64 0x8000000000000000ull
#define NAN_f32_s64 INT64_MIN
#define NAN_f64_u8  0x80u
#define NAN_f64_s8  INT8_MIN
#define NAN_f64_u16 0x8000u
#define NAN_f64_s16 INT16_MIN
#define NAN_f64_u32 0x80000000u
#define NAN_f64_s32 INT32_MIN
#define NAN_f64_u64 0x8000000000000000ull
#define NAN_f64_s64 INT64_MIN

#define ROUND_f32_rni(x) __builtin_rintf(x)
#define ROUND_f32_rzi(x) __builtin_truncf(x)
#define ROUND_f32_rmi(x) __builtin_floorf(x)
#define ROUND_f32_rpi(x) __builtin_ceilf(x)
#define ROUND_f64_rni(x) __builtin_rint(x)
#define ROUND_f64_rzi(x) __builtin_trunc(x)
#define ROUND_f64_rmi(x) __builtin_floor(x)
#define ROUND_f64_rpi(x) __builtin_ceil(x)

/* F is the type computed with. The cast gets only what fits. */
#define CONVERT(NAME, MODE, F, S, LOAD, T, REG)                                                    \
    LANE_FN(                                                                                       \
        NAME, u##REG *d = args->d; const S *s0 = args->s[0]; EACH(LANES) {                         \
            F x = ROUND_##F##_##MODE(LOAD(s0[i]));                                                 \
            T value = (T)(by_##T)(x >= (F)MIN_##T && x < BEYOND_##T ? x : 0);                      \
            value = (T)(x >= BEYOND_##T ? MAX_##T : x < (F)MIN_##T ? MIN_##T : value);             \
            d[i] = WIDEN(T, REG, x != x ? NAN_##F##_##T : value);                                  \
        })
#define MODES(ID, F, S, LOAD, T, REG)                                                              \
    CONVERT(rni_##ID##_##T##_##REG, rni, F, S, LOAD, T, REG)                                       \
    CONVERT(rzi_##ID##_##T##_##REG, rzi, F, S, LOAD, T, REG)                                       \
    CONVERT(rmi_##ID##_##T##_##REG, rmi, F, S, LOAD, T, REG)                                       \
    CONVERT(rpi_##ID##_##T##_##REG, rpi, F, S, LOAD, T, REG)
#define FUNCTIONS(ANY, T, REG, LETTER)                                                             \
    MODES(f16, f32, u16, load_f16, T, REG)                                                         \
    MODES(bf16, f32, u16, load_bf16, T, REG)                                                       \
    MODES(f32, f32, u32, from32, T, REG)                                                           \
    MODES(ftz_f32, f32, u32, from32_ftz, T, REG)                                                   \
    MODES(f64, f64, u64, from64, T, REG)
KINDS_TO(FUNCTIONS, )

/* .sat changes nothing. */
#define MODE_ROWS(MODE, KEY, ID, S, OPERANDS, T, REG)                                              \
    ROW("cvt." #MODE KEY "." #T "." S, OPERANDS, MODE##_##ID##_##T##_##REG),                       \
        ROW("cvt." #MODE KEY ".sat." #T "." S, OPERANDS, MODE##_##ID##_##T##_##REG),
#define MODES_ROWS(KEY, ID, S, OPERANDS, T, REG)                                                   \
    MODE_ROWS(rni, KEY, ID, S, OPERANDS, T, REG)                                                   \
    MODE_ROWS(rzi, KEY, ID, S, OPERANDS, T, REG)                                                   \
    MODE_ROWS(rmi, KEY, ID, S, OPERANDS, T, REG)                                                   \
    MODE_ROWS(rpi, KEY, ID, S, OPERANDS, T, REG)
#define ROWS_OF(ANY, T, REG, LETTER)                                                               \
    MODES_ROWS("", f16, "f16", LETTER "h", T, REG)                                                 \
    MODES_ROWS("", bf16, "bf16", LETTER "h", T, REG)                                               \
    MODES_ROWS("", f32, "f32", LETTER "w", T, REG)                                                 \
    MODES_ROWS(".ftz", ftz_f32, "f32", LETTER "w", T, REG)                                         \
    MODES_ROWS("", f64, "f64", LETTER "d", T, REG)

static const struct lane_row ROWS[] = {KINDS_TO(ROWS_OF, )};
LANE_FAMILY(lane_cvt_to_int_family, ROWS);
