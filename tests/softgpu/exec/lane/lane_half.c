/* lane_half.c - f16 and bf16, alone and in pairs: a pair in each of 32 lanes is 64 halves in a row.
 */
#include "exec/lane/lane_num.h"

/* Both for 32 halves and for 32 pairs. */
#define UNARY(NAME, LOAD, STORE, EXPR)                                                             \
    MAP1(NAME, 32, u16, u16, LOAD, STORE, EXPR)                                                    \
    MAP1(NAME##x2, 64, u16, u16, LOAD, STORE, EXPR)
#define BINARY(NAME, LOAD, STORE, EXPR)                                                            \
    MAP2(NAME, 32, u16, u16, LOAD, STORE, EXPR)                                                    \
    MAP2(NAME##x2, 64, u16, u16, LOAD, STORE, EXPR)
#define TERNARY(NAME, LOAD, STORE, EXPR)                                                           \
    MAP3(NAME, 32, u16, u16, LOAD, LOAD, STORE, EXPR)                                              \
    MAP3(NAME##x2, 64, u16, u16, LOAD, LOAD, STORE, EXPR)

/* ---- f16: an f32 holds its products, and its sums within half a unit ------------------------- */

#define STORE_SAT(v)     store_f16(clamp01(v))
#define STORE_FTZ_SAT(v) store_f16_ftz(clamp01(v))
#define F16_ARITHMETIC(OP, SHAPE, EXPR)                                                            \
    SHAPE(OP##_f16, load_f16, store_f16, EXPR)                                                     \
    SHAPE(OP##_ftz_f16, load_f16_ftz, store_f16_ftz, EXPR)                                         \
    SHAPE(OP##_sat_f16, load_f16, STORE_SAT, EXPR)                                                 \
    SHAPE(OP##_ftz_sat_f16, load_f16_ftz, STORE_FTZ_SAT, EXPR)
F16_ARITHMETIC(add, BINARY, x + y)
F16_ARITHMETIC(sub, BINARY, x - y)
F16_ARITHMETIC(mul, BINARY, x *y)
F16_ARITHMETIC(fma, TERNARY, odd_sum32(x *y, z))
TERNARY(fma_relu_f16, load_f16, store_f16, relu(odd_sum32(x *y, z)))
TERNARY(fma_ftz_relu_f16, load_f16_ftz, store_f16_ftz, relu(odd_sum32(x *y, z)))

/* ---- bf16: an f64 holds its products --------------------------------------------------------- */

BINARY(add_bf16, load_bf16, store_bf16, x + y)
BINARY(sub_bf16, load_bf16, store_bf16, x - y)
BINARY(mul_bf16, load_bf16_f64, store_bf16_f64, x *y)
TERNARY(fma_bf16, load_bf16_f64, store_bf16_f64, odd_sum64(x *y, z))
TERNARY(fma_relu_bf16, load_bf16_f64, store_bf16, relu(odd_f32_of_f64(odd_sum64(x *y, z))))

/* ---- no rounding ----------------------------------------------------------------------------- */

#define EXACT(OP, SHAPE, EXPR)                                                                     \
    SHAPE(OP##_f16, load_f16, store_f16, EXPR)                                                     \
    SHAPE(OP##_ftz_f16, load_f16_ftz, store_f16_ftz, EXPR)                                         \
    SHAPE(OP##_bf16, load_bf16, store_bf16, EXPR)
EXACT(min, BINARY, min_f32(x, y))
EXACT(max, BINARY, max_f32(x, y))
EXACT(min_nan, BINARY, min_nan_f32(x, y))
EXACT(max_nan, BINARY, max_nan_f32(x, y))
EXACT(min_xorsign, BINARY, xorsign(min_f32(abs_f32(x), abs_f32(y)), x, y))
EXACT(max_xorsign, BINARY, xorsign(max_f32(abs_f32(x), abs_f32(y)), x, y))
EXACT(min_nan_xorsign, BINARY, xorsign(min_nan_f32(abs_f32(x), abs_f32(y)), x, y))
EXACT(max_nan_xorsign, BINARY, xorsign(max_nan_f32(abs_f32(x), abs_f32(y)), x, y))
EXACT(abs, UNARY, abs_f32(x))
EXACT(neg, UNARY, -x)

/* ---- rows ------------------------------------------------------------------------------------ */

#define PAIR_ROWS(KEY, T, L, NAME)                                                                 \
    ROW(KEY "." #T, L("h"), NAME##_##T), ROW(KEY "." #T "x2", L("w"), NAME##_##T##x2)
#define ONE(L)   L L
#define TWO(L)   L L L
#define THREE(L) L L L L
#define ARITHMETIC_ROWS(OP, L)                                                                     \
    PAIR_ROWS(#OP, f16, L, OP), PAIR_ROWS(#OP ".ftz", f16, L, OP##_ftz),                           \
        PAIR_ROWS(#OP ".sat", f16, L, OP##_sat), PAIR_ROWS(#OP ".ftz.sat", f16, L, OP##_ftz_sat),  \
        PAIR_ROWS(#OP, bf16, L, OP)
#define EXACT_ROWS(KEY, REST, L, NAME)                                                             \
    PAIR_ROWS(KEY REST, f16, L, NAME), PAIR_ROWS(KEY ".ftz" REST, f16, L, NAME##_ftz),             \
        PAIR_ROWS(KEY REST, bf16, L, NAME)

static const struct lane_row ROWS[] = {
    ARITHMETIC_ROWS(add, TWO),
    ARITHMETIC_ROWS(sub, TWO),
    ARITHMETIC_ROWS(mul, TWO),
    ARITHMETIC_ROWS(fma, THREE),
    PAIR_ROWS("fma.relu", f16, THREE, fma_relu),
    PAIR_ROWS("fma.ftz.relu", f16, THREE, fma_ftz_relu),
    PAIR_ROWS("fma.relu", bf16, THREE, fma_relu),
    EXACT_ROWS("min", "", TWO, min),
    EXACT_ROWS("max", "", TWO, max),
    EXACT_ROWS("min", ".NaN", TWO, min_nan),
    EXACT_ROWS("max", ".NaN", TWO, max_nan),
    EXACT_ROWS("min", ".xorsign.abs", TWO, min_xorsign),
    EXACT_ROWS("max", ".xorsign.abs", TWO, max_xorsign),
    EXACT_ROWS("min", ".NaN.xorsign.abs", TWO, min_nan_xorsign),
    EXACT_ROWS("max", ".NaN.xorsign.abs", TWO, max_nan_xorsign),
    EXACT_ROWS("abs", "", ONE, abs),
    EXACT_ROWS("neg", "", ONE, neg),
};
LANE_FAMILY(lane_half_family, ROWS);
