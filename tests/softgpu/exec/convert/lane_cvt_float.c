/* lane_cvt_float.c - cvt between f16, bf16, f32 and f64, and rounding to integers in one format. */
#include <fenv.h>
#include "exec/lane/lane_num.h"

/* ---- wider: exact ---------------------------------------------------------------------------- */

/* A NaN keeps its payload on the way to f64, but .ftz makes it f32's own first; bf16 is the upper
 * half of an f32, NaN and all. */
#define FROM32_FTZ(v)                  from32(store32_ftz(from32(v)))
#define STORE_F64_SAT(v)               bits64(clamp01_f64(v))
#define WIDER(NAME, D, S, LOAD, STORE) MAP1(NAME, 32, D, S, LOAD, STORE, x)
#define WIDER_32(S, BITS, LOAD)                                                                    \
    WIDER(f32_##S, u32, u##BITS, LOAD, store32)                                                    \
    WIDER(ftz_f32_##S, u32, u##BITS, LOAD, store32_ftz)                                            \
    WIDER(sat_f32_##S, u32, u##BITS, LOAD, store32_sat)                                            \
    WIDER(ftz_sat_f32_##S, u32, u##BITS, LOAD, store32_ftz_sat)
#define WIDER_64(NAME, BITS, LOAD)                                                                 \
    WIDER(f64_##NAME, u64, u##BITS, LOAD, bits64)                                                  \
    WIDER(sat_f64_##NAME, u64, u##BITS, LOAD, STORE_F64_SAT)
WIDER_32(f16, 16, load_f16)
MAP1(f32_bf16, 32, u32, u16, AS_U32, SAME, x << 16)
WIDER_32(f32, 32, from32)
WIDER_64(f16, 16, load_f16)
WIDER_64(bf16, 16, load_bf16)
WIDER_64(f32, 32, from32)
WIDER_64(ftz_f32, 32, FROM32_FTZ)

/* ---- f64 to f32 ------------------------------------------------------------------------------ */

/* A NaN keeps what fits of its payload, as it does here. */
#define BITS_FTZ(v) bits32(flush32(v))
#define NARROW_32(NAME, STORE)                                                                     \
    MAP1(NAME, 32, u32, u64, from64, STORE, (f32)x)                                                \
    LANE_ROUNDED(rz_##NAME, NAME, FE_TOWARDZERO)                                                   \
    LANE_ROUNDED(rm_##NAME, NAME, FE_DOWNWARD)                                                     \
    LANE_ROUNDED(rp_##NAME, NAME, FE_UPWARD)
NARROW_32(f32_f64, bits32)
NARROW_32(ftz_f32_f64, BITS_FTZ)
NARROW_32(sat_f32_f64, store32_sat)
NARROW_32(ftz_sat_f32_f64, store32_ftz_sat)

/* ---- to halves ------------------------------------------------------------------------------- */

/* A NaN of an f64 keeps what fits of its payload. */
LANE_INLINE u32 half_nan(u64 bits, struct format format)
{
    u32 payload = (u32)((bits & 0x000fffffffffffff) >> (52 - format.mantissa));
    return (u32)(bits >> 63) << 15 | format.infinity | 1u << (format.mantissa - 1) | payload;
}
/* FINITE: .satfinite, the greatest number instead of infinity. */
static __attribute__((noinline)) u16 half_of(f64 value, struct format format,
                                             enum rounding rounding, int finite, int from_f64)
{
    if (value != value)
        return (u16)(from_f64 ? half_nan(bits64(value), format) : NAN_HALF);
    return (u16)narrow_signed(value, format, 15, rounding, finite);
}
LANE_INLINE f64 relu_f64(f64 value)
{
    return value > 0 || value != value ? value : 0;
}
#define FORMAT_f16  FORMAT_F16
#define FORMAT_bf16 FORMAT_BF16
#define HALF(NAME, D, S, LOAD, PREPARE, ROUNDING, FINITE)                                          \
    LANE_SLOW_FN(NAME, u16 *d = args->d; const S *s0 = args->s[0];                                 \
                 for (unsigned i = 0; i < LANES; i++) d[i] =                                       \
                     half_of(PREPARE(LOAD(s0[i])), FORMAT_##D, ROUNDING, FINITE,                   \
                             sizeof(S) == sizeof(u64));)
#define HALF_DIRECTED(KIND, D, SOURCE, S, LOAD, PREPARE, FINITE)                                   \
    HALF(rz_##KIND##D##_##SOURCE, D, S, LOAD, PREPARE, ROUND_ZERO, FINITE)                         \
    HALF(rm_##KIND##D##_##SOURCE, D, S, LOAD, PREPARE, ROUND_DOWN, FINITE)                         \
    HALF(rp_##KIND##D##_##SOURCE, D, S, LOAD, PREPARE, ROUND_UP, FINITE)
#define HALF_MODES(KIND, D, SOURCE, S, LOAD, PREPARE, FINITE)                                      \
    HALF(KIND##D##_##SOURCE, D, S, LOAD, PREPARE, ROUND_EVEN, FINITE)                              \
    HALF_DIRECTED(KIND, D, SOURCE, S, LOAD, PREPARE, FINITE)
#define HALF_KINDS(D, SOURCE, S, LOAD)                                                             \
    HALF_MODES(sat_, D, SOURCE, S, LOAD, clamp01_f64, 0)                                           \
    HALF_MODES(relu_, D, SOURCE, S, LOAD, relu_f64, 0)                                             \
    HALF_MODES(finite_, D, SOURCE, S, LOAD, SAME, 1)                                               \
    HALF_MODES(relu_finite_, D, SOURCE, S, LOAD, relu_f64, 1)
#define HALVES(D, SOURCE, S, LOAD)                                                                 \
    HALF_MODES(, D, SOURCE, S, LOAD, SAME, 0)                                                      \
    HALF_KINDS(D, SOURCE, S, LOAD)
HALVES(f16, f64, u64, from64)
HALVES(f16, bf16, u16, load_bf16)
HALVES(bf16, f64, u64, from64)
HALVES(bf16, f16, u16, load_f16)
/* .ftz changes nothing here: an f32's subnormals are far below a half's. Two are what programs do
 * all the time. */
MAP1(f16_f32, 32, u16, u32, from32, store_f16, x)
MAP1(bf16_f32, 32, u16, u32, from32, store_bf16, x)
HALF_DIRECTED(, f16, f32, u32, from32, SAME, 0)
HALF_DIRECTED(, bf16, f32, u32, from32, SAME, 0)
HALF_KINDS(f16, f32, u32, from32)
HALF_KINDS(bf16, f32, u32, from32)

/* ---- one format: to integers, or to [0, 1] --------------------------------------------------- */

#define STORE_F16_SAT(v)  store_f16(clamp01(v))
#define STORE_BF16_SAT(v) store_bf16(clamp01(v))
#define STORE_F64(v)      store64_1(v, x)
#define INTEGERS(ID, U, LOAD, STORE, SUFFIX)                                                       \
    MAP1(rni_##ID, 32, U, U, LOAD, STORE, __builtin_rint##SUFFIX(x))                               \
    MAP1(rzi_##ID, 32, U, U, LOAD, STORE, __builtin_trunc##SUFFIX(x))                              \
    MAP1(rmi_##ID, 32, U, U, LOAD, STORE, __builtin_floor##SUFFIX(x))                              \
    MAP1(rpi_##ID, 32, U, U, LOAD, STORE, __builtin_ceil##SUFFIX(x))
INTEGERS(f16, u16, load_f16, store_f16, f)
INTEGERS(sat_f16, u16, load_f16, STORE_F16_SAT, f)
INTEGERS(bf16, u16, load_bf16, store_bf16, f)
INTEGERS(sat_bf16, u16, load_bf16, STORE_BF16_SAT, f)
INTEGERS(f32, u32, from32, store32, f)
INTEGERS(ftz_f32, u32, from32_ftz, store32, f)
INTEGERS(sat_f32, u32, from32, store32_sat, f)
INTEGERS(ftz_sat_f32, u32, from32_ftz, store32_sat, f)
INTEGERS(f64, u64, from64, STORE_F64, )
INTEGERS(sat_f64, u64, from64, STORE_F64_SAT, )
MAP1(same_f16, 32, u16, u16, load_f16, store_f16, x)
MAP1(same_sat_f16, 32, u16, u16, load_f16, STORE_F16_SAT, x)
MAP1(same_bf16, 32, u16, u16, load_bf16, store_bf16, x)
MAP1(same_sat_bf16, 32, u16, u16, load_bf16, STORE_BF16_SAT, x)
MAP1(same_f64, 32, u64, u64, from64, STORE_F64, x)
MAP1(same_sat_f64, 32, u64, u64, from64, STORE_F64_SAT, x)

/* ---- rows ------------------------------------------------------------------------------------ */

#define WIDER_ROWS_32(S, OPERANDS)                                                                 \
    ROW("cvt.f32." #S, OPERANDS, f32_##S), ROW("cvt.ftz.f32." #S, OPERANDS, ftz_f32_##S),          \
        ROW("cvt.sat.f32." #S, OPERANDS, sat_f32_##S),                                             \
        ROW("cvt.ftz.sat.f32." #S, OPERANDS, ftz_sat_f32_##S)
#define WIDER_ROWS_64(KEY, S, NAME, OPERANDS)                                                      \
    ROW("cvt" KEY ".f64." #S, OPERANDS, f64_##NAME),                                               \
        ROW("cvt" KEY ".sat.f64." #S, OPERANDS, sat_f64_##NAME)
#define NARROW_ROWS_32(KEY, NAME)                                                                  \
    ROW("cvt" KEY ".f32.f64", "wd", NAME), ROW("cvt.rz" KEY ".f32.f64", "wd", rz_##NAME),          \
        ROW("cvt.rm" KEY ".f32.f64", "wd", rm_##NAME),                                             \
        ROW("cvt.rp" KEY ".f32.f64", "wd", rp_##NAME)
#define DIRECTED_ROWS(KEY, TYPES, OPERANDS, NAME)                                                  \
    SLOW_ROW("cvt.rz" KEY TYPES, OPERANDS, rz_##NAME),                                             \
        SLOW_ROW("cvt.rm" KEY TYPES, OPERANDS, rm_##NAME),                                         \
        SLOW_ROW("cvt.rp" KEY TYPES, OPERANDS, rp_##NAME)
#define MODE_ROWS(KEY, TYPES, OPERANDS, NAME)                                                      \
    SLOW_ROW("cvt" KEY TYPES, OPERANDS, NAME), DIRECTED_ROWS(KEY, TYPES, OPERANDS, NAME)
#define KIND_ROWS(FTZ, TYPES, OPERANDS, NAME)                                                      \
    MODE_ROWS(FTZ ".sat", TYPES, OPERANDS, sat_##NAME),                                            \
        MODE_ROWS(FTZ ".relu", TYPES, OPERANDS, relu_##NAME),                                      \
        MODE_ROWS(FTZ ".satfinite", TYPES, OPERANDS, finite_##NAME),                               \
        MODE_ROWS(FTZ ".relu.satfinite", TYPES, OPERANDS, relu_finite_##NAME),                     \
        MODE_ROWS(FTZ ".satfinite.relu", TYPES, OPERANDS, relu_finite_##NAME)
#define INTEGER_ROWS(KEY, T, OPERANDS, NAME)                                                       \
    ROW("cvt.rni" KEY "." #T "." #T, OPERANDS, rni_##NAME),                                        \
        ROW("cvt.rzi" KEY "." #T "." #T, OPERANDS, rzi_##NAME),                                    \
        ROW("cvt.rmi" KEY "." #T "." #T, OPERANDS, rmi_##NAME),                                    \
        ROW("cvt.rpi" KEY "." #T "." #T, OPERANDS, rpi_##NAME)

static const struct lane_row ROWS[] = {
    WIDER_ROWS_32(f16, "wh"),
    ROW("cvt.f32.bf16", "wh", f32_bf16),
    WIDER_ROWS_32(f32, "ww"),
    WIDER_ROWS_64("", f16, f16, "dh"),
    WIDER_ROWS_64("", bf16, bf16, "dh"),
    WIDER_ROWS_64("", f32, f32, "dw"),
    WIDER_ROWS_64(".ftz", f32, ftz_f32, "dw"),
    NARROW_ROWS_32("", f32_f64),
    NARROW_ROWS_32(".ftz", ftz_f32_f64),
    NARROW_ROWS_32(".sat", sat_f32_f64),
    NARROW_ROWS_32(".ftz.sat", ftz_sat_f32_f64),
    ROW("cvt.f16.f32", "hw", f16_f32),
    ROW("cvt.bf16.f32", "hw", bf16_f32),
    DIRECTED_ROWS("", ".f16.f32", "hw", f16_f32),
    DIRECTED_ROWS("", ".bf16.f32", "hw", bf16_f32),
    ROW("cvt.ftz.f16.f32", "hw", f16_f32),
    DIRECTED_ROWS(".ftz", ".f16.f32", "hw", f16_f32),
    MODE_ROWS("", ".f16.f64", "hd", f16_f64),
    MODE_ROWS("", ".bf16.f64", "hd", bf16_f64),
    MODE_ROWS("", ".f16.bf16", "hh", f16_bf16),
    MODE_ROWS("", ".bf16.f16", "hh", bf16_f16),
    KIND_ROWS("", ".f16.f32", "hw", f16_f32),
    KIND_ROWS("", ".bf16.f32", "hw", bf16_f32),
    KIND_ROWS(".ftz", ".f16.f32", "hw", f16_f32),
    KIND_ROWS("", ".f16.f64", "hd", f16_f64),
    KIND_ROWS("", ".bf16.f64", "hd", bf16_f64),
    KIND_ROWS("", ".f16.bf16", "hh", f16_bf16),
    KIND_ROWS("", ".bf16.f16", "hh", bf16_f16),
    INTEGER_ROWS("", f16, "hh", f16),
    INTEGER_ROWS(".sat", f16, "hh", sat_f16),
    INTEGER_ROWS("", bf16, "hh", bf16),
    INTEGER_ROWS(".sat", bf16, "hh", sat_bf16),
    INTEGER_ROWS("", f32, "ww", f32),
    INTEGER_ROWS(".ftz", f32, "ww", ftz_f32),
    INTEGER_ROWS(".sat", f32, "ww", sat_f32),
    INTEGER_ROWS(".ftz.sat", f32, "ww", ftz_sat_f32),
    INTEGER_ROWS("", f64, "dd", f64),
    INTEGER_ROWS(".sat", f64, "dd", sat_f64),
    ROW("cvt.f16.f16", "hh", same_f16),
    ROW("cvt.sat.f16.f16", "hh", same_sat_f16),
    ROW("cvt.bf16.bf16", "hh", same_bf16),
    ROW("cvt.sat.bf16.bf16", "hh", same_sat_bf16),
    ROW("cvt.f64.f64", "dd", same_f64),
    ROW("cvt.sat.f64.f64", "dd", same_sat_f64),
};
LANE_FAMILY(lane_cvt_float_family, ROWS);
