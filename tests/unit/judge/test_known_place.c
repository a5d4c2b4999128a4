/* Which element outside the bound is held against what a lifted kernel stores in the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "judge/replay.h"

static struct ref_verdict verdict(void)
{
    return (struct ref_verdict){.first_tensor = 1,
                                .first_index = 7,
                                .first_got = 0,
                                .first_ref = 3,
                                .first_bound = 0.5,
                                .worst_tensor = 2,
                                .worst_index = 9,
                                .worst_got = 0,
                                .worst_ref = 5,
                                .worst_bound = 0.25};
}

static void the_first_one_is_taken(void **state)
{
    (void)state;
    const struct ref_verdict numbers = verdict();
    struct replay_place place;
    assert_true(replay_known_place(&numbers, &place));
    assert_int_equal(place.tensor, 1);
    assert_int_equal(place.index, 7);
    assert_true(place.ref == 3 && place.bound == 0.5);
}

static void the_worst_one_where_the_first_was_not_kept(void **state)
{
    (void)state;
    struct ref_verdict numbers = verdict();
    struct replay_place place;
    numbers.first_got = numbers.first_ref = numbers.first_bound = NAN;
    assert_true(replay_known_place(&numbers, &place));
    assert_int_equal(place.tensor, 2);
    assert_int_equal(place.index, 9);
    assert_true(place.ref == 5 && place.bound == 0.25);
}

static void none_where_neither_was_kept(void **state)
{
    (void)state;
    struct ref_verdict numbers = verdict();
    struct replay_place place;
    numbers.first_got = numbers.first_ref = NAN;
    numbers.worst_got = numbers.worst_ref = NAN;
    assert_false(replay_known_place(&numbers, &place));
}

/* A NaN that was written, or expected, is a value like others. */
static void one_nan_is_known(void **state)
{
    (void)state;
    struct ref_verdict numbers = verdict();
    struct replay_place place;
    numbers.first_ref = NAN;
    assert_true(replay_known_place(&numbers, &place));
    assert_int_equal(place.index, 7);
    numbers.first_ref = 3;
    numbers.first_got = NAN;
    assert_true(replay_known_place(&numbers, &place));
    assert_int_equal(place.index, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_one_is_taken),
        cmocka_unit_test(the_worst_one_where_the_first_was_not_kept),
        cmocka_unit_test(none_where_neither_was_kept),
        cmocka_unit_test(one_nan_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
