/* test_lane_half.c - f16, bf16 and the smaller formats: arithmetic against exact integers, all
 * 65536 codes, and rounding by looking the neighbours up. */
#include <fenv.h>
#include <math.h>
#include "lane_fixture.h"

/* ---- a format as the list of its numbers ----------------------------------------------------- */

/* What a code means, by the definition of the formats. */
static double decode(unsigned exponent_bits, unsigned mantissa_bits, unsigned code)
{
    unsigned mantissa = code & ((1u << mantissa_bits) - 1), exponent = code >> mantissa_bits;
    int bias = (1 << (exponent_bits - 1)) - 1, scale = -bias - (int)mantissa_bits;
    return exponent ? ldexp(mantissa + (1u << mantissa_bits), (int)exponent + scale)
                    : ldexp(mantissa, 1 + scale);
}

struct small_format {
    const char *name;
    unsigned exponent_bits, mantissa_bits;
    unsigned most; /* the greatest finite code; the next one stands for infinity */
    unsigned nan;
};
static const struct small_format F16_FORMAT = {"f16", 5, 10, 0x7bff, 0x7fff},
                                 BF16_FORMAT = {"bf16", 8, 7, 0x7f7f, 0x7fff},
                                 E4M3_FORMAT = {"e4m3x2", 4, 3, 0x7e, 0x7f},
                                 E5M2_FORMAT = {"e5m2x2", 5, 2, 0x7b, 0x7f},
                                 TF32_FORMAT = {"tf32", 8, 10, 0x3fbff, 0x3ffff};

static double number_of(const struct small_format *format, unsigned code)
{
    unsigned sign_bit = format->exponent_bits + format->mantissa_bits;
    double value =
        decode(format->exponent_bits, format->mantissa_bits, code & ((1u << sign_bit) - 1));
    if ((code & ((1u << sign_bit) - 1)) > format->most + 1)
        return NAN;
    if ((code & ((1u << sign_bit) - 1)) == format->most + 1)
        value = format->nan == format->most + 1 ? NAN : INFINITY;
    return code >> sign_bit & 1 ? -value : value;
}

enum { EVEN, ZERO, DOWN, UP, AWAY };

/* The code for `value`: the neighbours by halving the list, then the choice. `lost` is the sign of
 * what is missing from value: value + lost * epsilon is the number meant. */
static unsigned encode(const struct small_format *format, double value, int lost, int mode,
                       bool finite)
{
    unsigned sign_bit = format->exponent_bits + format->mantissa_bits;
    unsigned sign = (signbit(value) ? 1u : 0u) << sign_bit, low = 0, high = format->most + 1;
    double magnitude = fabs(value),
           beyond = decode(format->exponent_bits, format->mantissa_bits, high);
    int more = signbit(value) ? -lost : lost;
    bool inwards = mode == ZERO || (mode == DOWN && !sign) || (mode == UP && sign);
    bool outwards = (mode == DOWN && sign) || (mode == UP && !sign);
    if (isnan(value))
        return format->nan;
    if (isinf(value))
        return sign | (finite ? format->most : format->most + 1);
    if (magnitude >= beyond)
        return sign | (finite || inwards ? format->most : format->most + 1);
    if (magnitude == 0 && lost)
        more = 1;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        double at = decode(format->exponent_bits, format->mantissa_bits, middle);
        bool up = magnitude > at || (magnitude == at && more >= 0);
        *(up ? &low : &high) = middle;
    }
    double below = magnitude - decode(format->exponent_bits, format->mantissa_bits, low);
    double above = decode(format->exponent_bits, format->mantissa_bits, low + 1) - magnitude;
    bool exact = below == 0 && more == 0;
    bool up = outwards;
    if (mode == EVEN || mode == AWAY)
        up = below != above ? below > above : more ? more > 0 : mode == AWAY || low % 2;
    unsigned code = low + (!exact && up);
    return sign | (code > format->most && finite ? format->most : code);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

__extension__ typedef __int128 wide;

struct how {
    const char *name;
    const struct small_format *format;
    bool ftz, sat, relu;
};
#define IS(word) (strcmp(how->name, word) == 0)

static double flushed(const struct how *how, double value)
{
    return how->ftz && fabs(value) < 0x1p-14 ? copysign(0, value) : value;
}

/* x * y + z rounded towards zero, and the sign of what that lost, from the CPU's own inexact flag.
 */
static double exact_sum(const struct how *how, double x, double y, double z, int *lost)
{
    volatile double a = x, b = y, c = z, sum;
    *lost = 0;
    if (IS("add"))
        return a + b;
    if (IS("sub"))
        return a - b;
    if (IS("mul"))
        return a * b;
    volatile double product = a * b; /* 22 bits at most */
    sum = product + c;
    if (!isfinite(sum) || sum == 0)
        return sum;
    fesetround(FE_TOWARDZERO);
    feclearexcept(FE_INEXACT);
    sum = product + c;
    if (fetestexcept(FE_INEXACT))
        *lost = sum > 0 ? 1 : -1;
    fesetround(FE_TONEAREST);
    return sum;
}

static uint64_t want_half(const void *data, const uint64_t in[LANE_SOURCES])
{
    const struct how *how = data;
    int lost;
    double x = flushed(how, number_of(how->format, in[0] & 0xffff)),
           y = flushed(how, number_of(how->format, in[1] & 0xffff)),
           z = flushed(how, number_of(how->format, in[2] & 0xffff));
    double sum = exact_sum(how, x, y, z, &lost);
    if (how->sat)
        sum = isnan(sum) || sum <= 0 ? 0 : sum >= 1 ? 1 : sum;
    if (how->relu && !(sum > 0) && !isnan(sum))
        return 0;
    if (how->sat && (sum == 0 || sum == 1))
        lost = 0;
    unsigned code = encode(how->format, sum, lost, EVEN, false);
    /* Tiny where it would be with exponents without end: 2^12 times as much is then far from that.
     */
    unsigned endless = encode(how->format, sum * 0x1p12, lost, EVEN, false);
    return how->ftz && (endless & 0x7fff) < 0x3400 ? code & 0x8000 : code;
}

static const uint64_t EDGES[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x3800,
    0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7c01, 0xfe00, 0x7800, 0x1400, 0x3f80, 0xbf80, 0x3f81, 0x3f7f,
    0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0x0080, 0x007f, 0x2000, 0x4b80, 0x5f00, 0x1f80, 0x5c00,
};

static void check_half(const char *name, const char *kinds, const struct small_format *format)
{
    struct how how = {name, format, strstr(kinds, "ftz"), strstr(kinds, "sat"),
                      strstr(kinds, "relu")};
    char words[64];
    snprintf(words, sizeof words, "%s%s.%s", name, kinds, format->name);
    struct lane_check check = {.op = find_lane(words, strcmp(name, "fma") ? "hhh" : "hhhh"),
                               .want = want_half,
                               .how = &how};
    check_edges(&check, EDGES, COUNT_OF(EDGES), 40000);
}

static void arithmetic_is_rounded_once(void **state)
{
    (void)state;
    static const char *const OPS[] = {"add", "sub", "mul", "fma"};
    static const char *const KINDS[] = {"", ".ftz", ".sat", ".ftz.sat", ".relu", ".ftz.relu"};
    for (unsigned op = 0; op < 4; op++) {
        for (unsigned kind = 0; kind < (op == 3 ? 6 : 4); kind++)
            check_half(OPS[op], KINDS[kind], &F16_FORMAT);
        check_half(OPS[op], "", &BF16_FORMAT);
    }
    check_half("fma", ".relu", &BF16_FORMAT);
}

/* A tie that only a tiny third term breaks. */
static void nothing_is_rounded_twice(void **state)
{
    (void)state;
    struct lane_op op = find_lane("fma.rn.bf16", "hhhh");
    /* 1.5 * 1.0078125 = 1.51171875: between two codes. */
    uint64_t even = one(&op, 0x3fc0, 0x3f81, 0, 0);
    assert_int_equal(one(&op, 0x3fc0, 0x3f81, 0x0001, 0), 0x3fc2);
    assert_int_equal(one(&op, 0x3fc0, 0x3f81, 0x8001, 0), 0x3fc1);
    assert_int_equal(even, 0x3fc2);
}

static void pairs_are_two_halves(void **state)
{
    (void)state;
    static const char *const OPS[] = {
        "add.f16",  "mul.ftz.sat.f16",  "min.NaN.f16", "max.xorsign.abs.bf16",
        "mul.bf16", "fma.ftz.relu.f16", "fma.bf16",    "neg.f16",
        "abs.bf16"};
    uint64_t seed = 6;
    for (size_t i = 0; i < COUNT_OF(OPS); i++) {
        unsigned count = strncmp(OPS[i], "fma", 3) == 0                                  ? 4
                         : strstr(OPS[i], "neg") || strstr(OPS[i], "abs.bf16") == OPS[i] ? 2
                                                                                         : 3;
        char words[64], lone_operands[8] = "hhhh", pair_operands[8] = "wwww";
        lone_operands[count] = pair_operands[count] = '\0';
        snprintf(words, sizeof words, "%sx2", OPS[i]);
        struct lane_op pair = find_lane(words, pair_operands),
                       lone = find_lane(OPS[i], lone_operands);
        for (unsigned round = 0; round < 200; round++) {
            uint64_t a = next_random(&seed) & 0xffffffff, b = next_random(&seed) & 0xffffffff,
                     c = next_random(&seed) & 0xffffffff;
            uint64_t low = one(&lone, a & 0xffff, b & 0xffff, c & 0xffff, 0);
            assert_int_equal(one(&pair, a, b, c, 0), low | one(&lone, a >> 16, b >> 16, c >> 16, 0)
                                                               << 16);
        }
    }
}

/* ---- conversions: all codes outwards, all neighbours inwards --------------------------------- */

static void all_codes_become_what_they_mean(void **state)
{
    (void)state;
    static const struct {
        const char *words, *operands;
        const struct small_format *format;
    } CASES[] = {
        {"cvt.f32.f16", "wh", &F16_FORMAT},
        {"cvt.f64.f16", "dh", &F16_FORMAT},
        {"cvt.f32.bf16", "wh", &BF16_FORMAT},
        {"cvt.f64.bf16", "dh", &BF16_FORMAT},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct lane_op op = find_lane(CASES[i].words, CASES[i].operands);
        for (unsigned first = 0; first < 65536; first += LANES) {
            struct lane_values values = {0};
            for (unsigned lane = 0; lane < LANES; lane++)
                values.in[0][lane] = first + lane;
            run_fn(op.fn, op.operands, &values);
            for (unsigned lane = 0; lane < LANES; lane++) {
                double want = number_of(CASES[i].format, first + lane);
                bool to_float = op.operands[0] == 'w';
                double got =
                    to_float ? float_of_bits(values.out[lane]) : double_of_bits(values.out[lane]);
                if (isnan(want) ? !isnan(got) : bits_of_double(got) != bits_of_double(want))
                    fail_msg("%s of %x is %g, expected %g", op.words, first + lane, got, want);
            }
        }
    }
}

static void eight_bits_become_halves(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        const struct small_format *format = kind & 1 ? &E5M2_FORMAT : &E4M3_FORMAT;
        char words[64];
        snprintf(words, sizeof words, "cvt.rn%s.f16x2.%s", kind & 2 ? ".relu" : "", format->name);
        struct lane_op op = find_lane(words, "wh");
        for (unsigned code = 0; code < 65536; code += 257) {
            double want = number_of(format, code & 0xff);
            uint64_t got = one(&op, code, 0, 0, 0);
            assert_int_equal(got >> 16, got & 0xffff);
            if (kind & 2 && signbit(want) && !isnan(want))
                want = 0;
            unsigned half = encode(&F16_FORMAT, want, 0, EVEN, false);
            assert_int_equal(got & 0xffff, half);
        }
    }
}

struct narrowing {
    const struct small_format *format;
    bool from_double, relu, finite, ftz;
    int mode;
};

static uint64_t want_narrow(const void *data, const uint64_t in[LANE_SOURCES])
{
    const struct narrowing *how = data;
    double value = how->from_double ? double_of_bits(in[0]) : float_of_bits(in[0]);
    if (how->relu && !(value > 0) && !isnan(value))
        value = 0;
    uint64_t code = encode(how->format, value, 0, how->mode, how->finite), sign = in[0] >> 63;
    unsigned kept = how->format->mantissa_bits;
    if (isnan(value) && how->from_double)
        return sign << 15 | (how->format->most + 1) | 1u << (kept - 1) |
               (in[0] & 0x000fffffffffffff) >> (52 - kept);
    if (how->format != &TF32_FORMAT)
        return code;
    return isnan(value) && how->mode == AWAY ? in[0] & 0xffffe000 : code << 13;
}

/* Each code's value, the middle to the next one, and what is next to both. */
static void check_narrow(const struct narrowing *how, const char *words)
{
    struct lane_check check = {.op = find_lane(words, how->format == &TF32_FORMAT ? "ww"
                                                      : how->from_double          ? "hd"
                                                                                  : "hw"),
                               .want = want_narrow,
                               .how = how};
    unsigned step = how->format == &TF32_FORMAT ? 331 : 7;
    for (unsigned code = 0; code <= how->format->most; code += code < 2000 ? 1 : step) {
        double low = number_of(how->format, code), high = number_of(how->format, code + 1);
        double middle = code == how->format->most ? low * 1.0001 : low + (high - low) / 2;
        for (int sign = 0; sign < 2; sign++)
            for (int which = 0; which < 2; which++)
                for (int off = -1; off <= 1; off++) {
                    double value = which ? middle : low;
                    uint64_t bits =
                        how->from_double ? bits_of_double(value) : bits_of_float((float)value);
                    bits = bits || off >= 0 ? bits + (uint64_t)(int64_t)off : bits;
                    check_tuple(&check, bits | (uint64_t)sign << (how->from_double ? 63 : 31), 0, 0,
                                0);
                }
    }
    check_edges(&check,
                (const uint64_t[]){0x7f800000, 0xff800001, 1, 0x80000001, 0x7ff0000000000000,
                                   0xfff0000000000001, ~0ull},
                7, 20000);
}

static void narrowed_by_looking_the_neighbours_up(void **state)
{
    (void)state;
    static const char *const MODES[] = {".rn", ".rz", ".rm", ".rp"};
    for (unsigned kind = 0; kind < 128; kind++) {
        struct narrowing how = {kind & 1 ? &BF16_FORMAT : &F16_FORMAT,
                                kind >> 1 & 1,
                                kind >> 2 & 1,
                                kind >> 3 & 1,
                                kind >> 6 && (kind & 3) == 0,
                                (int)(kind >> 4 & 3)};
        char words[64];
        snprintf(words, sizeof words, "cvt%s%s%s%s.%s.f%d", MODES[how.mode], how.ftz ? ".ftz" : "",
                 how.relu ? ".relu" : "", how.finite ? ".satfinite" : "", how.format->name,
                 how.from_double ? 64 : 32);
        check_narrow(&how, words);
    }
    check_narrow(&(struct narrowing){&TF32_FORMAT, .mode = AWAY}, "cvt.rna.tf32.f32");
    check_narrow(&(struct narrowing){&TF32_FORMAT, .mode = EVEN}, "cvt.rn.tf32.f32");
    check_narrow(&(struct narrowing){&TF32_FORMAT, .mode = ZERO, .relu = true},
                 "cvt.rz.relu.tf32.f32");
}

/* Two sources make a pair: the first one is the upper half. */
static void pairs_are_packed(void **state)
{
    (void)state;
    static const struct {
        const struct small_format *format;
        const char *words, *operands;
        struct narrowing how;
    } CASES[] = {
        {&F16_FORMAT, "cvt.rn.f16x2.f32", "www", {&F16_FORMAT, .mode = EVEN}},
        {&F16_FORMAT, "cvt.rz.relu.f16x2.f32", "www", {&F16_FORMAT, .mode = ZERO, .relu = true}},
        {&BF16_FORMAT, "cvt.rn.bf16x2.f32", "www", {&BF16_FORMAT, .mode = EVEN}},
        {&BF16_FORMAT,
         "cvt.rn.relu.satfinite.bf16x2.f32",
         "www",
         {&BF16_FORMAT, .relu = true, .finite = true}},
        {&E4M3_FORMAT, "cvt.rn.satfinite.e4m3x2.f32", "hww", {&E4M3_FORMAT, .finite = true}},
        {&E5M2_FORMAT,
         "cvt.rn.satfinite.relu.e5m2x2.f32",
         "hww",
         {&E5M2_FORMAT, .finite = true, .relu = true}},
    };
    uint64_t seed = 8;
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct lane_op op = find_lane(CASES[i].words, CASES[i].operands);
        unsigned bits = op.operands[0] == 'h' ? 8 : 16;
        for (unsigned round = 0; round < 3000; round++) {
            uint64_t in[2][LANE_SOURCES] = {{next_random(&seed) & 0xffffffff},
                                            {next_random(&seed) & 0xffffffff}};
            if (round % 2)
                in[0][0] = (in[0][0] & 0x807fffff) | (110 + round / 2 % 34) << 23;
            uint64_t want =
                want_narrow(&CASES[i].how, in[0]) << bits | want_narrow(&CASES[i].how, in[1]);
            assert_int_equal(one(&op, in[0][0], in[1][0], 0, 0), want);
        }
    }
    struct lane_op op = find_lane("cvt.rn.satfinite.e4m3x2.f16x2", "hw");
    assert_int_equal(one(&op, 0x7c003c00, 0, 0, 0), 0x7e38);
    assert_int_equal(one(&op, 0xfe008001, 0, 0, 0), 0x7f80);
}

/* ---- integers -------------------------------------------------------------------------------- */

struct integral {
    unsigned bits;
    bool is_signed, from_double, ftz;
    int mode;
    const struct small_format *format; /* for the way to float; NULL for f32 and f64 */
};

static uint64_t want_integer(const void *data, const uint64_t in[LANE_SOURCES])
{
    const struct integral *how = data;
    double value = how->from_double ? double_of_bits(in[0]) : float_of_bits(in[0]);
    if (how->ftz && fabs(value) < 0x1p-126)
        value = 0;
    value = how->mode == EVEN   ? nearbyint(value)
            : how->mode == ZERO ? trunc(value)
            : how->mode == DOWN ? floor(value)
                                : ceil(value);
    double least = how->is_signed ? -ldexp(1, (int)how->bits - 1) : 0;
    double beyond = ldexp(1, (int)how->bits - how->is_signed);
    uint64_t mask = how->bits == 64 ? ~0ull : (1ull << how->bits) - 1,
             top = 1ull << (how->bits - 1);
    uint64_t result;
    if (isnan(value))
        result = how->from_double || how->bits == 64 ? top : 0;
    else if (value >= beyond)
        result = how->is_signed ? top - 1 : mask;
    else if (value < least)
        result = how->is_signed ? top : 0;
    else
        result = value < 0 ? 0 - (uint64_t)-value : (uint64_t)value;
    unsigned width = how->bits < 16 ? 16 : how->bits;
    if (how->is_signed && width > how->bits && result & top)
        result |= ~mask;
    return width == 64 ? result : result & ((1ull << width) - 1);
}

static void floats_to_integers(void **state)
{
    (void)state;
    static const char *const MODES[] = {".rni", ".rzi", ".rmi", ".rpi"};
    static const double VALUES[] = {0,
                                    -0.0,
                                    0.5,
                                    -0.5,
                                    1.5,
                                    2.5,
                                    -1.5,
                                    127,
                                    127.5,
                                    128,
                                    -128.5,
                                    255,
                                    255.5,
                                    256,
                                    -0.9,
                                    1e-40,
                                    32767.5,
                                    65535.5,
                                    2147483520.0,
                                    2147483647.0,
                                    2147483647.5,
                                    2147483648.0,
                                    -2147483648.5,
                                    4294967295.5,
                                    9.2e18,
                                    9223372036854775808.0,
                                    1.8e19,
                                    1.9e19,
                                    -1e300,
                                    1e300};
    for (unsigned kind = 0; kind < 128; kind++) {
        struct integral how = {8u << (kind & 3),     kind >> 2 & 1,
                               kind >> 3 & 1,        kind >> 6 && !(kind >> 3 & 1),
                               (int)(kind >> 4 & 3), NULL};
        char words[64];
        snprintf(words, sizeof words, "cvt%s%s.%c%u.f%d", MODES[how.mode], how.ftz ? ".ftz" : "",
                 how.is_signed ? 's' : 'u', how.bits, how.from_double ? 64 : 32);
        char operands[3] = {how.bits <= 16   ? 'h'
                            : how.bits == 32 ? 'w'
                                             : 'd',
                            how.from_double ? 'd' : 'w'};
        struct lane_check check = {
            .op = find_lane(words, operands), .want = want_integer, .how = &how};
        for (size_t i = 0; i < COUNT_OF(VALUES); i++)
            for (int sign = -1; sign <= 1; sign += 2)
                for (int off = -1; off <= 1; off++) {
                    double value = VALUES[i] * sign;
                    uint64_t bits =
                        how.from_double ? bits_of_double(value) : bits_of_float((float)value);
                    check_tuple(&check, bits + (uint64_t)(int64_t)off, 0, 0, 0);
                }
        check_edges(&check, (const uint64_t[]){0x7f800000, 0xff800001, 0x7ff0000000000000, ~0ull},
                    4, 3000);
    }
}

static uint64_t want_from_integer(const void *data, const uint64_t in[LANE_SOURCES])
{
    static const int MODES[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    const struct integral *how = data;
    uint64_t cut = how->bits == 64 ? in[0] : in[0] & ((1ull << how->bits) - 1);
    bool negative = how->is_signed && cut >> (how->bits - 1);
    uint64_t magnitude = negative ? (how->bits == 64 ? 0 : 1ull << how->bits) - cut : cut;
    volatile long double value = magnitude; /* 64 bits are exact */
    if (negative)
        value = -value;
    if (how->format) {
        double inwards =
            negative ? -(double)(magnitude >> 12 << 12) : (double)(magnitude >> 12 << 12);
        if (magnitude >> 53 == 0)
            return encode(how->format, (double)value, 0, how->mode, false);
        return encode(how->format, inwards, (magnitude & 0xfff ? 1 : 0) * (negative ? -1 : 1),
                      how->mode, false);
    }
    fesetround(MODES[how->mode]);
    volatile double as_double = (double)value;
    volatile float as_float = (float)value;
    fesetround(FE_TONEAREST);
    return how->from_double ? bits_of_double(as_double) : bits_of_float(as_float);
}

/* Around the edges of the formats. */
static const uint64_t INTEGERS[] = {0,
                                    1,
                                    2,
                                    0x7f,
                                    0x80,
                                    0xff,
                                    2047,
                                    2048,
                                    2049,
                                    2051,
                                    4097,
                                    65504,
                                    65519,
                                    65520,
                                    65535,
                                    0x8000,
                                    0x7fff,
                                    0x01000001,
                                    0x01000003,
                                    0x7fffffff,
                                    0x80000000,
                                    0x7fffffbf,
                                    0x7fffffc0,
                                    0xffffffff,
                                    0xffffff7f,
                                    0xffffff80,
                                    0x0020000000000001,
                                    0x0020000000000003,
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    ~0ull,
                                    0x8000000000000400,
                                    0x8000000000000401,
                                    0xfffffffffffffbff,
                                    0x8000008000000000,
                                    0x8000008000000001,
                                    0x7fffffbfffffffff,
                                    0xffffff7fffffffff,
                                    0x8080000000000001,
                                    0x8080000000000000,
                                    257,
                                    259,
                                    0x10100001};

static void integers_to_floats(void **state)
{
    (void)state;
    static const char *const MODES[] = {".rn", ".rz", ".rm", ".rp"};
    for (unsigned kind = 0; kind < 128; kind++) {
        struct integral how = {8u << (kind & 3),
                               kind >> 2 & 1,
                               kind >> 5 == 1,
                               false,
                               (int)(kind >> 3 & 3),
                               kind >> 5 == 2 ? &F16_FORMAT : kind >> 5 == 3 ? &BF16_FORMAT : NULL};
        char words[64];
        snprintf(words, sizeof words, "cvt%s.%s.%c%u", MODES[how.mode],
                 how.format        ? how.format->name
                 : how.from_double ? "f64"
                                   : "f32",
                 how.is_signed ? 's' : 'u', how.bits);
        char operands[3] = {how.format        ? 'h'
                            : how.from_double ? 'd'
                                              : 'w',
                            how.bits <= 16   ? 'h'
                            : how.bits == 32 ? 'w'
                                             : 'd'};
        struct lane_check check = {
            .op = find_lane(words, operands), .want = want_from_integer, .how = &how};
        check_edges(&check, INTEGERS, COUNT_OF(INTEGERS), 3000);
        assert_int_equal(fegetround(), FE_TONEAREST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_is_rounded_once),
        cmocka_unit_test(nothing_is_rounded_twice),
        cmocka_unit_test(pairs_are_two_halves),
        cmocka_unit_test(all_codes_become_what_they_mean),
        cmocka_unit_test(eight_bits_become_halves),
        cmocka_unit_test(narrowed_by_looking_the_neighbours_up),
        cmocka_unit_test(pairs_are_packed),
        cmocka_unit_test(floats_to_integers),
        cmocka_unit_test(integers_to_floats),
    };
    return cmocka_run_group_tests_name("lane_half", tests, NULL, NULL);
}
