/* test_lane_approx.c - the approximate instructions: special values as the PTX ISA's tables have
 * them, and otherwise within its error bounds of long double arithmetic. */
#include <math.h>
#include "lane_fixture.h"

#define INF  0x7f800000u
#define MINF 0xff800000u
#define NANV 0x7fffffffu
#define SUB  0x00000001u
#define MSUB 0x80000001u
#define ONE  0x3f800000u

static const struct {
    const char *words;
    uint64_t a, want;
} SPECIAL[] = {
    {"rcp.approx.f32", 0, INF},
    {"rcp.approx.f32", 0x80000000, MINF},
    {"rcp.approx.f32", INF, 0},
    {"rcp.approx.f32", MINF, 0x80000000},
    {"rcp.approx.f32", NANV, NANV},
    {"rcp.approx.ftz.f32", SUB, INF},
    {"rcp.approx.ftz.f32", MSUB, MINF},
    {"rcp.approx.f32", MSUB, MINF},
    {"sqrt.approx.f32", 0x80000000, 0x80000000},
    {"sqrt.approx.f32", 0xbf800000, NANV},
    {"sqrt.approx.f32", MINF, NANV},
    {"sqrt.approx.f32", INF, INF},
    {"sqrt.approx.ftz.f32", MSUB, 0x80000000},
    {"sqrt.approx.ftz.f32", SUB, 0},
    {"rsqrt.approx.f32", 0, INF},
    {"rsqrt.approx.f32", 0x80000000, MINF},
    {"rsqrt.approx.f32", INF, 0},
    {"rsqrt.approx.f32", 0xbf800000, NANV},
    {"rsqrt.approx.ftz.f32", SUB, INF},
    {"rsqrt.approx.ftz.f32", MSUB, MINF},
    {"sin.approx.f32", INF, NANV},
    {"sin.approx.f32", 0x80000000, 0x80000000},
    {"sin.approx.ftz.f32", MSUB, 0x80000000},
    {"cos.approx.f32", MINF, NANV},
    {"cos.approx.f32", 0, ONE},
    {"cos.approx.f32", SUB, ONE},
    {"lg2.approx.f32", 0, MINF},
    {"lg2.approx.f32", 0x80000000, MINF},
    {"lg2.approx.f32", INF, INF},
    {"lg2.approx.f32", 0xbf800000, NANV},
    {"lg2.approx.ftz.f32", SUB, MINF},
    {"lg2.approx.f32", SUB, 0xc3150000},
    {"lg2.approx.f32", ONE, 0},
    {"ex2.approx.f32", MINF, 0},
    {"ex2.approx.f32", INF, INF},
    {"ex2.approx.f32", 0x80000000, ONE},
    {"ex2.approx.f32", SUB, ONE},
    {"ex2.approx.ftz.f32", 0xc3000000, 0},
    {"ex2.approx.f32", 0xc3000000, 0x00200000},
    {"ex2.approx.f32", NANV, NANV},
    {"tanh.approx.f32", INF, ONE},
    {"tanh.approx.f32", MINF, 0xbf800000},
    {"tanh.approx.f32", 0x80000000, 0x80000000},
    {"tanh.approx.f32", NANV, NANV},
};

static void special_values_of_singles(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(SPECIAL); i++) {
        struct lane_op op = find_lane(SPECIAL[i].words, "ww");
        uint64_t got = one(&op, SPECIAL[i].a, 0, 0, 0);
        if (got != SPECIAL[i].want)
            fail_msg("%s of %llx is %llx, expected %llx", op.words,
                     (unsigned long long)SPECIAL[i].a, (unsigned long long)got,
                     (unsigned long long)SPECIAL[i].want);
    }
}

static void special_values_of_others(void **state)
{
    (void)state;
    static const struct {
        const char *words, *operands;
        uint64_t a, b, want;
    } CASES[] = {
        {"div.approx.f32", "www", ONE, 0x7e800001, 0},
        {"div.approx.f32", "www", 0xbf800000, 0x7f000000, 0x80000000},
        {"div.approx.f32", "www", INF, 0x7f000000, NANV},
        {"div.approx.f32", "www", ONE, 0, INF},
        {"div.approx.f32", "www", 0, 0, NANV},
        {"div.approx.f32", "www", NANV, 0x7f000000, NANV},
        {"div.full.f32", "www", 0x40c00000, 0x40000000, 0x40400000},
        {"div.full.ftz.f32", "www", SUB, ONE, 0},
        {"rcp.approx.ftz.f64", "dd", 0, 0, 0x7ff0000000000000},
        {"rcp.approx.ftz.f64", "dd", 0x8000000000000001, 0, 0xfff0000000000000},
        {"rcp.approx.ftz.f64", "dd", 0xfff0000000000000, 0, 0x8000000000000000},
        {"rcp.approx.ftz.f64", "dd", 0x3fe00000ffffffff, 0, 0x4000000000000000},
        {"rcp.approx.ftz.f64", "dd", 0x7fe0000000000000, 0, 0},
        {"rsqrt.approx.ftz.f64", "dd", 0x000fffffffffffff, 0, 0x7ff0000000000000},
        {"rsqrt.approx.ftz.f64", "dd", 0x8000000000000000, 0, 0xfff0000000000000},
        {"rsqrt.approx.ftz.f64", "dd", 0x4010000012345678, 0, 0x3fe0000000000000},
        {"rsqrt.approx.f64", "dd", 1, 0, 0x6180000000000000},
        {"rsqrt.approx.f64", "dd", 0xbff0000000000000, 0, 0xfff8000000000000},
        {"ex2.approx.f16", "hh", 0xfc00, 0, 0},
        {"ex2.approx.f16", "hh", 0xcc00, 0, 0x0100},
        {"ex2.approx.f16x2", "ww", 0x3c004000, 0, 0x40004400},
        {"ex2.approx.ftz.bf16", "hh", 0xc300, 0, 0},
        {"tanh.approx.bf16x2", "ww", 0x7f80ff80, 0, 0x3f80bf80},
        {"tanh.approx.f16", "hh", 0x7e01, 0, 0x7fff},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct lane_op op = find_lane(CASES[i].words, CASES[i].operands);
        uint64_t got = one(&op, CASES[i].a, CASES[i].b, 0, 0);
        if (got != CASES[i].want)
            fail_msg("%s of %llx is %llx, expected %llx", op.words, (unsigned long long)CASES[i].a,
                     (unsigned long long)got, (unsigned long long)CASES[i].want);
    }
}

static long double precise(const char *opcode, double x)
{
    if (strncmp(opcode, "rcp", 3) == 0)
        return 1 / (long double)x;
    if (strncmp(opcode, "sqrt", 4) == 0)
        return sqrtl(x);
    if (strncmp(opcode, "rsqrt", 5) == 0)
        return 1 / sqrtl(x);
    if (strncmp(opcode, "sin", 3) == 0)
        return sinl(x);
    if (strncmp(opcode, "cos", 3) == 0)
        return cosl(x);
    if (strncmp(opcode, "lg2", 3) == 0)
        return log2l(x);
    if (strncmp(opcode, "ex2", 3) == 0)
        return exp2l(x);
    return tanhl(x);
}

/* Half a unit and a little: better than any bound of the ISA. */
static void singles_are_nearly_correctly_rounded(void **state)
{
    (void)state;
    static const char *const OPS[] = {"rcp.approx.f32", "sqrt.approx.f32", "rsqrt.approx.f32",
                                      "sin.approx.f32", "cos.approx.f32",  "lg2.approx.f32",
                                      "ex2.approx.f32", "tanh.approx.f32"};
    uint64_t seed = 9;
    for (size_t i = 0; i < COUNT_OF(OPS); i++) {
        struct lane_op op = find_lane(OPS[i], "ww");
        for (unsigned round = 0; round < 400; round++) {
            struct lane_values values = {0};
            for (unsigned lane = 0; lane < LANES; lane++)
                values.in[0][lane] = round % 2 ? next_random(&seed) & 0xffffffff
                                               : (next_random(&seed) & 0x807fffff) |
                                                     (uint64_t)(115 + round % 18) << 23;
            run_fn(op.fn, op.operands, &values);
            for (unsigned lane = 0; lane < LANES; lane++) {
                float x = float_of_bits(values.in[0][lane]), got = float_of_bits(values.out[lane]);
                long double want = precise(OPS[i], x);
                if (isnan(want) ? isnan(got) : isinf((float)want) ? got == (float)want : false)
                    continue;
                long double ulp = fmaxl(fabsl(want) * 0x1p-23L, 0x1p-149L);
                if (!(fabsl(got - want) <= 0.501L * ulp))
                    fail_msg("%s of %a is %a, expected %La", op.words, (double)x, (double)got,
                             want);
            }
        }
    }
}

/* The upper half of the f64 is all that is read and written. */
static void doubles_have_20_bits(void **state)
{
    (void)state;
    uint64_t seed = 10;
    struct lane_op rcp = find_lane("rcp.approx.ftz.f64", "dd"),
                   rsqrt = find_lane("rsqrt.approx.ftz.f64", "dd");
    for (unsigned i = 0; i < 4000; i++) {
        uint64_t bits = (next_random(&seed) & 0x000fffffffffffff) | (uint64_t)(600 + i % 900) << 52;
        double x = double_of_bits(bits & 0xffffffff00000000);
        uint64_t got = one(&rcp, bits, 0, 0, 0);
        assert_int_equal(got & 0xffffffff, 0);
        assert_true(fabs(double_of_bits(got) * x - 1) < 0x1p-19);
        got = one(&rsqrt, bits, 0, 0, 0);
        assert_int_equal(got & 0xffffffff, 0);
        assert_true(fabs(double_of_bits(got) * sqrt(x) - 1) < 0x1p-19);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_values_of_singles),
        cmocka_unit_test(special_values_of_others),
        cmocka_unit_test(singles_are_nearly_correctly_rounded),
        cmocka_unit_test(doubles_have_20_bits),
    };
    return cmocka_run_group_tests_name("lane_approx", tests, NULL, NULL);
}
