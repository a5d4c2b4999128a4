/* lane_double.c - f64: add, sub, mul, fma, div, rcp, sqrt in each rounding; min, max, abs, neg,
 * testp. */
#include <fenv.h>
#include "exec/lane/lane_num.h"

#define MODES(OP)                                                                                  \
    LANE_ROUNDED(OP##_rz_f64, OP##_f64, FE_TOWARDZERO)                                             \
    LANE_ROUNDED(OP##_rm_f64, OP##_f64, FE_DOWNWARD)                                               \
    LANE_ROUNDED(OP##_rp_f64, OP##_f64, FE_UPWARD)
#define UNARY(OP, EXPR)                                                                            \
    MAP1(OP##_f64, 32, u64, u64, from64, SAME, store64_1(EXPR, x))                                 \
    MODES(OP)
#define BINARY(OP, EXPR)                                                                           \
    MAP2(OP##_f64, 32, u64, u64, from64, SAME, store64_2(EXPR, x, y))                              \
    MODES(OP)
BINARY(add, x + y)
BINARY(sub, x - y)
BINARY(mul, x *y)
/* Division is made of several instructions, and goes by the first NaN. */
MAP2(div_f64, 32, u64, u64, from64, SAME, store64_2(x / y, y, x))
MODES(div)
UNARY(rcp, 1.0 / x)
UNARY(sqrt, __builtin_sqrt(x))
MAP3(fma_f64, 32, u64, u64, from64, from64, SAME, store64_3(__builtin_fma(x, y, z), x, y, z))
MODES(fma)

/* -0 is less than +0; a NaN loses against a number. */
LANE_INLINE f64 min_f64(f64 x, f64 y)
{
    f64 equal = from64(bits64(x) | bits64(y));
    f64 less = x < y ? x : y < x ? y : equal;
    return x != x ? y : y != y ? x : less;
}
LANE_INLINE f64 max_f64(f64 x, f64 y)
{
    f64 equal = from64(bits64(x) & bits64(y));
    f64 more = x > y ? x : y > x ? y : equal;
    return x != x ? y : y != y ? x : more;
}
MAP2(min_f64, 32, u64, u64, from64, SAME, store64_2(min_f64(x, y), x, y))
MAP2(max_f64, 32, u64, u64, from64, SAME, store64_2(max_f64(x, y), x, y))

#define SIGN 0x8000000000000000ull
/* A NaN keeps its sign. */
MAP1(abs_f64, 32, u64, u64, from64, SAME, store64_1(fabs(x), x))
MAP1(neg_f64, 32, u64, u64, from64, SAME, store64_1(-x, x))
/* The sign of the first upon the second. */
MAP2(copysign_f64, 32, u64, u64, SAME, SAME, (x & SIGN) | (y & ~SIGN))

#define INFINITY_64 0x7ff0000000000000ull
#define LEAST_64    0x0010000000000000ull
#define TEST(NAME, EXPR)                                                                           \
    LANE_FN(                                                                                       \
        testp_##NAME##_f64, const u64 *s0 = args->s[0]; u32 p = 0; EACH(LANES) {                   \
            u64 x = s0[i] & ~SIGN;                                                                 \
            p |= (EXPR) ? 1u << i : 0;                                                             \
        } * (u32 *)args->d = p;)
TEST(finite, x < INFINITY_64)
TEST(infinite, x == INFINITY_64)
TEST(number, x <= INFINITY_64)
TEST(notanumber, x > INFINITY_64)
/* Zeros count as normal. */
TEST(normal, x == 0 || (x >= LEAST_64 && x < INFINITY_64))
TEST(subnormal, x > 0 && x < LEAST_64)

#define MODE_ROWS(KEY, OPERANDS, OP)                                                               \
    ROW(KEY ".f64", OPERANDS, OP##_f64), ROW(KEY ".rz.f64", OPERANDS, OP##_rz_f64),                \
        ROW(KEY ".rm.f64", OPERANDS, OP##_rm_f64), ROW(KEY ".rp.f64", OPERANDS, OP##_rp_f64)
#define TEST_ROW(NAME) ROW("testp." #NAME ".f64", "pd", testp_##NAME##_f64)

static const struct lane_row ROWS[] = {
    MODE_ROWS("add", "ddd", add),
    MODE_ROWS("sub", "ddd", sub),
    MODE_ROWS("mul", "ddd", mul),
    MODE_ROWS("div", "ddd", div),
    MODE_ROWS("rcp", "dd", rcp),
    MODE_ROWS("sqrt", "dd", sqrt),
    MODE_ROWS("fma", "dddd", fma),
    MODE_ROWS("mad", "dddd", fma),
    ROW("min.f64", "ddd", min_f64),
    ROW("max.f64", "ddd", max_f64),
    ROW("abs.f64", "dd", abs_f64),
    ROW("neg.f64", "dd", neg_f64),
    ROW("copysign.f64", "ddd", copysign_f64),
    TEST_ROW(finite),
    TEST_ROW(infinite),
    TEST_ROW(number),
    TEST_ROW(notanumber),
    TEST_ROW(normal),
    TEST_ROW(subnormal),
};
LANE_FAMILY(lane_double_family, ROWS);
