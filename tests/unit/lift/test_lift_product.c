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

#define ARRAY(n, size)                                                                             \
    {                                                                                              \
        (uint64_t)(n) * (size), 0                                                                  \
    }
#define VALUE(bits)                                                                                \
    {                                                                                              \
        0, bits                                                                                    \
    }

enum { K = 192, KEYS = 256 };

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
    for (size_t i = 0; i < 2; i++) {
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

/* ---- what is refused ---- */

#define HEAD                                                                                       \
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n"        \
    ".reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %d<9>; .reg .pred %p<4>;\n"                      \
    "ld.param.u64 %d1, [a]; ld.global.f32 %f1, [%d1];\n"
#define TAIL "st.global.f32 [%d1], %f2;\nret;\n}\n"
#define D4   "{%f2, %f3, %f4, %f5}"
#define C4   "{%f1, %f1, %f1, %f1}"

static void shapes_without_a_rule_are_refused(void **state)
{
    static const struct {
        const char *text;
        enum lift_refusal refusal;
    } rows[] = {
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
              ", {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r1, %r2, %r3, %r4};\n" TAIL,
         LIFT_MATRIX},
        {HEAD "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " D4
              ", {%r1, %r2}, {%r3, %r4}, " C4 ", %r5, 0;\n" TAIL,
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
        {HEAD "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " D4
              ", %d2, %d3, %p1, 1, 1;\n" TAIL,
         LIFT_MATRIX},
        {HEAD "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 " D4
              ", %d2, %d3, %p1, 1, 1;\n" TAIL,
         LIFT_OK},
        {HEAD "wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e5m2 {%r1, %r2}"
              ", {%r3, %r4, %r5, %r6}, %d3, %p1, 1, -1;\n" TAIL,
         LIFT_OK},
        {HEAD "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 " D4
              ", %d2, %d3, %p1, 1, 1, 0, 0;\n" TAIL,
         LIFT_MATRIX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err = {{0}};
        struct lift *lift;
        enum lift_refusal refusal =
            lift_make(&lift, rows[i].text, strlen(rows[i].text), "k", 0, &err);
        if (refusal != rows[i].refusal)
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
        cmocka_unit_test(shapes_without_a_rule_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
