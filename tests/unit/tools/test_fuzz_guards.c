/*
 * test_fuzz_guards.c - what lies around the arrays of a case: a NaN of every real type, a negative
 * integer, and other bytes behind one array than behind the next.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/registry_fixture.h"
#include "tools/fuzz/case/case.h"

static struct fuzz_case drawn;

/* A case of two arrays of the type. */
static void draw(const char *type, struct arena *arena, struct registry **registry)
{
    struct complaints complaints;
    struct registry_bench bench;
    struct error err = {{0}};
    const struct fuzz_rule *rule;
    const struct param_layout layout = layout_of((const unsigned[]){8, 8, 4, 0});
    enum skip skip;
    char text[512];
    snprintf(text, sizeof text,
             "version: 1\nkernels:\n- kernel: k\n  signature: const %s x[n], %s y[n], i32 n\n"
             "  reference: cast\n  fuzz: {n: 1..300, block: 64, grid: 1%s}\n",
             type, type, *type == 'i' ? ", x: {below: 100}" : "");
    *registry = registry_of(text, &complaints);
    const struct kernel_spec *spec =
        *registry ? registry_resolve(*registry, "k", &layout, &skip, &err) : NULL;
    if (!spec || registry_bench(*registry, spec, &layout, &bench, &err) ||
        fuzz_rule_make(&rule, arena, &bench, NULL, &err) ||
        fuzz_case_draw(&drawn, rule, &layout, fuzz_case_seed(1, 0), &err))
        fail_msg("%s: %s %s", type, err.text, complaints.count ? complaints.text[0] : "");
}

static void guards_keep_their_meaning_and_differ(void **state)
{
    static const char *const types[] = {"f64", "f32", "f16", "bf16", "i32", "i64"};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct arena arena = {0};
        struct registry *registry;
        int same = 0;
        draw(types[i], &arena, &registry);
        const enum dtype dtype = drawn.array[0].dtype;
        const size_t size = dtype_bytes(dtype);
        uint8_t *pool = malloc((size_t)drawn.pool_bytes);
        assert_non_null(pool);
        fuzz_case_fill(&drawn, pool);
        const uint8_t *x = pool + drawn.array[0].at + drawn.array[0].bytes;
        const uint8_t *y = pool + drawn.array[1].at + drawn.array[1].bytes;
        assert_ptr_not_equal(x, y);
        for (size_t at = 0; at < FUZZ_GUARD; at += size) {
            double value = fuzz_decode(dtype, x + at);
            if (dtype_is_real(dtype) ? !isnan(value) : value >= 0)
                fail_msg("%s: %g behind the array", types[i], value);
            same += memcmp(x + at, y + at, size) == 0;
        }
        assert_in_range(same, 0, FUZZ_GUARD / size / 20);
        free(pool);
        arena_release(&arena);
        registry_destroy(registry);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guards_keep_their_meaning_and_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
