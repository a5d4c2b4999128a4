/* test_lane_int.c - integer arithmetic and bits against slow arithmetic of 128 bits. */
#include "lane_fixture.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

static const uint64_t EDGES[] = {
    0,
    1,
    2,
    3,
    7,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x80000001,
    31,
    32,
    0xffff8000,
    0xfffffffe,
    ~0ull,
    ~0ull - 1,
    1ull << 63,
    ~0ull >> 1,
    1ull << 32,
    0x123456789abcdef0,
    10,
    0xffffffff00000000,
    63,
};

/* What an operation does, for one type. */
struct how {
    const char *name;
    unsigned bits;
    bool is_signed;
};

static wide number(const struct how *how, uint64_t bits)
{
    uint64_t cut = how->bits == 64 ? bits : bits & ((1ull << how->bits) - 1);
    bool negative = how->is_signed && cut >> (how->bits - 1);
    return negative ? (wide)cut - ((wide)1 << how->bits) : (wide)cut;
}
static wide limit(wide value, wide least, wide most)
{
    return value < least ? least : value > most ? most : value;
}
static wide magnitude(wide value)
{
    return value < 0 ? -value : value;
}

/* The exact result; the caller cuts it. */
static wide exact(const struct how *how, wide x, wide y, wide z)
{
    const char *op = how->name;
    wide top = (wide)1 << 31;
#define IS(word) (strcmp(op, word) == 0)
    if (IS("add"))
        return x + y;
    if (IS("sub"))
        return x - y;
    if (IS("mul.lo") || IS("mul.wide"))
        return (wide)((uwide)x * (uwide)y);
    if (IS("mul.hi"))
        return how->is_signed || how->bits < 64 ? (x * y) >> how->bits
                                                : (wide)((uwide)x * (uwide)y >> 64);
    if (IS("mad.lo") || IS("mad.wide"))
        return (wide)((uwide)x * (uwide)y + (uwide)z);
    if (IS("mad.hi"))
        return exact(&(struct how){"mul.hi", how->bits, how->is_signed}, x, y, 0) + z;
    if (IS("mad.hi.sat"))
        return limit((x * y >> 32) + z, -top, top - 1);
    if (IS("add.sat"))
        return limit(x + y, -top, top - 1);
    if (IS("sub.sat"))
        return limit(x - y, -top, top - 1);
    if (IS("div"))
        return y ? x / y : -1;
    if (IS("rem"))
        return y ? x % y : -1;
    if (IS("min"))
        return x < y ? x : y;
    if (IS("max"))
        return x > y ? x : y;
    if (IS("min.relu"))
        return limit(x < y ? x : y, 0, top);
    if (IS("max.relu"))
        return limit(x > y ? x : y, 0, top);
    if (IS("sad"))
        return z + magnitude(x - y);
    if (IS("abs"))
        return magnitude(x);
    if (IS("neg"))
        return -x;
    fail_msg("no oracle for %s", op);
    return 0;
}

static uint64_t want_number(const void *data, const uint64_t in[LANE_SOURCES])
{
    const struct how *how = data;
    bool is_wide = strstr(how->name, "wide");
    struct how third = {how->name, is_wide ? how->bits * 2 : how->bits, how->is_signed};
    uint64_t result =
        (uint64_t)exact(how, number(how, in[0]), number(how, in[1]), number(&third, in[2]));
    return third.bits == 64 ? result : result & ((1ull << third.bits) - 1);
}

static void check_type(const char *name, unsigned sources, unsigned bits, bool is_signed)
{
    char words[64], operands[8] = "";
    char letter = bits == 16 ? 'h' : bits == 32 ? 'w' : 'd', twice = bits == 16 ? 'w' : 'd';
    snprintf(words, sizeof words, "%s.%c%u", name, is_signed ? 's' : 'u', bits);
    for (unsigned i = 0; i <= sources; i++)
        operands[i] = strstr(name, "wide") && (i == 0 || i == 3) ? twice : letter;
    struct how how = {name, bits, is_signed};
    struct lane_check check = {.op = find_lane(words, operands), .want = want_number, .how = &how};
    check_edges(&check, EDGES, COUNT_OF(EDGES), 2000);
}

static void arithmetic_in_all_types(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned sources;
    } OPS[] = {{"add", 2}, {"sub", 2}, {"mul.lo", 2}, {"mul.hi", 2}, {"div", 2}, {"rem", 2},
               {"min", 2}, {"max", 2}, {"mad.lo", 3}, {"mad.hi", 3}, {"sad", 3}};
    for (size_t i = 0; i < COUNT_OF(OPS); i++)
        for (unsigned bits = 16; bits <= 64; bits *= 2) {
            check_type(OPS[i].name, OPS[i].sources, bits, false);
            check_type(OPS[i].name, OPS[i].sources, bits, true);
        }
    for (unsigned bits = 16; bits <= 64; bits *= 2) {
        check_type("abs", 1, bits, true);
        check_type("neg", 1, bits, true);
    }
    for (unsigned bits = 16; bits <= 32; bits *= 2)
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            check_type("mul.wide", 2, bits, is_signed);
            check_type("mad.wide", 3, bits, is_signed);
        }
    check_type("add.sat", 2, 32, true);
    check_type("sub.sat", 2, 32, true);
    check_type("mad.hi.sat", 3, 32, true);
    check_type("min.relu", 2, 32, true);
    check_type("max.relu", 2, 32, true);
}

/* Each half of a pair is what the same instruction gives for it alone. */
static void pairs_are_two_halves(void **state)
{
    (void)state;
    static const char *const OPS[] = {"add.u16", "add.s16", "min.u16",
                                      "min.s16", "max.u16", "max.s16"};
    uint64_t seed = 3;
    for (size_t i = 0; i < COUNT_OF(OPS); i++) {
        char words[32];
        snprintf(words, sizeof words, "%sx2", OPS[i]);
        struct lane_op pair = find_lane(words, "www"), half = find_lane(OPS[i], "hhh");
        for (unsigned round = 0; round < 200; round++) {
            uint64_t a = next_random(&seed) & 0xffffffff, b = next_random(&seed) & 0xffffffff;
            uint64_t low = one(&half, a & 0xffff, b & 0xffff, 0, 0);
            assert_int_equal(one(&pair, a, b, 0, 0), low | one(&half, a >> 16, b >> 16, 0, 0)
                                                               << 16);
        }
    }
    struct lane_op relu = find_lane("min.relu.s16x2", "www");
    assert_int_equal(one(&relu, 0x0005fff0, 0x00077fff, 0, 0), 0x00050000);
}

static void division_by_zero_and_overflow(void **state)
{
    (void)state;
    struct lane_op op = find_lane("div.u32", "www");
    assert_int_equal(one(&op, 5, 0, 0, 0), 0xffffffff);
    op = find_lane("rem.u64", "ddd");
    assert_true(one(&op, 5, 0, 0, 0) == ~0ull);
    op = find_lane("div.s64", "ddd");
    assert_true(one(&op, 1ull << 63, ~0ull, 0, 0) == 1ull << 63);
    op = find_lane("rem.s32", "www");
    assert_int_equal(one(&op, 0x80000000, 0xffffffff, 0, 0), 0);
}

/* A number of 96 bits times and plus others, by the chain that compilers make. */
static void carries_go_through(void **state)
{
    (void)state;
    struct lane_op add = find_lane("add.cc.u32", "www"), addc = find_lane("addc.cc.u32", "www"),
                   sub = find_lane("sub.cc.u32", "www"), subc = find_lane("subc.cc.u32", "www"),
                   mad = find_lane("mad.lo.cc.u32", "wwww"),
                   madc = find_lane("madc.hi.u32", "wwww");
    uint64_t seed = 5;
    for (unsigned round = 0; round < 300; round++) {
        struct lane_values low = {0}, high = {0};
        uint64_t a[LANES], b[LANES], c[LANES];
        for (unsigned i = 0; i < LANES; i++) {
            a[i] = round % 2 ? next_random(&seed) : next_random(&seed) | 0xffffffff;
            b[i] = next_random(&seed);
            c[i] = next_random(&seed);
        }
        for (unsigned kind = 0; kind < 3; kind++) {
            for (unsigned i = 0; i < LANES; i++) {
                low.in[0][i] = high.in[0][i] = kind == 2 ? a[i] & 0xffffffff : 0;
                low.in[1][i] = high.in[1][i] = kind == 2 ? b[i] & 0xffffffff : 0;
                low.in[2][i] = c[i] & 0xffffffff;
                high.in[2][i] = c[i] >> 32;
                if (kind == 2)
                    continue;
                low.in[0][i] = a[i] & 0xffffffff;
                low.in[1][i] = b[i] & 0xffffffff;
                high.in[0][i] = a[i] >> 32;
                high.in[1][i] = b[i] >> 32;
            }
            run_fn((kind == 0 ? add : kind == 1 ? sub : mad).fn, kind == 2 ? "wwww" : "www", &low);
            high.carry = low.carry;
            run_fn((kind == 0   ? addc
                    : kind == 1 ? subc
                                : madc)
                       .fn,
                   kind == 2 ? "wwww" : "www", &high);
            for (unsigned i = 0; i < LANES; i++) {
                uint64_t want = kind == 0   ? a[i] + b[i]
                                : kind == 1 ? a[i] - b[i]
                                            : (a[i] & 0xffffffff) * (b[i] & 0xffffffff) + c[i];
                assert_true((high.out[i] << 32 | low.out[i]) == want);
                bool carried = kind == 0 ? want < a[i] : a[i] >= b[i];
                if (kind < 2)
                    assert_int_equal(high.carry >> i & 1, carried);
            }
        }
    }
}

/* ---- bits: one bit at a time ----------------------------------------------------------------- */

static uint64_t want_bits(const void *data, const uint64_t in[LANE_SOURCES])
{
    const struct how *how = data;
    const char *op = how->name;
    unsigned bits = how->bits, count = 0, top = ~0u;
    uint64_t a = bits == 64 ? in[0] : in[0] & ((1ull << bits) - 1), result = 0;
    bool sign = how->is_signed && a >> (bits - 1);
    for (unsigned i = 0; i < bits; i++) {
        count += (unsigned)(a >> i & 1);
        if ((a >> i & 1) != sign)
            top = i;
        result |= (a >> i & 1) << (bits - 1 - i);
    }
    if (IS("popc"))
        return count;
    if (IS("brev"))
        return result;
    if (IS("bfind"))
        return top;
    if (IS("bfind.shiftamt"))
        return top == ~0u ? top : bits - 1 - top;
    if (IS("clz"))
        return top == ~0u ? bits : bits - 1 - top;
    /* Amounts are 32 bits. */
    unsigned n = (unsigned)(uint32_t)in[1], pos = n & 0xff, len = (unsigned)in[2] & 0xff;
    result = 0;
    if (IS("bfe")) {
        unsigned last = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
        sign = how->is_signed && len && a >> last & 1;
        for (unsigned i = 0; i < bits; i++)
            result |= (uint64_t)(i < len && pos + i < bits ? a >> (pos + i) & 1 : sign) << i;
        return result;
    }
    for (unsigned i = 0; i < bits; i++) {
        uint64_t from = IS("shl") ? (uint64_t)i - n : (uint64_t)i + n;
        result |= (from < bits ? a >> from & 1 : IS("shr") && sign) << i;
    }
    return result;
}

static void check_bits(const char *name, const char *type, const char *operands)
{
    static const uint64_t AMOUNTS[] = {0,
                                       1,
                                       15,
                                       16,
                                       17,
                                       31,
                                       32,
                                       33,
                                       63,
                                       64,
                                       65,
                                       255,
                                       256,
                                       0xffffffff,
                                       0x80000000,
                                       8,
                                       0x8000000080000000,
                                       0xff00ff00ff00ff00};
    char words[64];
    snprintf(words, sizeof words, "%s.%s", name, type);
    struct how how = {name, (unsigned)atoi(type + 1), type[0] == 's'};
    struct lane_check check = {.op = find_lane(words, operands), .want = want_bits, .how = &how};
    check_edges(&check, strlen(operands) == 2 ? EDGES : AMOUNTS,
                strlen(operands) == 2 ? COUNT_OF(EDGES) : COUNT_OF(AMOUNTS), 2000);
    uint64_t seed = 2;
    for (unsigned i = 0; i < 4096; i++)
        check_tuple(&check, next_random(&seed), i % 70, i / 70, 0);
}

static void bits_one_by_one(void **state)
{
    (void)state;
    check_bits("popc", "b32", "ww");
    check_bits("popc", "b64", "wd");
    check_bits("clz", "b32", "ww");
    check_bits("clz", "b64", "wd");
    check_bits("brev", "b32", "ww");
    check_bits("brev", "b64", "dd");
    static const char *const TYPES[] = {"u32", "s32", "u64", "s64"};
    for (unsigned i = 0; i < 4; i++) {
        check_bits("bfind", TYPES[i], i < 2 ? "ww" : "wd");
        check_bits("bfind.shiftamt", TYPES[i], i < 2 ? "ww" : "wd");
        check_bits("bfe", TYPES[i], i < 2 ? "wwww" : "ddww");
        check_bits("shr", TYPES[i], i < 2 ? "www" : "ddw");
    }
    check_bits("shr", "u16", "hhw");
    check_bits("shr", "s16", "hhw");
    check_bits("shl", "b16", "hhw");
    check_bits("shl", "b32", "www");
    check_bits("shl", "b64", "ddw");
}

static void fields_are_inserted(void **state)
{
    (void)state;
    struct lane_op op = find_lane("bfi.b32", "wwwww");
    assert_int_equal(one(&op, 0xab, 0xffffffff, 8, 8), 0xffffabff);
    assert_int_equal(one(&op, 0xab, 0x12345678, 28, 8), 0xb2345678);
    assert_int_equal(one(&op, 0xab, 0x12345678, 32, 8), 0x12345678);
    assert_int_equal(one(&op, 0xab, 0x12345678, 0, 0), 0x12345678);
    op = find_lane("bfi.b64", "dddww");
    assert_true(one(&op, ~0ull, 0, 60, 200) == 0xf000000000000000);
}

static void special_bits(void **state)
{
    (void)state;
    static const struct {
        const char *words, *operands;
        uint64_t a, b, c, want;
    } CASES[] = {
        {"szext.clamp.s32", "www", 0x80, 8, 0, 0xffffff80},
        {"szext.clamp.u32", "www", 0x1ff, 8, 0, 0xff},
        {"szext.clamp.s32", "www", 0x12345678, 40, 0, 0x12345678},
        {"szext.wrap.s32", "www", 0x80, 40, 0, 0xffffff80},
        {"szext.wrap.u32", "www", 0x1234, 32, 0, 0},
        {"bmsk.clamp.b32", "www", 4, 8, 0, 0xff0},
        {"bmsk.clamp.b32", "www", 40, 8, 0, 0},
        {"bmsk.clamp.b32", "www", 0, 64, 0, 0xffffffff},
        {"bmsk.wrap.b32", "www", 36, 40, 0, 0xff0},
        {"fns.b32", "wwww", 0xb4, 0, 2, 4},
        {"fns.b32", "wwww", 0xb4, 7, 0xfffffffe, 5},
        {"fns.b32", "wwww", 0xb4, 5, 0, 5},
        {"fns.b32", "wwww", 0xb4, 6, 0, 0xffffffff},
        {"fns.b32", "wwww", 0xb4, 40, 1, 0xffffffff},
        {"prmt.b32", "wwww", 0x33221100, 0x77665544, 0x7531, 0x77553311},
        {"prmt.b32", "wwww", 0x00008000, 0, 0x9999, 0xffffffff},
        {"prmt.b32.f4e", "wwww", 0x33221100, 0x77665544, 2, 0x55443322},
        {"prmt.b32.b4e", "wwww", 0x33221100, 0x77665544, 1, 0x66770011},
        {"prmt.b32.rc8", "wwww", 0x33221100, 0, 6, 0x22222222},
        {"prmt.b32.ecl", "wwww", 0x33221100, 0, 2, 0x33222222},
        {"prmt.b32.ecr", "wwww", 0x33221100, 0, 1, 0x11111100},
        {"prmt.b32.rc16", "wwww", 0x33221100, 0, 1, 0x33223322},
        {"shf.l.wrap.b32", "wwww", 0x80000001, 0x40000000, 33, 0x80000001},
        {"shf.l.clamp.b32", "wwww", 0x80000001, 0x40000000, 33, 0x80000001},
        {"shf.r.wrap.b32", "wwww", 0x80000001, 0x40000000, 4, 0x08000000},
        {"shf.r.clamp.b32", "wwww", 0x80000001, 0x40000000, 77, 0x40000000},
        {"dp4a.s32.u32", "wwww", 0xff010203, 0x02030405, 10, 34},
        {"dp2a.lo.s32.s32", "wwww", 0xffff0002, 0x000003fe, 1, 0xfffffffa},
        {"dp2a.hi.u32.u32", "wwww", 0xffff0002, 0x02030000, 0, 0x20004},
        {"mul24.lo.s32", "www", 0x00ffffff, 5, 0, 0xfffffffb},
        {"mul24.hi.u32", "www", 0xffffff, 0xffffff, 0, 0xfffffe00},
        {"cnot.b16", "hh", 0, 0, 0, 1},
        {"copysign.f32", "www", 0x80000000, 0x3f800000, 0, 0xbf800000},
        {"vabsdiff4.u32.u32.u32", "wwww", 0x01ff0005, 0x02010007, 9, 0x01fe0002},
        {"vabsdiff4.add.u32.u32.u32", "wwww", 0x01ff0005, 0x02010007, 9, 9 + 1 + 254 + 2},
        {"cvt.pack.sat.u8.s32.b32", "wwww", 300, 0xffffffff, 0xabcd1234, 0x1234ff00},
        {"cvt.pack.sat.u4.s32.b32", "wwww", 300, 0xffffffff, 0xabcd1234, 0xcd1234f0},
        {"cvt.pack.sat.s4.s32.b32", "wwww", 0xfffffff0, 0xffffffff, 1, 0x0000018f},
        {"cvt.pack.sat.u2.s32.b32", "wwww", 2, 9, 0xf0000001, 0x0000001b},
        {"cvt.pack.sat.s2.s32.b32", "wwww", 5, 0xfffffffb, 0, 0x00000006},
        {"cvt.pack.sat.s16.s32", "www", 0x8000, 0xffff0000, 0, 0x7fff8000},
        {"slct.b32.s32", "wwww", 1, 2, 0x80000000, 2},
        {"slct.b32.f32", "wwww", 1, 2, 0x80000000, 1},
        {"slct.b32.f32", "wwww", 1, 2, 0x7fc00000, 2},
        {"slct.b32.f32", "wwww", 1, 2, 0x80000001, 2},
        {"slct.ftz.b32.f32", "wwww", 1, 2, 0x80000001, 1},
        {"selp.b64", "dddp", 1, 2, 1, 1},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct lane_op op = find_lane(CASES[i].words, CASES[i].operands);
        uint64_t got = one(&op, CASES[i].a, CASES[i].b, CASES[i].c, 0);
        if (got != CASES[i].want)
            fail_msg("%s: %llx, expected %llx", CASES[i].words, (unsigned long long)got,
                     (unsigned long long)CASES[i].want);
    }
}

static uint64_t want_lop3(const void *data, const uint64_t in[LANE_SOURCES])
{
    (void)data;
    uint64_t result = 0;
    for (unsigned i = 0; i < 32; i++) {
        unsigned row = (unsigned)((in[0] >> i & 1) << 2 | (in[1] >> i & 1) << 1 | (in[2] >> i & 1));
        result |= (in[3] >> row & 1) << i;
    }
    return result;
}

static void every_table_of_lop3(void **state)
{
    (void)state;
    struct lane_check check = {.op = find_lane("lop3.b32", "wwwww"), .want = want_lop3};
    uint64_t seed = 1;
    for (unsigned table = 0; table < 256; table++)
        for (unsigned i = 0; i < 8; i++)
            check_tuple(&check, next_random(&seed), next_random(&seed), next_random(&seed), table);
}

/* ---- conversions ----------------------------------------------------------------------------- */

struct conversion {
    struct how from, to;
    bool saturates;
    unsigned width; /* of the result's register */
};

static uint64_t want_converted(const void *data, const uint64_t in[LANE_SOURCES])
{
    const struct conversion *how = data;
    wide value = number(&how->from, in[0]), one_above = (wide)1 << how->to.bits;
    wide least = how->to.is_signed ? -(one_above / 2) : 0;
    if (how->saturates)
        value = limit(value, least, least + one_above - 1);
    value = number(&how->to, (uint64_t)value);
    return how->width == 64 ? (uint64_t)value : (uint64_t)value & ((1ull << how->width) - 1);
}

static void check_conversion(const struct conversion *how, char from_letter)
{
    char words[64], operands[3] = {how->width == 16   ? 'h'
                                   : how->width == 32 ? 'w'
                                                      : 'd',
                                   from_letter, '\0'};
    snprintf(words, sizeof words, "cvt%s.%c%u.%c%u", how->saturates ? ".sat" : "",
             how->to.is_signed ? 's' : 'u', how->to.bits, how->from.is_signed ? 's' : 'u',
             how->from.bits);
    struct lane_check check = {
        .op = find_lane(words, operands), .want = want_converted, .how = how};
    check_edges(&check, EDGES, COUNT_OF(EDGES), 200);
}

static void integers_to_integers_in_all_registers(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 128; kind++) {
        struct conversion how = {
            .from = {"", 8u << (kind & 3), kind >> 2 & 1},
            .to = {"", 8u << (kind >> 3 & 3), kind >> 5 & 1},
            .saturates = kind >> 6,
        };
        for (unsigned from = 16; from <= 64; from *= 2)
            for (how.width = 16; how.width <= 64; how.width *= 2)
                if (from >= how.from.bits && how.width >= how.to.bits)
                    check_conversion(&how, from == 16 ? 'h' : from == 32 ? 'w' : 'd');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_in_all_types),
        cmocka_unit_test(pairs_are_two_halves),
        cmocka_unit_test(division_by_zero_and_overflow),
        cmocka_unit_test(carries_go_through),
        cmocka_unit_test(bits_one_by_one),
        cmocka_unit_test(fields_are_inserted),
        cmocka_unit_test(special_bits),
        cmocka_unit_test(every_table_of_lop3),
        cmocka_unit_test(integers_to_integers_in_all_registers),
    };
    return cmocka_run_group_tests_name("lane_int", tests, NULL, NULL);
}
