/* Numbers that a launch reads from memory: how they are written, what is refused, what becomes of
 * them at a launch and when their copies are there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/binding_fixture.h"
#include "copy/snapshot.h"

/* ---- what is refused when a registry is read ---- */

#define SCALE(array, bind)                                                                         \
    "signature: const f32 x[r][c], " array ", f32 y[r][c], i32 r, i32 c\n  reference: scale\n"     \
    "  bind:\n    " bind "\n"

static void nonsense_is_refused(void **state)
{
    (void)state;
    entry_refused(SCALE("const f32 a[1]", "alpha: b[0]"),
                  ":7:12: formal 'alpha': 'b[0]': no array is called 'b'");
    entry_refused(SCALE("f32 a[1]", "alpha: a[0]"), "the kernel does not read that array");
    entry_refused(SCALE("ws f32 a[1]", "alpha: a[0]"), "the kernel does not read that array");
    entry_refused(SCALE("const f32x2 a[1]", "alpha: a[0]"), "vectors and blocks are not read");
    entry_refused(SCALE("const f32 a[1]", "r: a[0] + 1"), "has no formal 'r'");
    entry_refused(SCALE("const f32 a[1]", "rows: a[0] + 1"), "it is no integer");
    entry_refused(SCALE("const f32 a[1]", "alpha: a[0] +"), "formal 'alpha': expression 'a[0] +'");
    entry_refused(SCALE("const f32 a[1]", "alpha: 1 - q"), "unknown name 'q'");
    entry_refused(SCALE("const f32 a[1]", "alpha: 1 - x"), "'x' is an array");
    entry_refused(SCALE("const f32 a[1]", "alpha: 1.2.3"), "at '1.2.3': not a number");
    entry_refused(SCALE("const f32 a[1]", "alpha: a[-1]"), "the index is negative");
    entry_refused(SCALE("const f32 a[1]", "alpha: a[z]"), "unknown name 'z'");
    entry_refused(SCALE("const f32 a[1]", "alpha: a[]"), "expected a number, a name or '('");
    entry_refused(SCALE("const i32 a[1]", "alpha: a[a[0]]"), "only 'bind' may use it");
    entry_refused(SCALE("const i32 a[a[0]]", "alpha: 1"), "write the size that is allocated");
    entry_refused("signature: const i32 a[1], f32 y[n], i32 n\n  let: {m: \"a[0]\"}\n"
                  "  reference: gelu\n  bind: {x: y}\n",
                  "only 'bind' may use it");
    entry_refused("signature: const i32 a[8], inout f32 y[n], i32 n\n  reference: leaky_relu\n"
                  "  bind: {x: y, alpha: \"a[0]+a[1]+a[2]+a[3]+a[4]+a[5]+a[6]\"}\n",
                  "more than 6 elements");
    entry_refused("signature: const i32 a[1], const f32 t[@ids][c], const i32 ids[n], f32 y[n][c],"
                  " i32 n, i32 c\n  reference: embedding\n"
                  "  bind: {table: t, entries: \"a[0]\"}\n",
                  "'bind' reads from memory how many rows there are");
    entry_refused("signature: const i32 a[1], const f32 x[r][c], f32 y[r][c], i32 r, i32 c\n"
                  "  reference: gelu\n  bind: {rows: \"a[0]\"}\n  deterministic: yes\n",
                  "'a[0]' lowers a dim");
    entry_refused(SCALE("const f32 a[2]", "alpha: a[0]") "  deterministic: yes\n",
                  "the kernel reads 'a', which no formal is bound to");
    entry_refused(SCALE("const f32 a[2], f32 keep", "alpha: 1 - kep"),
                  "formal 'alpha': expression '1 - kep': unknown name 'kep'; expected a scalar "
                  "parameter, a 'let' or an element such as x[0]; did you mean 'keep'?");
    entry_refused(SCALE("const f32 a[2]", "alpha: 1 - a"),
                  "'a' is an array; an element of it is 'a[0]'");
}

static void a_whole_scalar_is_seen_by_a_deterministic_kernel(void **state)
{
    (void)state;
    struct complaints complaints = {0};
    registry_destroy(registry_of("version: 1\nkernels:\n- kernel: k\n  " SCALE(
                                     "const f32 a[1]", "alpha: a[0]") "  deterministic: yes\n",
                                 &complaints));
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
}

/* ---- launches ---- */

static uint64_t P = 0x10000, Q = 0x20000, A = 0x30000, null = 0;
static int32_t rows = 8, cols = 4, at = 3;

static enum skip read(const uint64_t *raw)
{
    return binding_read(bound.spec, raw, &b, &why);
}

static uint64_t bits(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

static const char *const scale_by_memory =
    "signature: const f32 x[r][c], const f32 a?[n], f32 y[r][c], i32 r, i32 c, i32 at\n"
    "  let: {n: at + 1}\n  reference: scale\n  bind: {alpha: \"a[ at - 1 ]\"}\n";

static void an_element_is_an_array_of_its_own(void **state)
{
    (void)state;
    expect_bound(bind_and_plan(scale_by_memory, SIZES(8, 8, 8, 4, 4, 4),
                               PARAMS(&P, &A, &Q, &rows, &cols, &at), 0));
    assert_int_equal(b.arrays, 3);
    assert_int_equal(b.values, 1);
    const struct bound_array *a = &b.array[b.value_array[0]];
    assert_string_equal(a->name, "a[at-1]");
    assert_int_equal(a->address, A + 2 * 4);
    assert_int_equal(a->bytes, 4);
    assert_int_equal(a->role, ROLE_READ);
    assert_int_not_equal(plan.placement[b.value_array[0]].after, NOT_COPIED);
    expect_bound(read((uint64_t[]){bits(-1.5f)}));
    assert_true(b.call.scalar[0] == -1.5);
    assert_int_equal(b.narrows, 0);
}

static void an_absent_one_leaves_the_default(void **state)
{
    (void)state;
    expect_bound(bind_and_plan(scale_by_memory, SIZES(8, 8, 8, 4, 4, 4),
                               PARAMS(&P, &null, &Q, &rows, &cols, &at), 0));
    assert_int_equal(b.arrays, 2);
    expect_refusal(read((uint64_t[]){0}), SKIP_NULL_POINTER, "'a' is absent, and the reference");
    expect_bound(
        bind_and_plan("signature: const f32 x[r][c], const f32 a?[1], const i32 n?[1], f32 y[r][c],"
                      " i32 r, i32 c\n  reference: softmax\n"
                      "  bind: {scale: \"a[0]\", rows: \"n[0]\"}\n",
                      SIZES(8, 8, 8, 8, 4, 4), PARAMS(&P, &null, &null, &Q, &rows, &cols), 0));
    expect_bound(read((uint64_t[]){0, 0}));
    assert_true(b.call.scalar[0] == 1);
    assert_int_equal(b.call.size[0], 8);
}

static void what_the_kernel_overwrites_is_copied_before(void **state)
{
    (void)state;
    expect_bound(
        bind_and_plan("signature: const f32 x[r][c], inout i64 step[1], f32 y[r][c], i32 r, i32 c\n"
                      "  reference: scale\n  bind: {alpha: \"2 * step[0] + r\"}\n",
                      SIZES(8, 8, 8, 4, 4), PARAMS(&P, &A, &Q, &rows, &cols), 0));
    assert_true(bound.spec->needs_before && plan.has_before);
    assert_int_not_equal(plan.placement[b.value_array[0]].before, NOT_COPIED);
    expect_bound(read((uint64_t[]){(uint64_t)-7}));
    assert_true(b.call.scalar[0] == -6);
}

/* Arithmetic with an element of any type, a real parameter and an integer one. */
static void a_real_expression_may_read_memory(void **state)
{
    (void)state;
    float s = 0.25f;
    expect_bound(bind_and_plan(
        "signature: const f32 x[r][c], const f32 a[2], const i32 k?[1], f32 y[r][c], i32 r, i32 c,"
        " f32 s\n  reference: scale\n  bind: {alpha: \"(1 - s) * a[1] / r + k[0]\"}\n",
        SIZES(8, 8, 8, 8, 4, 4, 4), PARAMS(&P, &A, &A, &Q, &rows, &cols, &s), 0));
    assert_int_equal(b.values, 2);
    expect_bound(read((uint64_t[]){bits(4), 3}));
    assert_true(b.call.scalar[0] == 0.75 * 4 / 8 + 3);
    expect_refusal(read((uint64_t[]){bits(INFINITY), 3}), SKIP_SHAPE,
                   "(1 - s) * a[1] / r + k[0]: no finite number (s = 0.25, a[1] = inf, r = 8, "
                   "k[0] = 3)");
    expect_bound(
        bind_and_plan("signature: const f32 x[r][c], const f32 a[1], f32 y[r][c], i32 r, i32 c\n"
                      "  reference: scale\n  bind: {alpha: \"1 / a[0]\"}\n",
                      SIZES(8, 8, 8, 4, 4), PARAMS(&P, &A, &Q, &rows, &cols), 0));
    expect_refusal(read((uint64_t[]){bits(0)}), SKIP_SHAPE,
                   "1 / a[0]: division by zero (a[0] = 0)");
}

static void misaligned_and_far_elements_are_refused(void **state)
{
    (void)state;
    uint64_t odd = A + 2;
    expect_refusal(bind_and_plan(scale_by_memory, SIZES(8, 8, 8, 4, 4, 4),
                                 PARAMS(&P, &odd, &Q, &rows, &cols, &at), 0),
                   SKIP_SHAPE, "'a[at-1]' lies at 0x3000a, which is not aligned to f32");
    int32_t zero = 0;
    expect_refusal(bind_and_plan(scale_by_memory, SIZES(8, 8, 8, 4, 4, 4),
                                 PARAMS(&P, &A, &Q, &rows, &cols, &zero), 0),
                   SKIP_SHAPE, "'a[at-1]': the index is -1");
}

static const char *const some_rows =
    "signature: const bf16 x[r][c], const i32 n[2], bf16 y[r][c], i32 r, i32 c\n"
    "  reference: softmax\n  bind: {rows: \"n[1] - n[0]\"}\n";

static void memory_says_how_many_items_are_valid(void **state)
{
    (void)state;
    expect_bound(
        bind_and_plan(some_rows, SIZES(8, 8, 8, 4, 4), PARAMS(&P, &A, &Q, &rows, &cols), 0));
    double lambda = b.call.lambda;
    assert_int_equal(b.call.size[0], 8);
    expect_bound(read((uint64_t[]){7, 2}));
    assert_int_equal(b.call.size[0], 5);
    assert_int_equal(b.call.tensor[0].dim[0], 5);
    assert_int_equal(b.call.tensor[1].dim[0], 5);
    assert_int_equal(b.call.tensor[1].dim[1], 4);
    assert_int_equal(b.array[0].dim[0] * b.array[0].dim[b.array[0].ndim - 1] >= 32, 1);
    assert_int_equal(b.narrows, 1);
    assert_string_equal(b.narrow[0].dim, "rows");
    assert_int_equal(b.narrow[0].valid, 5);
    assert_int_equal(b.narrow[0].all, 8);
    assert_true(b.call.lambda == lambda); /* a fixed one */
}

#define PRODUCT(type, more)                                                                        \
    "signature: const " type " a[r][c], const " type " b[c][r], const i32 n[1], f32 y[r][r], "     \
    "i32 r, i32 c\n  reference: matmul\n  bind: {c: y, k: \"n[0]\"}\n" more

/* What tensor cores may cut off goes by the terms that are summed. */
static void memory_sets_what_a_product_may_lose(void **state)
{
    const struct {
        const char *entry;
        double whole, part;
    } kinds[] = {{PRODUCT("bf16", ""), 4 * 0x1p-25, 3 * 0x1p-25},
                 {PRODUCT("f16", ""), 4 * 0x1p-25, 3 * 0x1p-25},
                 {PRODUCT("f32", ""), 0, 0},
                 {PRODUCT("bf16", "  tolerance: {lambda: 5}\n"), 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t to = 0x40000;
        expect_bound(bind_and_plan(kinds[i].entry, SIZES(8, 8, 8, 8, 4, 4),
                                   PARAMS(&P, &Q, &A, &to, &rows, &cols), 0));
        assert_true(b.call.tensor[3].rtol == kinds[i].whole);
        expect_bound(read((uint64_t[]){3}));
        assert_true(b.call.tensor[3].rtol == kinds[i].part);
    }
}

static void values_that_cannot_be_are_refused(void **state)
{
    (void)state;
    expect_bound(
        bind_and_plan(some_rows, SIZES(8, 8, 8, 4, 4), PARAMS(&P, &A, &Q, &rows, &cols), 0));
    expect_refusal(read((uint64_t[]){9, 0}), SKIP_SHAPE,
                   "rows is 9 by 'n[1] - n[0]' in memory; expected 0 to 8");
    expect_refusal(read((uint64_t[]){1, 2}), SKIP_SHAPE, "rows is -1 by");
    expect_refusal(read((uint64_t[]){3, 3}), SKIP_EMPTY, "there is nothing to check");
    expect_refusal(read((uint64_t[]){0x7fffffff, 0x80000000}), SKIP_SHAPE, "rows is 4294967295");
    expect_bound(read((uint64_t[]){8, 0}));
    assert_int_equal(b.narrows, 0);
    expect_bound(
        bind_and_plan("signature: const f32 x[r][c], const i64 n[1], f32 y[r][c], i32 r, i32 c\n"
                      "  reference: softmax_causal\n  bind: {diagonal: \"n[0]\"}\n",
                      SIZES(8, 8, 8, 4, 4), PARAMS(&P, &A, &Q, &rows, &cols), 0));
    expect_bound(read((uint64_t[]){(uint64_t)-3}));
    expect_refusal(read((uint64_t[]){(uint64_t)1 << 62}), SKIP_SHAPE, "out of all bounds");
}

/* Chosen items ascend: those that are valid come first. */
static void of_a_subset_the_first_items_are_valid(void **state)
{
    (void)state;
    int32_t many = 4096;
    expect_bound(
        bind_and_plan(some_rows, SIZES(8, 8, 8, 4, 4), PARAMS(&P, &A, &Q, &many, &cols), 4096));
    assert_non_null(b.subset.dim);
    int64_t copied = b.subset.count, valid = subset_item(&b.subset, copied / 2) + 1;
    assert_int_equal(b.subset.judged, copied);
    assert_true(copied < many / 2);
    expect_bound(read((uint64_t[]){(uint64_t)valid, 0}));
    assert_int_equal(b.subset.judged, copied / 2 + 1);
    assert_int_equal(b.subset.count, copied);
    assert_int_equal(b.call.tensor[0].dim[0], copied / 2 + 1);
    assert_int_equal(b.narrow[0].valid, valid);
    assert_int_equal(b.narrow[0].all, many);
}

/* Heads and their kv heads go together, and only of all is known how. */
static void of_groups_all_must_be_valid(void **state)
{
    (void)state;
    const char *entry = "signature: const f32 q[1][64][24][16], const f32 k[1][64][8][16], const "
                        "f32 v[1][64][8][16],"
                        " const i32 n[2], f32 y[1][64][24][16]\n  reference: attention\n"
                        "  bind: {scale: 1, heads: \"n[0]\", kv_heads: \"n[1]\"}\n";
    expect_bound(bind_and_plan(entry, SIZES(8, 8, 8, 8, 8), PARAMS(&P, &A, &Q, &P, &A), 65536));
    assert_string_equal(b.subset.with, "heads");
    assert_int_equal(b.subset.share, 3);
    expect_bound(read((uint64_t[]){24, 8}));
    assert_int_equal(b.narrows, 0);
    assert_int_equal(b.call.tensor[1].dim[2], 3);
    expect_refusal(read((uint64_t[]){23, 8}), SKIP_SHAPE, "heads is 23 of 24 by 'n[0]' in memory");
    expect_refusal(read((uint64_t[]){24, 7}), SKIP_SHAPE, "the check copies some kv_heads with");
    expect_refusal(read((uint64_t[]){25, 8}), SKIP_SHAPE, "expected 0 to 24");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(a_whole_scalar_is_seen_by_a_deterministic_kernel),
        cmocka_unit_test(an_element_is_an_array_of_its_own),
        cmocka_unit_test(an_absent_one_leaves_the_default),
        cmocka_unit_test(what_the_kernel_overwrites_is_copied_before),
        cmocka_unit_test(a_real_expression_may_read_memory),
        cmocka_unit_test(misaligned_and_far_elements_are_refused),
        cmocka_unit_test(memory_says_how_many_items_are_valid),
        cmocka_unit_test(memory_sets_what_a_product_may_lose),
        cmocka_unit_test(values_that_cannot_be_are_refused),
        cmocka_unit_test(of_a_subset_the_first_items_are_valid),
        cmocka_unit_test(of_groups_all_must_be_valid),
    };
    return cmocka_run_group_tests(tests, NULL, bound_release);
}
