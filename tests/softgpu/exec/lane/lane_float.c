/* lane_float.c - f32: add, sub, mul, fma, div, rcp, sqrt in each rounding; min, max, abs, neg,
 * testp. */
#include <fenv.h>
#include "exec/lane/lane_num.h"

/* ---- one rounding ---------------------------------------------------------------------------- */

/* The sources' LOAD and the result's STORE make the variants of one operation. */
#define MODES(OP, REST)                                                                            \
    LANE_ROUNDED(OP##_rz##REST, OP##REST, FE_TOWARDZERO)                                           \
    LANE_ROUNDED(OP##_rm##REST, OP##REST, FE_DOWNWARD)                                             \
    LANE_ROUNDED(OP##_rp##REST, OP##REST, FE_UPWARD)
#define UNARY(OP, REST, LOAD, STORE, EXPR)                                                         \
    MAP1(OP##REST, 32, u32, u32, LOAD, STORE, EXPR)                                                \
    MODES(OP, REST)
#define BINARY(OP, REST, COUNT, LOAD, STORE, EXPR)                                                 \
    MAP2(OP##REST, COUNT, u32, u32, LOAD, STORE, EXPR)                                             \
    MODES(OP, REST)
#define TERNARY(OP, REST, COUNT, LOAD, STORE, EXPR)                                                \
    MAP3(OP##REST, COUNT, u32, u32, LOAD, LOAD, STORE, EXPR)                                       \
    MODES(OP, REST)

/* TINY is the exact result, or near enough to decide whether .ftz flushes it; add and sub are exact
 * where that matters. */
#define UNARY_FTZ(OP, EXPR, TINY)                                                                  \
    UNARY(OP, _f32, from32, store32, EXPR)                                                         \
    UNARY(OP, _ftz_f32, from32_ftz, store32, settle32(EXPR, TINY))
#define BINARY_FTZ(OP, EXPR, TINY)                                                                 \
    BINARY(OP, _f32, 32, from32, store32, EXPR)                                                    \
    BINARY(OP, _ftz_f32, 32, from32_ftz, store32, settle32(EXPR, TINY))
#define BINARY_ALL(OP, EXPR, TINY)                                                                 \
    BINARY_FTZ(OP, EXPR, TINY)                                                                     \
    BINARY(OP, _sat_f32, 32, from32, store32_sat, EXPR)                                            \
    BINARY(OP, _ftz_sat_f32, 32, from32_ftz, store32_sat, settle32(EXPR, TINY))                    \
    BINARY(OP, _f32x2, 64, from32, store32, EXPR)                                                  \
    BINARY(OP, _ftz_f32x2, 64, from32_ftz, store32, settle32(EXPR, TINY))

BINARY_ALL(add, x + y, (f64)(x + y))
BINARY_ALL(sub, x - y, (f64)(x - y))
BINARY_ALL(mul, x *y, (f64)x *(f64)y)
BINARY_FTZ(div, x / y, (f64)x / (f64)y)
UNARY_FTZ(rcp, 1.0f / x, 1.0 / (f64)x)
UNARY_FTZ(sqrt, __builtin_sqrtf(x), (f64)__builtin_sqrtf(x))

#define FMA(x, y, z)     __builtin_fmaf(x, y, z)
#define FMA_FTZ(x, y, z) settle32(FMA(x, y, z), (f64)x *(f64)y + (f64)z)
TERNARY(fma, _f32, 32, from32, store32, FMA(x, y, z))
TERNARY(fma, _ftz_f32, 32, from32_ftz, store32, FMA_FTZ(x, y, z))
TERNARY(fma, _sat_f32, 32, from32, store32_sat, FMA(x, y, z))
TERNARY(fma, _ftz_sat_f32, 32, from32_ftz, store32_sat, FMA_FTZ(x, y, z))
TERNARY(fma, _f32x2, 64, from32, store32, FMA(x, y, z))
TERNARY(fma, _ftz_f32x2, 64, from32_ftz, store32, FMA_FTZ(x, y, z))

/* ---- no rounding ----------------------------------------------------------------------------- */

#define EXACT_BINARY(NAME, EXPR)                                                                   \
    MAP2(NAME##_f32, 32, u32, u32, from32, store32, EXPR)                                          \
    MAP2(NAME##_ftz_f32, 32, u32, u32, from32_ftz, store32, EXPR)
EXACT_BINARY(min, min_f32(x, y))
EXACT_BINARY(max, max_f32(x, y))
EXACT_BINARY(min_nan, min_nan_f32(x, y))
EXACT_BINARY(max_nan, max_nan_f32(x, y))
EXACT_BINARY(min_xorsign, xorsign(min_f32(abs_f32(x), abs_f32(y)), x, y))
EXACT_BINARY(max_xorsign, xorsign(max_f32(abs_f32(x), abs_f32(y)), x, y))
EXACT_BINARY(min_nan_xorsign, xorsign(min_nan_f32(abs_f32(x), abs_f32(y)), x, y))
EXACT_BINARY(max_nan_xorsign, xorsign(max_nan_f32(abs_f32(x), abs_f32(y)), x, y))

#define EXACT_TERNARY(NAME, EXPR)                                                                  \
    MAP3(NAME##_f32, 32, u32, u32, from32, from32, store32, EXPR)                                  \
    MAP3(NAME##_ftz_f32, 32, u32, u32, from32_ftz, from32_ftz, store32, EXPR)
#define OF_THREE(OP)      OP(OP(x, y), z)
#define OF_MAGNITUDES(OP) OP(OP(abs_f32(x), abs_f32(y)), abs_f32(z))
EXACT_TERNARY(min3, OF_THREE(min_f32))
EXACT_TERNARY(max3, OF_THREE(max_f32))
EXACT_TERNARY(min3_nan, OF_THREE(min_nan_f32))
EXACT_TERNARY(max3_nan, OF_THREE(max_nan_f32))
EXACT_TERNARY(min3_abs, OF_MAGNITUDES(min_f32))
EXACT_TERNARY(max3_abs, OF_MAGNITUDES(max_f32))
EXACT_TERNARY(min3_nan_abs, OF_MAGNITUDES(min_nan_f32))
EXACT_TERNARY(max3_nan_abs, OF_MAGNITUDES(max_nan_f32))

MAP1(abs_f32, 32, u32, u32, from32, store32, abs_f32(x))
MAP1(abs_ftz_f32, 32, u32, u32, from32_ftz, store32, abs_f32(x))
MAP1(neg_f32, 32, u32, u32, from32, store32, -x)
MAP1(neg_ftz_f32, 32, u32, u32, from32_ftz, store32, -x)
/* The sign of the first upon the second. */
MAP2(copysign_f32, 32, u32, u32, SAME, SAME, (x & 0x80000000) | (y & 0x7fffffff))

#define MAGNITUDE(v) ((v)&0x7fffffff)
#define TEST(NAME, EXPR)                                                                           \
    LANE_FN(                                                                                       \
        testp_##NAME##_f32, const u32 *s0 = args->s[0]; u32 p = 0; EACH(LANES) {                   \
            u32 x = MAGNITUDE(s0[i]);                                                              \
            p |= (EXPR) ? 1u << i : 0;                                                             \
        } * (u32 *)args->d = p;)
TEST(finite, x < 0x7f800000)
TEST(infinite, x == 0x7f800000)
TEST(number, x <= 0x7f800000)
TEST(notanumber, x > 0x7f800000)
/* Zeros count as normal. */
TEST(normal, x == 0 || (x >= 0x00800000 && x < 0x7f800000))
TEST(subnormal, x > 0 && x < 0x00800000)

/* ---- rows ------------------------------------------------------------------------------------ */

#define MODE_ROWS(KEY, REST, OPERANDS, OP, NAME)                                                   \
    ROW(KEY REST, OPERANDS, OP##NAME), ROW(KEY ".rz" REST, OPERANDS, OP##_rz##NAME),               \
        ROW(KEY ".rm" REST, OPERANDS, OP##_rm##NAME), ROW(KEY ".rp" REST, OPERANDS, OP##_rp##NAME)
#define FTZ_ROWS(KEY, OPERANDS, OP)                                                                \
    MODE_ROWS(KEY, ".f32", OPERANDS, OP, _f32), MODE_ROWS(KEY, ".ftz.f32", OPERANDS, OP, _ftz_f32)
#define SAT_ROWS(KEY, OPERANDS, OP)                                                                \
    FTZ_ROWS(KEY, OPERANDS, OP), MODE_ROWS(KEY, ".sat.f32", OPERANDS, OP, _sat_f32),               \
        MODE_ROWS(KEY, ".ftz.sat.f32", OPERANDS, OP, _ftz_sat_f32)
#define X2_ROWS(KEY, OPERANDS, OP)                                                                 \
    MODE_ROWS(KEY, ".f32x2", OPERANDS, OP, _f32x2),                                                \
        MODE_ROWS(KEY, ".ftz.f32x2", OPERANDS, OP, _ftz_f32x2)
#define EXACT_ROWS(KEY, REST, OPERANDS, NAME)                                                      \
    ROW(KEY REST ".f32", OPERANDS, NAME##_f32),                                                    \
        ROW(KEY ".ftz" REST ".f32", OPERANDS, NAME##_ftz_f32)
#define TEST_ROW(NAME) ROW("testp." #NAME ".f32", "pw", testp_##NAME##_f32)

static const struct lane_row ROWS[] = {
    SAT_ROWS("add", "www", add),
    SAT_ROWS("sub", "www", sub),
    SAT_ROWS("mul", "www", mul),
    SAT_ROWS("fma", "wwww", fma),
    SAT_ROWS("mad", "wwww", fma),
    X2_ROWS("add", "ddd", add),
    X2_ROWS("sub", "ddd", sub),
    X2_ROWS("mul", "ddd", mul),
    X2_ROWS("fma", "dddd", fma),
    FTZ_ROWS("div", "www", div),
    FTZ_ROWS("rcp", "ww", rcp),
    FTZ_ROWS("sqrt", "ww", sqrt),
    EXACT_ROWS("min", "", "www", min),
    EXACT_ROWS("max", "", "www", max),
    EXACT_ROWS("min", ".NaN", "www", min_nan),
    EXACT_ROWS("max", ".NaN", "www", max_nan),
    EXACT_ROWS("min", ".xorsign.abs", "www", min_xorsign),
    EXACT_ROWS("max", ".xorsign.abs", "www", max_xorsign),
    EXACT_ROWS("min", ".NaN.xorsign.abs", "www", min_nan_xorsign),
    EXACT_ROWS("max", ".NaN.xorsign.abs", "www", max_nan_xorsign),
    EXACT_ROWS("min", "", "wwww", min3),
    EXACT_ROWS("max", "", "wwww", max3),
    EXACT_ROWS("min", ".NaN", "wwww", min3_nan),
    EXACT_ROWS("max", ".NaN", "wwww", max3_nan),
    EXACT_ROWS("min", ".abs", "wwww", min3_abs),
    EXACT_ROWS("max", ".abs", "wwww", max3_abs),
    EXACT_ROWS("min", ".NaN.abs", "wwww", min3_nan_abs),
    EXACT_ROWS("max", ".NaN.abs", "wwww", max3_nan_abs),
    EXACT_ROWS("abs", "", "ww", abs),
    EXACT_ROWS("neg", "", "ww", neg),
    ROW("copysign.f32", "www", copysign_f32),
    TEST_ROW(finite),
    TEST_ROW(infinite),
    TEST_ROW(number),
    TEST_ROW(notanumber),
    TEST_ROW(normal),
    TEST_ROW(subnormal),
};
LANE_FAMILY(lane_float_family, ROWS);
