/* Which errors are those of a transform. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "judge/transform.h"

static void a_small_share_of_the_largest_number(void **state)
{
    (void)state;
    const struct ref_verdict numbers = {.violations = 5, .max_abs = 3e-6};
    assert_true(transform_explains(&numbers, 4e-6, 1));
}

static void no_larger_errors(void **state)
{
    (void)state;
    const struct ref_verdict numbers = {.violations = 5, .max_abs = 5e-6};
    assert_false(transform_explains(&numbers, 4e-6, 1));
    assert_false(transform_explains(&numbers, 4e-6, 0)); /* it could not be read */
}

static void no_other_class(void **state)
{
    (void)state;
    const struct ref_verdict numbers = {.violations = 5, .class_mismatch = 1, .max_abs = 3e-6};
    assert_false(transform_explains(&numbers, 4e-6, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_share_of_the_largest_number),
        cmocka_unit_test(no_larger_errors),
        cmocka_unit_test(no_other_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
