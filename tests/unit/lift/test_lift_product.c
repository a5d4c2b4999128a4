/* test_lift_product.c - products on tensor cores held against their own PTX: mma and wgmma, with
 * operands in registers and in shared memory; sums in f16 and bf16 are found. */
#include "lift_bench.h"

#define PTX(name)    "tests/unit/lift/ptx/" name ".ptx"
#define TRITON(name) "tests/lift/triton/" name ".ptx"

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* From -1 to 1, or from 0 to 2. */
static float middle;
static float number(uint32_t *state)
{
    return middle + (float)next_random(state) / 8388608.0f - 1.0f;
}

static uint16_t to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void fill_bf16(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    for (uint64_t i = 0; i < bytes / 2; i++)
        ((uint16_t *)array)[i] = to_bf16(number(&state));
}

static void fill_f16(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    for (uint64_t i = 0; i < bytes / 2; i++) {
        _Float16 value = (_Float16)number(&state);
        memcpy((uint16_t *)array + i, &value, 2);
    }
}

static uint16_t f16_bits(float value)
{
    _Float16 half = (_Float16)value;
    uint16_t bits;
    memcpy(&bits, &half, 2);
    return bits;
}

/* The upper half of an f16. */
static void fill_e5m2(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    for (uint64_t i = 0; i < bytes; i++)
        ((uint8_t *)array)[i] = (uint8_t)(f16_bits(number(&state)) >> 8);
}

/* The sign and seven bits of an f16 that is 256 times smaller. */
static void fill_e4m3(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    for (uint64_t i = 0; i < bytes; i++) {
        uint16_t bits = f16_bits(number(&state) / 256);
        ((uint8_t *)array)[i] = (uint8_t)((bits >> 8 & 0x80) | (bits >> 7 & 0x7f));
    }
}

static void fill_f32(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((float *)array)[i] = number(&state);
}

static void fill_scaled(unsigned param, void *array, uint64_t bytes)
{
    (param == 2 ? fill_f32 : fill_bf16)(param, array, bytes);
}

static void fill_rounded(unsigned param, void *array, uint64_t bytes)
{
    (param == 0 ? fill_f32 : fill_e4m3)(param, array, bytes);
}

/* Integers from -127 to 127, which param 3 scales. */
static void fill_i8(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    if (param == 3)
        fill_f32(param, array, bytes);
    for (uint64_t i = 0; param != 3 && i < bytes; i++)
        ((int8_t *)array)[i] = (int8_t)(127 * number(&state));
}

#define ARRAY(n, size)                                                                             \
    {                                                                                              \
        (uint64_t)(n) * (size), 0                                                                  \
    }
#define VALUE(bits)                                                                                \
    {                                                                                              \
        0, bits                                                                                    \
    }

enum { K = 192, KEYS = 256 };

/* Two blocks of `integer`, of half the rows each; as many threads as there are rows. */
#define INTEGERS(rows)                                                                             \
    {                                                                                              \
        "integer", 2, rows, 16384,                                                                 \
        {                                                                                          \
            ARRAY((rows)*K, 1), ARRAY(32 * K, 1), ARRAY((rows)*32, 2), ARRAY(K / 32, 4), VALUE(K)  \
        }                                                                                          \
    }

static const struct product_case {
    const char *path;
    struct bench_launch launch;
    bench_fill_fn fill;
    uint64_t checked;
    float middle;
    bool wrong;
} cases[] = {
    {PTX("tile_wgmma"),
     {"tile", 2, 128, 16384, {ARRAY(128 * K, 2), ARRAY(K * 32, 2), ARRAY(128 * 32, 2), VALUE(K)}},
     fill_f16,
     128 * 32,
     0,
     false},
    {PTX("tile_mma"),
     {"tile", 2, 64, 16384, {ARRAY(64 * K, 2), ARRAY(K * 32, 2), ARRAY(64 * 32, 2), VALUE(K)}},
     fill_bf16,
     64 * 32,
     0,
     false},
    {PTX("tile_i8"), INTEGERS(128), fill_i8, 128 * 32, 0, false},
    {PTX("tile_i8_mma"), INTEGERS(32), fill_i8, 32 * 32, 0, false},
    {PTX("tile_i8_narrow"), INTEGERS(128), fill_i8, 128 * 32, 0, true},
    {PTX("tile_tf32"),
     {"tile", 2, 32, 16384, {ARRAY(32 * K, 4), ARRAY(K * 16, 4), ARRAY(32 * 16, 4), VALUE(K)}},
     fill_f32,
     32 * 16,
     0,
     false},
    {PTX("tile_scaled"), /* the factors are rounded and lie in shared memory */
     {"scaled",
      2,
      128,
      16384,
      {ARRAY(128 * 64, 2), ARRAY(64 * 32, 2), ARRAY(64, 4), ARRAY(128 * 32, 2)}},
     fill_scaled,
     128 * 32,
     1,
     false},
    {PTX("tile_carried"), /* sums of a step become factors of the next, through shared memory */
     {"carried",
      1,
      128,
      49152,
      {ARRAY(64 * 64, 2), ARRAY(6 * 64 * 32, 2), ARRAY(64 * 64, 2), ARRAY(6 * 64 * 32, 2),
       VALUE(6)}},
     fill_bf16,
     6 * 64 * 32,
     1,
     false},
    {PTX("tile_edged"), /* the zeros of masked loads come from a register that has a sum later */
     {"edged", 1, 32, 16384, {ARRAY(64 * 32, 2), ARRAY(64 * 32, 2), ARRAY(64 * 64, 4), VALUE(48)}},
     fill_bf16,
     48 * 64,
     0,
     false},
    {PTX("tile_e5m2"),
     {"eights", 2, 128, 16384, {ARRAY(128 * K, 1), ARRAY(16 * K, 1), ARRAY(128 * 16, 4), VALUE(K)}},
     fill_e5m2,
     128 * 16,
     0,
     false},
    {PTX("tile_e5m2_narrow"),
     {"eights", 2, 128, 16384, {ARRAY(128 * K, 1), ARRAY(16 * K, 1), ARRAY(128 * 16, 4), VALUE(K)}},
     fill_e5m2,
     128 * 16,
     0.25f,
     true},
    {PTX("tile_e4m3"), /* a is rounded, and comes from registers */
     {"eights", 2, 128, 16384, {ARRAY(128 * K, 4), ARRAY(16 * K, 1), ARRAY(128 * 16, 4), VALUE(K)}},
     fill_rounded,
     128 * 16,
     1,
     false},
    {PTX("tile_e4m3_mma"),
     {"eights", 2, 32, 16384, {ARRAY(32 * K, 1), ARRAY(16 * K, 1), ARRAY(32 * 16, 4), VALUE(K)}},
     fill_e4m3,
     32 * 16,
     0,
     false},
    {PTX("attend"),
     {"attend",
      2,
      128,
      16384,
      {ARRAY(128 * 32, 2), ARRAY(KEYS * 32, 2), ARRAY(KEYS * 32, 2), ARRAY(128 * 32, 2),
       VALUE(KEYS)}},
     fill_bf16,
     128 * 32,
     0.25f,
     false},
    {PTX("attend_narrow"),
     {"attend",
      2,
      128,
      16384,
      {ARRAY(128 * 32, 2), ARRAY(KEYS * 32, 2), ARRAY(KEYS * 32, 2), ARRAY(128 * 32, 2),
       VALUE(KEYS)}},
     fill_bf16,
     128 * 32,
     0.25f,
     true},
    {TRITON("product_f16"),
     {"product",
      1,
      128,
      65536,
      {ARRAY(64 * K, 2), ARRAY(K * 32, 2), ARRAY(64 * 32, 4), VALUE(K), VALUE(K), VALUE(32),
       VALUE(32)}},
     fill_f16,
     64 * 32,
     0,
     false},
    {TRITON("product_f16_half"),
     {"product",
      1,
      128,
      65536,
      {ARRAY(64 * K, 2), ARRAY(K * 32, 2), ARRAY(64 * 32, 4), VALUE(K), VALUE(K), VALUE(32),
       VALUE(32)}},
     fill_f16,
     64 * 32,
     1,
     true},
    {TRITON("product_tf32"),
     {"product",
      1,
      128,
      65536,
      {ARRAY(64 * K, 4), ARRAY(K * 32, 4), ARRAY(64 * 32, 4), VALUE(K), VALUE(K), VALUE(32),
       VALUE(32)}},
     fill_f32,
     64 * 32,
     1,
     false},
};

static void describe(const struct product_case *c, const struct bench_result *r)
{
    const struct ref_verdict *v = &r->verdict;
    print_message("%s: %s checked %llu violations %llu wide %llu refused %llu ratio %g rel %g: %g, "
                  "%g bound %g\n",
                  c->path, r->refused, (unsigned long long)v->checked,
                  (unsigned long long)v->violations, (unsigned long long)v->wide,
                  (unsigned long long)v->refused, v->max_ratio, v->max_rel, v->worst_got,
                  v->worst_ref, v->worst_bound);
}

static struct bench_result check(const struct product_case *c, bench_fill_fn damage)
{
    middle = c->middle;
    struct bench_result r = bench_check(&c->launch, c->path, c->fill, damage);
    if (!damage && ((r.verdict.violations > 0) != c->wrong || r.verdict.refused || r.verdict.wide))
        describe(c, &r);
    return r;
}

static void check_all(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct product_case *c = &cases[i];
        struct bench_result r = check(c, NULL);
        assert_string_equal(r.refused, "");
        assert_int_equal(r.verdict.checked, c->checked);
        assert_int_equal(r.verdict.refused, 0);
        assert_int_equal(r.verdict.wide, 0);
        assert_int_equal(r.verdict.violations > 0, c->wrong);
    }
}

static void products_are_held_against_themselves(void **state)
{
    (void)state;
    check_all();
}

/* Where shared memory has no room for the shadows, they lie in device memory. */
static void shadows_lie_apart(void **state)
{
    (void)state;
    bench_apart = true;
    check_all();
    bench_apart = false;
}

/* An element of the output that is off by three hundredths. */
static void damage_an_output(unsigned param, void *array, uint64_t bytes)
{
    (void)bytes;
    if (param == 2)
        ((uint16_t *)array)[777] ^= 32;
}

static void a_wrong_product_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) { /* of f16, bf16 and integers */
        struct bench_result r = check(&cases[i], damage_an_output);
        assert_int_equal(r.verdict.violations, 1);
        assert_int_equal(r.verdict.first_index, 777);
    }
}

/* Hopper keeps 14 bits of a sum of numbers of 8 bits. */
static uint32_t kept;
static void cut_the_output(unsigned param, void *array, uint64_t bytes)
{
    for (uint64_t i = 0; param == 2 && i < bytes / 4; i++)
        ((uint32_t *)array)[i] &= kept;
}

static void a_sum_of_8_bits_may_lose_digits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].fill != fill_e5m2 || cases[i].wrong)
            continue;
        kept = ~0x3ffu;
        assert_int_equal(check(&cases[i], cut_the_output).verdict.violations, 0);
        kept = ~0x7fffu;
        assert_true(check(&cases[i], cut_the_output).verdict.violations > 500);
    }
}

/* Integers that are summed up from 0x4B400000 on have the bits of f32 numbers, 1.5 2^23 larger. The
 * factors lie in the same shared memory as f32 numbers with shadows. */
static const char sums_as_f32[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 a, .param .u64 y, .param .u64 s, .param .u64 p, .param .u64 q)\n"
    "{\n"
    ".reg .b32 %r<22>; .reg .f32 %f<8>; .reg .b64 %d<10>; .shared .align 16 .b8 tile[512];\n"
    "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [y]; ld.param.u64 %d9, [s];\n"
    "mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3;\n"
    "mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.s32 %r4, %r2, %r3;\n"
    "ld.global.u32 %r6, [%d4]; st.shared.u32 [%r4], %r6;\n"
    "ld.global.u32 %r6, [%d4+128]; st.shared.u32 [%r4+128], %r6; bar.sync 0;\n"
    "ld.shared.u32 %r5, [%r4]; ld.shared.u32 %r7, [%r4+128]; mov.u32 %r9, 1262485504;\n"
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r10, %r11, %r12, %r13}, "
    "{%r5, %r7, %r7, %r5}, {%r7, %r5}, {%r9, %r9, %r9, %r9};\n"
    "mov.b32 %f2, %r10; ld.global.f32 %f4, [%d9]; mul.rn.f32 %f5, %f4, 0fCB400000;\n"
    "fma.rn.f32 %f3, %f2, %f4, %f5; bar.sync 0; st.shared.f32 [%r4+256], %f3; bar.sync 0;\n"
    "ld.shared.f32 %f6, [tile+256]; add.f32 %f3, %f3, %f6;\n"
    "add.s64 %d5, %d2, %d3; st.global.f32 [%d5], %f3;\nret;\n}\n";

static void fill_small(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    for (uint64_t i = 0; param == 0 && i < bytes; i++)
        ((int8_t *)array)[i] = (int8_t)(127 * number(&state));
    if (param == 2)
        *(float *)array = 0.0625f;
}

static void move_one(unsigned param, void *array, uint64_t bytes)
{
    (void)bytes;
    if (param == 1)
        ((float *)array)[5] += 8;
}

static void integer_sums_may_be_f32(void **state)
{
    const struct bench_launch launch = {"k", 1, 32, 0, {ARRAY(64, 4), ARRAY(32, 4), ARRAY(1, 4)}};
    (void)state;
    middle = 0;
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        const struct bench_result r = bench_check_text(&launch, sums_as_f32, strlen(sums_as_f32),
                                                       fill_small, wrong ? move_one : NULL);
        assert_string_equal(r.refused, "");
        assert_int_equal(r.verdict.checked, 32);
        assert_int_equal(r.verdict.refused + r.verdict.wide, 0);
        assert_int_equal(r.verdict.violations, wrong);
    }
}

/* ---- what is refused ---- */

#define HEAD                                                                                       \
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n"        \
    ".reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %d<9>; .reg .pred %p<4>;\n"                      \
    "ld.param.u64 %d1, [a]; ld.global.f32 %f1, [%d1];\n"
#define TAIL "st.global.f32 [%d1], %f2;\nret;\n}\n"
#define D4   "{%f2, %f3, %f4, %f5}"
#define C4   "{%f1, %f1, %f1, %f1}"

static const struct {
    const char *text;
    enum lift_refusal refusal;
} shapes[] = {
    {HEAD "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " D4 ", {%r1, %r2}, {%r3}, " C4
          ";\n" TAIL,
     LIFT_OK},
    {HEAD "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 " D4
          ", {%r1, %r2, %r3, %r4}, {%r5, %r6}, " C4 ";\n" TAIL,
     LIFT_OK},
    {HEAD "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32 " D4 ", {%r1, %r2}, {%r5}, " C4
          ";\n" TAIL,
     LIFT_OK},
    {HEAD "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 " D4 ", {%r1, %r2}, {%r5}, " C4
          ";\n" TAIL,
     LIFT_MATRIX},
    {HEAD "mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32 " D4
          ", {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8}, " C4 ", %r9, 0;\n" TAIL,
     LIFT_MATRIX},
    {HEAD "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1, %r2, %r3, %r4}"
          ", {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r1, %r2, %r3, %r4};\n"
          "cvt.rn.f32.s32 %f2, %r1;\n" TAIL,
     LIFT_OK},
    {HEAD
     "mov.b32 %r1, %f1; mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
     "{%r2, %r3, %r4, %r5}, {%r6, %r7, %r8, %r9}, {%r6, %r7}, {%r1, %r1, %r1, %r1};\n"
     "add.f32 %f3, %f1, %f1; mov.b32 %r2, %f3; mov.b32 %f4, %r2; add.f32 %f2, %f4, %f1;\n" TAIL,
     LIFT_MIXED},
    {HEAD "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.s8 {%r1, %r2, %r3, %r4}"
          ", %d2, %d3, %p1;\ncvt.rn.f32.s32 %f2, %r1;\n" TAIL,
     LIFT_OK},
    {HEAD "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {%r1, %r2, %r3, %r4}"
          ", {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8}, {%r1, %r2, %r3, %r4}, %r9, 0;\n" TAIL,
     LIFT_MATRIX},
    {HEAD "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " D4 ", {%r1, %r2}, {%r3, %r4}, " C4
          ", %r5, 0;\n" TAIL,
     LIFT_MATRIX},
    {HEAD "@%p1 mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " D4 ", {%r1, %r2}, {%r3}, " C4
          ";\n" TAIL,
     LIFT_MATRIX},
    {HEAD "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " D4 ", {%r1, %r2}, {%r3}, " C4
          ";\n" TAIL,
     LIFT_MATRIX},
    {HEAD "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " D4
          ", %d2, %d3, %p1, 1, 1, 0, 0;\n" TAIL,
     LIFT_OK},
    {HEAD "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " D4 ", %d2, %d3, %p1, 1, 1;\n" TAIL,
     LIFT_MATRIX},
    {HEAD "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 " D4 ", %d2, %d3, %p1, 1, 1;\n" TAIL,
     LIFT_OK},
    {HEAD "wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e5m2 {%r1, %r2}"
          ", {%r3, %r4, %r5, %r6}, %d3, %p1, 1, -1;\n" TAIL,
     LIFT_OK},
    {HEAD "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 " D4
          ", %d2, %d3, %p1, 1, 1, 0, 0;\n" TAIL,
     LIFT_MATRIX},
};

static void shapes_without_a_rule_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct error err = {{0}};
        struct lift *lift;
        enum lift_refusal refusal =
            lift_make(&lift, shapes[i].text, strlen(shapes[i].text), "k", 0, &err);
        if (refusal != shapes[i].refusal)
            fail_msg("row %zu: %s", i, err.text);
        lift_free(lift);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_held_against_themselves),
        cmocka_unit_test(shadows_lie_apart),
        cmocka_unit_test(a_wrong_product_is_found),
        cmocka_unit_test(a_sum_of_8_bits_may_lose_digits),
        cmocka_unit_test(integer_sums_may_be_f32),
        cmocka_unit_test(shapes_without_a_rule_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
