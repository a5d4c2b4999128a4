/*
 * test_fuzz_choices.c - keys that narrow what a case has: `null` and `without`; arrays of which
 * a check judges a part; types that the kernel's code shows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/registry_fixture.h"
#include "tests/unit/common/says.h"
#include "tools/fuzz/case/case.h"

enum { CASES = 400 };

struct made {
    struct registry *registry;
    struct arena arena;
    struct param_layout layout;
    const struct fuzz_rule *rule;
};

static struct fuzz_case drawn;

static void make(struct made *made, const char *entry, const unsigned *sizes)
{
    char text[2048];
    struct complaints complaints;
    struct registry_bench bench;
    struct error err = {{0}};
    enum skip skip;
    snprintf(text, sizeof text, "version: 1\nkernels:\n- kernel: k\n  %s\n", entry);
    *made = (struct made){.registry = registry_of(text, &complaints), .layout = layout_of(sizes)};
    const struct kernel_spec *spec =
        registry_resolve(made->registry, "k", &made->layout, &skip, &err);
    if (!spec || registry_bench(made->registry, spec, &made->layout, &bench, &err) ||
        fuzz_rule_make(&made->rule, &made->arena, &bench, NULL, &err))
        fail_msg("%s %s", err.text, complaints.count ? complaints.text[0] : "");
}

static void unmake(struct made *made)
{
    arena_release(&made->arena);
    registry_destroy(made->registry);
}

static void draw(const struct made *made, uint64_t number)
{
    struct error err = {{0}};
    if (fuzz_case_draw(&drawn, made->rule, &made->layout, fuzz_case_seed(1, number), &err))
        fail_msg("%s", err.text);
}

#define ADD                                                                                        \
    "signature: const f32 x[n], const f32 residual?[n], f32 y[n], i32 n\n  reference: "            \
    "residual_add\n  fuzz: {block: 64, grid: 1, "

/* How many of CASES have the array, and with which distributions. */
static int there(const char *keys, unsigned array, uint32_t *dists)
{
    char entry[512];
    struct made made;
    int count = 0;
    snprintf(entry, sizeof entry, ADD "%s}", keys);
    make(&made, entry, SIZES(8, 8, 8, 4));
    *dists = 0;
    for (uint64_t i = 0; i < CASES; i++) {
        draw(&made, i);
        count += drawn.array[array].there;
        *dists |= 1u << drawn.choices.recipe[array].dist;
    }
    unmake(&made);
    return count;
}

static void an_array_is_null_always_or_never(void **state)
{
    uint32_t dists;
    (void)state;
    assert_int_equal(there("residual: {null: always}", 1, &dists), 0);
    assert_int_equal(there("residual: {null: never}", 1, &dists), CASES);
    assert_in_range(there("elements: 65536", 1, &dists), CASES / 2, CASES - CASES / 8);
}

static void distributions_are_left_out(void **state)
{
    const uint32_t left_out = 1u << FUZZ_subnormal | 1u << FUZZ_nan;
    uint32_t dists;
    (void)state;
    there("elements: 65536", 0, &dists);
    assert_int_equal(dists & left_out, left_out);
    there("without: [subnormal, nan]", 0, &dists);
    assert_int_equal(dists & left_out, 0);
    assert_true(dists & 1u << FUZZ_inf);
    there("without: [subnormal, nan], x: {values: nan}", 0, &dists); /* one that is named */
    assert_int_equal(dists, 1u << FUZZ_nan);
}

/* Items up to the end of the last part; of a part that begins at a number, those before it too. */
static void parts_are_whole_arrays(void **state)
{
    struct made made;
    (void)state;
    make(&made,
         "signature: >\n    const f32 x[1 from s / 2:stride][n],\n"
         "    f32 y[2 from 2 * s:n + 3][n from 3], i32 n, i32 stride\n"
         "  pick: {s: grid.y}\n  reference: cast\n"
         "  fuzz: {n: 4..40, planes: 1..5, stride: n + 1, block: 64, grid: [1, planes]}",
         SIZES(8, 8, 4, 4));
    for (uint64_t i = 0; i < CASES; i++) {
        draw(&made, i);
        int64_t last = drawn.grid[1] - 1;
        const struct fuzz_extent *x = &drawn.array[0], *y = &drawn.array[1];
        assert_int_equal(x->dim[0], last / 2 + 1);
        assert_int_equal(x->stride[0], x->dim[1] + 1);
        assert_int_equal(y->dim[0], 2 * last + 2);
        assert_int_equal(y->dim[1], x->dim[1] + 3);
    }
    unmake(&made);
}

static void refused(const char *entry, const char *part)
{
    char text[1024];
    struct complaints complaints;
    snprintf(text, sizeof text, "version: 1\nkernels:\n- kernel: k\n  %s\n", entry);
    struct registry *registry = registry_of(text, &complaints);
    if (complaints.count == 0)
        fuzz_rules_check(registry, complain_to, &complaints);
    expect_refused(entry, !complaints.count, complaints.text[0], part);
    registry_destroy(registry);
}

static void mistakes_are_refused(void **state)
{
    (void)state;
    refused(ADD "residual: {null: sometimes}}", "'null' is 'sometimes'; expected always or never");
    refused(ADD "x: {null: never}}", "'x' is never null by its signature; expected 'x?' there");
    refused(ADD "without: below_uniform}", "'below_uniform' is no distribution of numbers");
    refused(ADD "relations: permute}", "'relations' is no list; expected such as [permute");
    refused(ADD "relations: [rows]}", "'rows' is no relation; expected permute, neighbours, split");
    refused(ADD "relations: [scale y]}", "'scale y' is no relation");
    refused("signature: const f32 t[@ids][n], const i32 ids[m], f32 y[m from 2][n], i32 n, i32 m\n"
            "  reference: embedding\n  bind: {table: t}\n"
            "  fuzz: {block: 1, grid: 1, ids: {below: 4}, t: {rows: 4}}",
            "cases are not drawn for arrays with [n from m] beside [@ids]");
}

/* Before a kernel is seen its types are open, and the mapping is a rule all the same. */
static void types_of_the_code_are_open(void **state)
{
    struct complaints complaints;
    struct registry *registry = registry_of("version: 1\nkernels:\n- kernel: k\n"
                                            "  types: {E: {of: x}}\n"
                                            "  signature: const E x[n], E y[n], i32 n, ...\n"
                                            "  reference: silu\n"
                                            "  fuzz: {block: 64, grid: 1}\n",
                                            &complaints);
    (void)state;
    assert_int_equal(complaints.count, 0);
    fuzz_rules_check(registry, complain_to, &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_is_null_always_or_never),
        cmocka_unit_test(distributions_are_left_out),
        cmocka_unit_test(parts_are_whole_arrays),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(types_of_the_code_are_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
