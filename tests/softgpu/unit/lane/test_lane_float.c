/* test_lane_float.c - f32 and f64 against the CPU one number at a time, in each rounding mode, and
 * comparisons against their definition. */
#include <fenv.h>
#include <math.h>
#include "lane_fixture.h"

static const uint64_t EDGES[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x00000001, 0x80000001, 0x007fffff,
    0x807fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
    0x7fc00000, 0xffc12345, 0x7f800001, 0x3f800001, 0x3f7fffff, 0x3f000000, 0x40400000,
    0x4b800000, 0x33800000, 0x1fffffff, 0x20000000, 0x5f000000, 0x0d800000,
};
static const uint64_t EDGES_64[] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x0000000000000001, 0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000,
    0x8010000000000000, 0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000,
    0xfff0000000000000, 0x7ff8000000000000, 0xfff8000123456789, 0x7ff0000000000001,
    0x3ff0000000000001, 0x3fefffffffffffff, 0x3fe0000000000000, 0x4340000000000000,
    0x3ca0000000000000, 0x5fe0000000000000, 0x2000000000000000,
};

/* Which operation, how it rounds and what it does besides. */
struct how {
    const char *name;
    int mode;
    bool ftz, sat;
};
#define IS(word) (strcmp(how->name, word) == 0)

/* Not folded and not moved out of the mode. */
static float compute(const struct how *how, float a, float b, float c)
{
    volatile float x = a, y = b, z = c, result = 0;
    fesetround(how->mode);
    if (IS("add"))
        result = x + y;
    else if (IS("sub"))
        result = x - y;
    else if (IS("mul"))
        result = x * y;
    else if (IS("fma"))
        result = fmaf(x, y, z);
    else if (IS("div"))
        result = x / y;
    else if (IS("rcp"))
        result = 1 / x;
    else if (IS("sqrt"))
        result = sqrtf(x);
    fesetround(FE_TONEAREST);
    return result;
}

static float flushed(const struct how *how, float value)
{
    return how->ftz && fpclassify(value) == FP_SUBNORMAL ? copysignf(0, value) : value;
}

/* Whether the result is tiny: with exponents without end and 24 bits of precision, below 2^-126.
 * The CPU decides, with the sources made greater where that does not overflow. */
static bool is_tiny(const struct how *how, float a, float b, float c)
{
    volatile double x = a, y = b, z = c, exact;
    volatile float scaled;
    fesetround(how->mode);
    exact = IS("add")   ? x + y
            : IS("sub") ? x - y
            : IS("mul") ? x * y
            : IS("fma") ? fma(x, y, z)
            : IS("div") ? x / y
            : IS("rcp") ? 1 / x
                        : sqrt(x);
    exact = exact * 0x1p100;
    scaled = (float)exact;
    fesetround(FE_TONEAREST);
    return fabsf(scaled) < 0x1p-26f;
}

static uint64_t want_float(const void *data, const uint64_t in[LANE_SOURCES])
{
    const struct how *how = data;
    float result = compute(how, flushed(how, float_of_bits(in[0])),
                           flushed(how, float_of_bits(in[1])), flushed(how, float_of_bits(in[2])));
    if (how->ftz && is_tiny(how, flushed(how, float_of_bits(in[0])),
                            flushed(how, float_of_bits(in[1])), flushed(how, float_of_bits(in[2]))))
        result = copysignf(0, result);
    if (how->sat)
        result = isnan(result) || result <= 0 ? 0 : fminf(result, 1);
    return isnan(result) ? 0x7fffffff : bits_of_float(result);
}

static const int MODES[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
static const char *const MODE_NAMES[] = {".rn", ".rz", ".rm", ".rp"};
static const struct {
    const char *name, *operands;
    bool sat;
} OPS[] = {{"add", "www", true},  {"sub", "www", true}, {"mul", "www", true}, {"fma", "wwww", true},
           {"div", "www", false}, {"rcp", "ww", false}, {"sqrt", "ww", false}};

static void singles_in_each_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(OPS); i++)
        for (unsigned kind = 0; kind < 16; kind++) {
            struct how how = {OPS[i].name, MODES[kind & 3], kind >> 2 & 1, kind >> 3};
            if (how.sat && !OPS[i].sat)
                continue;
            char words[64];
            snprintf(words, sizeof words, "%s%s%s%s.f32", how.name, MODE_NAMES[kind & 3],
                     how.ftz ? ".ftz" : "", how.sat ? ".sat" : "");
            struct lane_check check = {
                .op = find_lane(words, OPS[i].operands), .want = want_float, .how = &how};
            check_edges(&check, EDGES, COUNT_OF(EDGES), 3000);
            assert_int_equal(fegetround(), FE_TONEAREST);
        }
}

static void pairs_of_singles(void **state)
{
    (void)state;
    struct lane_op pair = find_lane("fma.rz.ftz.f32x2", "dddd"),
                   lone = find_lane("fma.rz.ftz.f32", "wwww");
    uint64_t seed = 4;
    for (unsigned i = 0; i < 300; i++) {
        uint64_t a = next_random(&seed), b = next_random(&seed), c = next_random(&seed);
        uint64_t low = one(&lone, a & 0xffffffff, b & 0xffffffff, c & 0xffffffff, 0);
        assert_true(one(&pair, a, b, c, 0) ==
                    (low | one(&lone, a >> 32, b >> 32, c >> 32, 0) << 32));
    }
}

static double compute_64(const struct how *how, double a, double b, double c)
{
    volatile double x = a, y = b, z = c, result = 0;
    fesetround(how->mode);
    if (IS("add"))
        result = x + y;
    else if (IS("sub"))
        result = x - y;
    else if (IS("mul"))
        result = x * y;
    else if (IS("fma"))
        result = fma(x, y, z);
    else if (IS("div"))
        result = x / y;
    else if (IS("rcp"))
        result = 1 / x;
    else if (IS("sqrt"))
        result = sqrt(x);
    fesetround(FE_TONEAREST);
    return result;
}

/* NaN is checked by itself. */
static uint64_t want_double(const void *data, const uint64_t in[LANE_SOURCES])
{
    const struct how *how = data;
    unsigned sources = IS("fma") ? 3 : IS("rcp") || IS("sqrt") ? 1 : 2;
    double result =
        compute_64(how, double_of_bits(in[0]), double_of_bits(in[1]), double_of_bits(in[2]));
    static const unsigned ORDER[] = {1, 2, 0, 1};
    for (unsigned i = 0; i < 4 && isnan(result); i++) {
        unsigned s = IS("div") ? i : ORDER[i];
        if (s < sources && isnan(double_of_bits(in[s])))
            return in[s] | 0x0008000000000000;
    }
    return isnan(result) ? 0xfff8000000000000 : bits_of_double(result);
}

static void doubles_in_each_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(OPS); i++)
        for (unsigned kind = 0; kind < 4; kind++) {
            struct how how = {OPS[i].name, MODES[kind], false, false};
            char words[64], operands[8] = "";
            snprintf(words, sizeof words, "%s%s.f64", how.name, MODE_NAMES[kind]);
            memset(operands, 'd', strlen(OPS[i].operands));
            struct lane_check check = {
                .op = find_lane(words, operands), .want = want_double, .how = &how};
            check_edges(&check, EDGES_64, COUNT_OF(EDGES_64), 3000);
        }
}

/* ---- no rounding ----------------------------------------------------------------------------- */

/* min and max by IEEE 754's words: -0 < +0, NaN is missing data. */
struct choice {
    bool max, ftz, nan_wins, xorsign;
    bool three, abs; /* three sources; of their magnitudes */
};

static float choose(const struct choice *how, float x, float y)
{
    if ((isnan(x) && isnan(y)) || (how->nan_wins && (isnan(x) || isnan(y))))
        return NAN;
    bool x_less = x < y || (x == y && signbit(x));
    return isnan(x) ? y : isnan(y) ? x : x_less != how->max ? x : y;
}

static uint64_t want_choice(const void *data, const uint64_t in[LANE_SOURCES])
{
    const struct choice *how = data;
    struct how flush = {"", 0, how->ftz, false};
    float x = flushed(&flush, float_of_bits(in[0])), y = flushed(&flush, float_of_bits(in[1]));
    uint32_t sign = how->xorsign ? (bits_of_float(x) ^ bits_of_float(y)) & 0x80000000 : 0;
    float z = flushed(&flush, float_of_bits(in[2]));
    if (how->xorsign || how->abs) {
        x = fabsf(x);
        y = fabsf(y);
        z = fabsf(z);
    }
    float result = choose(how, x, y);
    if (how->three)
        result = choose(how, result, z);
    return isnan(result) ? 0x7fffffff : bits_of_float(result) ^ sign;
}

static void minima_and_maxima(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 16; kind++) {
        struct choice how = {kind & 1, kind >> 1 & 1, kind >> 2 & 1, kind >> 3, false, false};
        char words[64];
        snprintf(words, sizeof words, "%s%s%s%s.f32", how.max ? "max" : "min",
                 how.ftz ? ".ftz" : "", how.nan_wins ? ".NaN" : "",
                 how.xorsign ? ".xorsign.abs" : "");
        struct lane_check check = {.op = find_lane(words, "www"), .want = want_choice, .how = &how};
        check_edges(&check, EDGES, COUNT_OF(EDGES), 500);
    }
    struct lane_op op = find_lane("min.f64", "ddd");
    assert_true(one(&op, 0, 1ull << 63, 0, 0) == 1ull << 63);
    assert_true(one(&op, 0x7ff8000000000000, 5, 0, 0) == 5);
}

static void minima_and_maxima_of_three(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 16; kind++) {
        struct choice how = {kind & 1, kind >> 1 & 1, kind >> 2 & 1, false, true, kind >> 3};
        char words[64];
        snprintf(words, sizeof words, "%s%s%s%s.f32", how.max ? "max" : "min",
                 how.ftz ? ".ftz" : "", how.nan_wins ? ".NaN" : "", how.abs ? ".abs" : "");
        struct lane_check check = {
            .op = find_lane(words, "wwww"), .want = want_choice, .how = &how};
        check_edges(&check, EDGES, COUNT_OF(EDGES), 500);
    }
}

static void signs_and_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *words, *operands;
        uint64_t a, want;
    } CASES[] = {
        {"abs.f32", "ww", 0xbf800000, 0x3f800000},
        {"neg.f32", "ww", 0x00000001, 0x80000001},
        {"abs.ftz.f32", "ww", 0x80000001, 0},
        {"neg.ftz.f32", "ww", 0x00000001, 0x80000000},
        {"neg.f64", "dd", 0, 1ull << 63},
        {"abs.f64", "dd", 1ull << 63, 0},
        {"testp.finite.f32", "pw", 0x7f7fffff, 1},
        {"testp.finite.f32", "pw", 0x7f800000, 0},
        {"testp.infinite.f64", "pd", 0xfff0000000000000, 1},
        {"testp.number.f32", "pw", 0x7f800000, 1},
        {"testp.notanumber.f64", "pd", 0x7ff0000000000001, 1},
        {"testp.number.f32", "pw", 0x7f800001, 0},
        {"testp.normal.f32", "pw", 0x00800000, 1},
        {"testp.normal.f32", "pw", 0x80000000, 1},
        {"testp.subnormal.f64", "pd", 1, 1},
        {"testp.subnormal.f64", "pd", 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct lane_op op = find_lane(CASES[i].words, CASES[i].operands);
        if ((one(&op, CASES[i].a, 0, 0, 0) & (CASES[i].operands[0] == 'p' ? 1 : ~0ull)) !=
            CASES[i].want)
            fail_msg("%s of %llx", CASES[i].words, (unsigned long long)CASES[i].a);
    }
}

/* ---- comparisons: by whether x is less, equal, greater or unordered -------------------------- */

enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };
static const struct comparison {
    const char *name;
    unsigned holds;
} COMPARISONS[] = {
    {"eq", EQUAL},
    {"ne", LESS | GREATER},
    {"lt", LESS},
    {"le", LESS | EQUAL},
    {"gt", GREATER},
    {"ge", GREATER | EQUAL},
    {"equ", EQUAL | UNORDERED},
    {"neu", LESS | GREATER | UNORDERED},
    {"ltu", LESS | UNORDERED},
    {"leu", LESS | EQUAL | UNORDERED},
    {"gtu", GREATER | UNORDERED},
    {"geu", GREATER | EQUAL | UNORDERED},
    {"num", LESS | EQUAL | GREATER},
    {"nan", UNORDERED},
};

struct test {
    unsigned holds;
    const char *type;
    char combine; /* 'n', 'a', 'o', 'x' */
    bool ftz;
};

static double source_value(const struct test *test, uint64_t bits)
{
    struct how how = {"", 0, test->ftz, false};
    if (strcmp(test->type, "f64") == 0)
        return double_of_bits(bits);
    if (strcmp(test->type, "bf16") == 0)
        return float_of_bits((bits & 0xffff) << 16);
    if (strcmp(test->type, "f32") == 0)
        return flushed(&how, float_of_bits(bits));
    unsigned width = (unsigned)atoi(test->type + 1);
    return test->type[0] == 's' ? (double)((int64_t)(bits << (64 - width)) >> (64 - width))
                                : (double)(bits << (64 - width) >> (64 - width));
}

static uint64_t want_test(const void *data, const uint64_t in[LANE_SOURCES])
{
    const struct test *test = data;
    double x = source_value(test, in[0]), y = source_value(test, in[1]);
    unsigned outcome = x < y ? LESS : x > y ? GREATER : x == y ? EQUAL : UNORDERED;
    bool p = test->holds & outcome, q = !p, c = in[2] & 1;
    if (test->combine != 'n') {
        p = test->combine == 'a' ? p && c : test->combine == 'o' ? p || c : p != c;
        q = test->combine == 'a' ? q && c : test->combine == 'o' ? q || c : q != c;
    }
    return (p ? 1u : 0u) + (q ? 2u : 0u);
}

static void check_test(const char *name, struct test test, const uint64_t *edges, unsigned count)
{
    static const char *const COMBINES[] = {"", ".and", ".or", ".xor"};
    char letter = strstr(test.type, "16") ? 'h' : strstr(test.type, "32") ? 'w' : 'd';
    for (unsigned c = 0; c < 4; c++) {
        char words[64], operands[8] = {'p', letter, letter, c ? 'p' : '\0', '\0'};
        test.combine = "naox"[c];
        snprintf(words, sizeof words, "setp.%s%s%s.%s", name, COMBINES[c], test.ftz ? ".ftz" : "",
                 test.type);
        struct lane_check check = {
            .op = find_lane(words, operands), .want = want_test, .how = &test};
        check_edges(&check, edges, count, 300);
    }
}

static void comparisons_of_all_types(void **state)
{
    (void)state;
    /* Exact as doubles. */
    static const uint64_t INTEGERS[] = {0, 1, 2, 0xffff, 0x8000, 0x7fff, 0xffffffff, 0x80000000};
    for (size_t i = 0; i < COUNT_OF(COMPARISONS); i++) {
        const struct comparison *c = &COMPARISONS[i];
        check_test(c->name, (struct test){c->holds, "f32", 0, false}, EDGES, COUNT_OF(EDGES));
        check_test(c->name, (struct test){c->holds, "f32", 0, true}, EDGES, COUNT_OF(EDGES));
        check_test(c->name, (struct test){c->holds, "f64", 0, false}, EDGES_64, COUNT_OF(EDGES_64));
        check_test(c->name, (struct test){c->holds, "bf16", 0, false}, INTEGERS,
                   COUNT_OF(INTEGERS));
        if (i < 6)
            for (unsigned width = 16; width <= 32; width *= 2) {
                check_test(c->name, (struct test){c->holds, width == 16 ? "u16" : "u32", 0, false},
                           INTEGERS, COUNT_OF(INTEGERS));
                check_test(c->name, (struct test){c->holds, width == 16 ? "s16" : "s32", 0, false},
                           INTEGERS, COUNT_OF(INTEGERS));
            }
    }
    static const struct comparison UNSIGNED[] = {
        {"lo", LESS}, {"ls", LESS | EQUAL}, {"hi", GREATER}, {"hs", GREATER | EQUAL}};
    for (unsigned i = 0; i < 4; i++)
        check_test(UNSIGNED[i].name, (struct test){UNSIGNED[i].holds, "u32", 0, false}, INTEGERS,
                   COUNT_OF(INTEGERS));
}

static void comparisons_that_give_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *words, *operands;
        uint64_t a, b, c, want;
    } CASES[] = {
        {"set.lt.u32.s64", "wdd", ~0ull, 0, 0, 0xffffffff},
        {"set.lt.u32.u64", "wdd", ~0ull, 0, 0, 0},
        {"set.gtu.f32.f32", "www", 0x7fc00000, 0, 0, 0x3f800000},
        {"set.eq.ftz.f32.f32", "www", 1, 0, 0, 0x3f800000},
        {"set.eq.and.f32.f32", "wwwp", 0, 0, 0, 0},
        {"set.eq.xor.s32.f64", "wddp", 0, 0, 0, 0xffffffff},
        {"set.lt.f16x2.f16x2", "www", 0x3c000001, 0x3c000002, 0, 0x00003c00},
        {"set.lt.ftz.f16x2.f16x2", "www", 0xbc000001, 0x3c000002, 0, 0x3c000000},
        {"set.ge.u32.bf16x2", "www", 0x3f80bf80, 0x3f800000, 0, 0xffff0000},
        {"set.ne.f16.u16", "hhh", 1, 2, 0, 0x3c00},
        {"set.ne.bf16.bf16", "hhh", 1, 2, 0, 0x3f80},
        {"setp.lt.f16x2", "pww", 0x3c00bc00, 0x3c000000, 0, 1},
        {"setp.geu.or.bf16x2", "pwwp", 0x7fc0bf80, 0, 0, 2},
        {"setp.lt.and.ftz.f16x2", "pwwp", 0x80018001, 0, 1, 0},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct lane_op op = find_lane(CASES[i].words, CASES[i].operands);
        uint64_t got = one(&op, CASES[i].a, CASES[i].b, CASES[i].c, 0);
        if (got != CASES[i].want)
            fail_msg("%s: %llx, expected %llx", CASES[i].words, (unsigned long long)got,
                     (unsigned long long)CASES[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(singles_in_each_mode),
        cmocka_unit_test(pairs_of_singles),
        cmocka_unit_test(doubles_in_each_mode),
        cmocka_unit_test(minima_and_maxima),
        cmocka_unit_test(minima_and_maxima_of_three),
        cmocka_unit_test(signs_and_kinds),
        cmocka_unit_test(comparisons_of_all_types),
        cmocka_unit_test(comparisons_that_give_numbers),
    };
    return cmocka_run_group_tests_name("lane_float", tests, NULL, NULL);
}
