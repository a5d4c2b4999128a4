/* test_lift_rounded.c - kernels whose outputs are numbers of 8 bits or integers, held against their
 * own PTX: each is to be what a number within the bound of the value rounds to. */
#include "drawn.h"

#define PTX(name) "tests/unit/lift/ptx/" name ".ptx"
static uint16_t bf16_of(float value)
{
    const uint32_t bits = float_bits(value);
    if (value != value)
        return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint16_t f16_of(float value)
{
    const _Float16 half = (_Float16)value;
    uint16_t bits;
    memcpy(&bits, &half, 2);
    return bits;
}

static void fill_bf16(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    for (uint64_t i = 0; i < bytes / 2; i++)
        ((uint16_t *)array)[i] = bf16_of(drawn(&state));
}

static void fill_f16(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    for (uint64_t i = 0; i < bytes / 2; i++)
        ((uint16_t *)array)[i] = f16_of(drawn(&state));
}

static void fill_e5m2(unsigned param, void *array, uint64_t bytes)
{
    uint32_t state = param + 1;
    for (uint64_t i = 0; i < bytes; i++)
        ((uint8_t *)array)[i] = (uint8_t)(f16_of(drawn(&state)) >> 8);
}

enum { K = 192, KEYS = 128 };

static const struct rounded_case {
    const char *path;
    struct bench_launch launch;
    bench_fill_fn fill;
    unsigned out; /* the parameter that has rounded numbers of 8 bits */
    uint64_t checked;
    bool integers;
} cases[] = {
    {PTX("small"),
     {"small", 2, 128, 16384, {ARRAY(1024, 4), ARRAY(1024, 1), ARRAY(2, 4), ARRAY(1024, 4)}},
     fill_f32,
     1,
     1024 + 2 + 1024,
     false},
    {PTX("quant_groups"), /* the last group's tail is masked */
     {"quant_groups",
      8,
      32,
      0,
      {ARRAY(8 * 120, 2), ARRAY(8 * 120, 1), ARRAY(8, 4), VALUE(120), VALUE(0x2edbe6ff),
       VALUE(0xc3e00000), VALUE(0x43e00000)}},
     fill_bf16,
     1,
     8 * 120 + 8,
     false},
    {PTX("gated"),
     {"gated", 2, 128, 16384, {ARRAY(2048, 2), ARRAY(2048, 2), ARRAY(2048, 1), ARRAY(2, 4)}},
     fill_bf16,
     2,
     2048 + 2,
     false},
    {PTX("groups_i8"), /* rounded towards zero */
     {"quant_groups",
      8,
      32,
      0,
      {ARRAY(8 * 120, 2), ARRAY(8 * 120, 1), ARRAY(8, 4), VALUE(120), VALUE(0x2edbe6ff),
       VALUE(0xc3000000), VALUE(0x42fe0000)}},
     fill_bf16,
     1,
     8 * 120 + 8,
     true},
    {PTX("integers"), /* to the nearest, with a zero point that is rounded, too */
     {"integers", 2, 128, 16384, {ARRAY(2048, 2), ARRAY(2048, 1), ARRAY(2048, 1), ARRAY(2, 4)}},
     fill_bf16,
     1,
     2 * 2048 + 2,
     true},
    {PTX("integers"), /* halves away from zero, then bounded */
     {"integers", 2, 128, 16384, {ARRAY(2048, 2), ARRAY(2048, 1), ARRAY(2048, 1), ARRAY(2, 4)}},
     fill_bf16,
     2,
     2 * 2048 + 2,
     true},
    {PTX("folded"),
     {"folded", 2, 128, 0, {ARRAY(32 * 1024, 2), ARRAY(1024, 1), VALUE(32), VALUE(1024)}},
     fill_bf16,
     1,
     1024,
     false},
    {PTX("turned"),
     {"turned", 2, 128, 16384, {ARRAY(2048, 2), ARRAY(2048, 1)}},
     fill_f16,
     1,
     2048,
     false},
    {PTX("tile_to_e4m3"), /* by stmatrix and prmt */
     {"tile", 2, 128, 16384, {ARRAY(128 * K, 2), ARRAY(K * 32, 2), ARRAY(128 * 32, 1), VALUE(K)}},
     fill_bf16,
     2,
     128 * 32,
     false},
    {PTX("attend_e5m2"), /* shares are rounded as well, and are factors */
     {"attend",
      2,
      128,
      16384,
      {ARRAY(128 * 32, 1), ARRAY(KEYS * 32, 1), ARRAY(KEYS * 32, 1), ARRAY(128 * 32, 1),
       VALUE(KEYS)}},
     fill_e5m2,
     3,
     128 * 32,
     false},
};
enum { CASES = sizeof cases / sizeof *cases };

static struct bench_result check(const struct rounded_case *c, bench_fill_fn damage)
{
    const struct bench_result r = bench_check(&c->launch, c->path, c->fill, damage);
    const struct ref_verdict *v = &r.verdict;
    if (!damage && (v->violations || v->refused || v->wide))
        print_message("%s: %s checked %llu violations %llu wide %llu refused %llu ratio %g: %g, %g "
                      "bound %g\n",
                      c->path, r.refused, (unsigned long long)v->checked,
                      (unsigned long long)v->violations, (unsigned long long)v->wide,
                      (unsigned long long)v->refused, v->max_ratio, v->worst_got, v->worst_ref,
                      v->worst_bound);
    return r;
}

static void check_quiet(const struct rounded_case *c)
{
    const struct bench_result r = check(c, NULL);
    assert_string_equal(r.refused, "");
    assert_int_equal(r.verdict.checked, c->checked);
    assert_int_equal(r.verdict.violations, 0);
    assert_int_equal(r.verdict.refused, 0);
    assert_int_equal(r.verdict.wide, 0);
}

static void right_numbers_are_quiet(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * CASES; i++) {
        bench_apart = i % 2; /* where the shadows of shared memory lie */
        check_quiet(&cases[i / 2]);
        bench_apart = false;
    }
}

static void odd_numbers_are_quiet(void **state)
{
    (void)state;
    odd = true;
    for (size_t i = 0; i < CASES; i++)
        check_quiet(&cases[i]);
    odd = false;
}

/* ---- wrong numbers ---- */

static const struct rounded_case *damaged;
static uint64_t changed; /* elements */

/* A number of middling size, the 300th or one behind it, is two steps larger. */
static uint64_t place;
static void move_one(unsigned param, void *array, uint64_t bytes)
{
    uint8_t *codes = array;
    for (uint64_t i = 300; param == damaged->out && i < bytes && !place; i++) {
        if ((codes[i] & 0x7f) >= 0x10 && (codes[i] & 0x7f) < 0x70) {
            codes[i] += 2;
            place = i;
        }
    }
}

static void move_none(unsigned param, void *array, uint64_t bytes)
{
    (void)param;
    (void)array;
    (void)bytes;
}

/* As if a scale were applied twice: each number is the largest, or another integer. */
static void scale_again(unsigned param, void *array, uint64_t bytes)
{
    uint8_t *codes = array;
    for (uint64_t i = 0; param == damaged->out && i < bytes; i++) {
        if (damaged->integers) {
            codes[i] ^= 0x20;
            changed++;
            continue;
        }
        const uint8_t wrong = codes[i] & 0x7f ? (codes[i] & 0x80) | 0x7b : codes[i];
        changed += (codes[i] & 0x7f) != 0 && (codes[i] & 0x7f) < 0x79;
        codes[i] = wrong;
    }
}

static void wrong_numbers_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        damaged = &cases[i];
        place = changed = 0;
        struct bench_result r = check(&cases[i], move_one);
        assert_int_equal(r.verdict.violations, 1);
        assert_int_equal(r.verdict.first_index, place);
        r = check(&cases[i], scale_again);
        assert_true(changed > cases[i].launch.param[damaged->out].bytes / 2);
        assert_true(r.verdict.violations >= changed);
    }
}

static void sums_in_bf16_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct rounded_case c = cases[i];
        if (strcmp(c.launch.kernel, "folded") != 0)
            continue;
        c.path = PTX("folded_narrow");
        assert_true(check(&c, move_none).verdict.violations > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_numbers_are_quiet),
        cmocka_unit_test(odd_numbers_are_quiet),
        cmocka_unit_test(wrong_numbers_are_found),
        cmocka_unit_test(sums_in_bf16_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
