/* test_lane_find.c - which instructions are found, the errors for others, and that both versions
 * of each function do the same. */
#include "lane_fixture.h"

static const struct lane_family *const FAMILIES[] = {
    &lane_int_family,       &lane_wide_family,       &lane_bits_family,
    &lane_logic_family,     &lane_float_family,      &lane_double_family,
    &lane_half_family,      &lane_setp_family,       &lane_set_family,
    &lane_cvt_int_family,   &lane_cvt_to_int_family, &lane_cvt_from_int_family,
    &lane_cvt_float_family, &lane_cvt_small_family,  &lane_approx_family,
};

/* Those of an ordinary program, and one of each opcode. */
static const struct {
    const char *words, *operands;
} KNOWN[] = {
    {"add.s32", "www"},
    {"add.cc.u32", "www"},
    {"addc.cc.u32", "www"},
    {"sub.cc.u64", "ddd"},
    {"subc.u32", "www"},
    {"mul.lo.s64", "ddd"},
    {"mul.wide.s16", "whh"},
    {"mul.hi.u64", "ddd"},
    {"mul24.lo.s32", "www"},
    {"mad.lo.s32", "wwww"},
    {"mad.wide.u32", "dwwd"},
    {"mad24.hi.sat.s32", "wwww"},
    {"mad.lo.cc.u32", "wwww"},
    {"madc.hi.cc.u64", "dddd"},
    {"sad.s16", "hhhh"},
    {"div.u16", "hhh"},
    {"rem.s64", "ddd"},
    {"abs.s32", "ww"},
    {"neg.f16x2", "ww"},
    {"min.u64", "ddd"},
    {"max.ftz.NaN.xorsign.abs.f32", "www"},
    {"popc.b64", "wd"},
    {"clz.b32", "ww"},
    {"bfind.shiftamt.s64", "wd"},
    {"fns.b32", "wwww"},
    {"brev.b64", "dd"},
    {"bfe.s64", "ddww"},
    {"bfi.b64", "dddww"},
    {"szext.wrap.s32", "www"},
    {"bmsk.clamp.b32", "www"},
    {"dp4a.u32.s32", "wwww"},
    {"dp2a.hi.s32.s32", "wwww"},
    {"prmt.b32", "wwww"},
    {"prmt.rc16.b32", "wwww"},
    {"shl.b64", "ddw"},
    {"shr.s16", "hhw"},
    {"shf.l.clamp.b32", "wwww"},
    {"and.pred", "ppp"},
    {"or.b16", "hhh"},
    {"xor.b64", "ddd"},
    {"not.pred", "pp"},
    {"cnot.b32", "ww"},
    {"lop3.b32", "wwwww"},
    {"lop3.or.b32", "wwwwwp"},
    {"mov.b128", "qq"},
    {"mov.pred", "pp"},
    {"selp.f64", "dddp"},
    {"slct.u64.f32", "dddw"},
    {"set.lt.and.ftz.f32.f32", "wwwp"},
    {"set.ne.bf16x2.bf16x2", "www"},
    {"setp.lt.f32", "pww"},
    {"setp.geu.xor.ftz.f16x2", "pwwp"},
    {"testp.subnormal.f64", "pd"},
    {"copysign.f64", "ddd"},
    {"rcp.rn.f64", "dd"},
    {"rcp.approx.ftz.f64", "dd"},
    {"sqrt.approx.f32", "ww"},
    {"rsqrt.approx.ftz.f64", "dd"},
    {"sin.approx.ftz.f32", "ww"},
    {"cos.approx.f32", "ww"},
    {"lg2.approx.f32", "ww"},
    {"ex2.approx.ftz.bf16x2", "ww"},
    {"tanh.approx.f16", "hh"},
    {"div.full.ftz.f32", "www"},
    {"fma.rp.ftz.sat.f32", "wwww"},
    {"fma.rn.relu.bf16x2", "wwww"},
    {"fma.rn.f32x2", "dddd"},
    {"cvt.u32.u8", "wd"},
    {"cvt.sat.s8.u64", "hd"},
    {"cvt.rzi.ftz.sat.u64.f32", "dw"},
    {"cvt.rp.bf16.s64", "hd"},
    {"cvt.rn.relu.f16x2.f32", "www"},
    {"cvt.rn.satfinite.relu.e4m3x2.f16x2", "hw"},
    {"cvt.rn.f16x2.e5m2x2", "wh"},
    {"cvt.rna.tf32.f32", "ww"},
    {"cvt.pack.sat.s8.s32.b32", "wwww"},
    {"cvt.rmi.sat.f64.f64", "dd"},
    {"vabsdiff4.add.u32.u32.u32", "wwww"},
};

static void finds_each_opcode(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(KNOWN); i++)
        find_lane(KNOWN[i].words, KNOWN[i].operands);
}

static void expands_constants_to_the_width_of_their_operand(void **state)
{
    (void)state;
    char copy[128];
    struct ptx_instruction ins;
    split_words("shl.b64", "ddw", copy, &ins);
    assert_int_equal(lane_width(&ins, 0), 64);
    assert_int_equal(lane_width(&ins, 1), 64);
    assert_int_equal(lane_width(&ins, 2), 32);
    assert_int_equal(lane_width(&ins, 3), 0);
    split_words("setp.lt.and.f32", "pwwp", copy, &ins);
    assert_int_equal(lane_width(&ins, 0), 0);
    assert_int_equal(lane_width(&ins, 2), 32);
    split_words("nothing.b32", "ww", copy, &ins);
    assert_int_equal(lane_width(&ins, 1), 0);
}

static void says_which_word_is_unknown(void **state)
{
    (void)state;
    static const struct {
        const char *words, *operands, *said;
    } CASES[] = {
        {"ld.u32", "ww", "ld is not an arithmetic instruction"},
        {"add.oob.f32", "www", ".oob is not a known modifier of add"},
        {"add.e4m3", "www", "add has no type .e4m3"},
        {"add.rz.s32", "www", "not all of them together"},
        {"add.f32", "wwww", "takes 3 operands, and this one has 4"},
        {"add.f32", "wwd", "operand 2 is 64 bits wide; expected 32"},
        {"setp.lt.f32", "www", "operand 0 is 32 bits wide; expected 0"},
        {"cvt.rna.f16.f32", "hw", "not all of them together"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct error err = {0};
        assert_null(try_lane(CASES[i].words, CASES[i].operands, &err));
        if (!strstr(err.text, CASES[i].said))
            fail_msg("%s: \"%s\" does not say \"%s\"", CASES[i].words, err.text, CASES[i].said);
    }
    assert_true(lane_is_arithmetic("cvt"));
    assert_false(lane_is_arithmetic("bar"));
}

static void every_row_is_found_by_its_own_key(void **state)
{
    (void)state;
    unsigned rows = 0;
    for (size_t f = 0; f < COUNT_OF(FAMILIES); f++)
        for (unsigned r = 0; r < FAMILIES[f]->count; r++, rows++) {
            const struct lane_row *row = &FAMILIES[f]->rows[r];
            lane_fn *fn = find_lane(row->key, row->operands).fn;
            if (fn != row->plain && fn != row->fast)
                fail_msg("%s (%s) stands for two functions", row->key, row->operands);
        }
    assert_true(rows > 5000);
}

static const uint64_t EDGES[] = {
    0,
    ~0ull,
    1,
    0x7f800000ff800000,
    0x8000000080008000,
    0x3f8000003f800000,
    0x7fffffff7fff7fff,
    0x7ff0000000000000,
    0xfff0000000000001,
    0x3ff0000000000000,
    0x4048000040400020,
    0x0000000100000001,
    0x7c00fc007e013c00,
    0x807fffff00800000,
    0x000fffffffffffff,
    0xc1e0000000000000,
    0x43e0000043e00000,
};

/* Signs of NaN and all: the same bits from both. */
static void both_versions_agree(const struct lane_row *row)
{
    uint64_t state = 7;
    for (unsigned round = 0; round < 12; round++) {
        struct lane_values plain = {.carry = (uint32_t)next_random(&state)}, fast;
        for (unsigned s = 0; s < LANE_SOURCES; s++)
            for (unsigned i = 0; i < LANES; i++) {
                uint64_t bits = next_random(&state);
                plain.in[s][i] = round % 2 ? bits : EDGES[bits % COUNT_OF(EDGES)];
            }
        fast = plain;
        run_fn(row->plain, row->operands, &plain);
        run_fn(row->fast, row->operands, &fast);
        assert_int_equal(plain.carry, fast.carry);
        for (unsigned i = 0; i < LANES; i++)
            if (plain.out[i] != fast.out[i])
                fail_msg("%s of %llx, %llx, %llx: %llx and %llx", row->key,
                         (unsigned long long)plain.in[0][i], (unsigned long long)plain.in[1][i],
                         (unsigned long long)plain.in[2][i], (unsigned long long)plain.out[i],
                         (unsigned long long)fast.out[i]);
    }
}

static void all_versions_agree(void **state)
{
    (void)state;
#if defined __x86_64__
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        skip();
#endif
    for (size_t f = 0; f < COUNT_OF(FAMILIES); f++)
        for (unsigned r = 0; r < FAMILIES[f]->count; r++)
            if (FAMILIES[f]->rows[r].plain != FAMILIES[f]->rows[r].fast)
                both_versions_agree(&FAMILIES[f]->rows[r]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_each_opcode),
        cmocka_unit_test(expands_constants_to_the_width_of_their_operand),
        cmocka_unit_test(says_which_word_is_unknown),
        cmocka_unit_test(every_row_is_found_by_its_own_key),
        cmocka_unit_test(all_versions_agree),
    };
    return cmocka_run_group_tests_name("lane_find", tests, NULL, NULL);
}
