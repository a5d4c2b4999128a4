/* test_dims.c - which dims the references take: those of several flat arrays, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/ref_host/ref_dims.h"

static const long long MIB = 1 << 20;

static void dims_of_programs_are_taken(void **state)
{
    const long long matrix[] = {4096, 151936, 16384}, empty[] = {0, 7},
                    flat[] = {4 * MIB, MIB, 4 * MIB, 2048, 512, MIB};
    (void)state;
    assert_true(dims_are_sane(matrix, 3));
    assert_true(dims_are_sane(empty, 2));
    assert_true(dims_are_sane(flat, 6));
    assert_true(dims_are_sane(flat, 0));
}

static void others_are_not(void **state)
{
    const long long negative[] = {4, -1}, large[] = {MIB * MIB, 4 * MIB * MIB}, one[] = {1ll << 62};
    (void)state;
    assert_false(dims_are_sane(negative, 2));
    assert_false(dims_are_sane(large, 2));
    assert_false(dims_are_sane(one, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dims_of_programs_are_taken),
        cmocka_unit_test(others_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
