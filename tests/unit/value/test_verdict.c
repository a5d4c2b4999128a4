#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "value/check_report.h"
#include "value/skip.h"
#include "value/verdict.h"

static void one_violation_is_a_mismatch(void **state)
{
    const struct ref_verdict one = {.checked = 1000000, .violations = 1};
    const struct ref_verdict one_and_all_wide = {.checked = 100, .wide = 99, .violations = 1};

    (void)state;
    assert_int_equal(verdict_of(&one), VERDICT_MISMATCH);
    assert_int_equal(verdict_of(&one_and_all_wide), VERDICT_MISMATCH);
}

static void no_violation_is_a_match(void **state)
{
    const struct ref_verdict plain = {.checked = 1};
    /* Bad statistics do not make a mismatch of a launch within its bounds. */
    const struct ref_verdict noisy = {.checked = 10, .sum_square = 1e9, .sum_signed = 1e6};

    (void)state;
    assert_int_equal(verdict_of(&plain), VERDICT_MATCH);
    assert_int_equal(verdict_of(&noisy), VERDICT_MATCH);
}

static void over_a_tenth_wide_is_inconclusive(void **state)
{
    static const struct {
        uint64_t checked, wide;
        enum verdict verdict;
    } rows[] = {
        {100, 10, VERDICT_MATCH},
        {100, 11, VERDICT_INCONCLUSIVE},
        {19, 1, VERDICT_MATCH},
        {19, 2, VERDICT_INCONCLUSIVE},
        {5, 0, VERDICT_MATCH},
        {5, 1, VERDICT_INCONCLUSIVE},
        {UINT64_MAX, UINT64_MAX / 10, VERDICT_MATCH},
        {UINT64_MAX, UINT64_MAX, VERDICT_INCONCLUSIVE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ref_verdict numbers = {.checked = rows[i].checked, .wide = rows[i].wide};

        assert_int_equal(verdict_of(&numbers), rows[i].verdict);
    }
}

static void nothing_checked_is_inconclusive(void **state)
{
    const struct ref_verdict nothing = {0};

    (void)state;
    assert_int_equal(verdict_of(&nothing), VERDICT_INCONCLUSIVE);
}

/* What a judge found is a mismatch whatever the numbers are; what is only noted is none. */
static void each_finding_is_a_mismatch(void **state)
{
    static const struct ref_verdict right = {.checked = 1}, wide = {.checked = 1, .wide = 1};
    static const struct check_report rows[] = {
        {.state.rule = "stale"},
        {.differs = true},
        {.parity.differ = 1},
        {.projection.violations = 1},
    };
    struct check_report noted = {.numbers = right, .earlier = 3, .parity.met = 1};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct check_report report = rows[i];
        report.numbers = right;
        assert_int_equal(verdict_of_launch(&report), VERDICT_MISMATCH);
        report.numbers = wide;
        assert_int_equal(verdict_of_launch(&report), VERDICT_MISMATCH);
    }
    noted.projection.rows = noted.projection.left = 1;
    assert_int_equal(verdict_of_launch(&noted), VERDICT_MATCH);
    noted.numbers = wide;
    assert_int_equal(verdict_of_launch(&noted), VERDICT_INCONCLUSIVE);
    noted.numbers.violations = 1;
    assert_int_equal(verdict_of_launch(&noted), VERDICT_MISMATCH);
}

static void statistics_of_correct_rounding(void **state)
{
    const struct ref_verdict even = {.measured = 1200, .sum_square = 100, .sum_signed = 0};
    const struct ref_verdict leaning = {.measured = 10000, .sum_square = 2500, .sum_signed = -5000};
    const struct ref_verdict half_wide = {.checked = 200, .measured = 100, .sum_square = 25};

    (void)state;
    assert_float_equal(verdict_square_ratio(&even), 1, 1e-12);
    assert_float_equal(verdict_bias(&even), 0, 0);
    assert_float_equal(verdict_square_ratio(&leaning), 3, 1e-12);
    assert_float_equal(verdict_bias(&leaning), -50, 1e-12);
    assert_float_equal(verdict_square_ratio(&half_wide), 3, 1e-12);
}

static void statistics_of_nothing_are_zero(void **state)
{
    const struct ref_verdict nothing = {0};
    const struct ref_verdict all_nan = {.checked = 7, .class_mismatch = 7};

    (void)state;
    assert_float_equal(verdict_square_ratio(&nothing), 0, 0);
    assert_float_equal(verdict_bias(&nothing), 0, 0);
    assert_float_equal(verdict_square_ratio(&all_nan), 0, 0);
    assert_float_equal(verdict_bias(&all_nan), 0, 0);
}

/* n errors drawn by `kind`, summed as a reference sums them. */
enum errors { NEAREST, AT_RANDOM, TRUNCATED, TWICE };

static uint64_t state_of_random = 1;

static double uniform(void)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (double)(state_of_random >> 11) * 0x1p-53;
}

static struct ref_verdict errors_of(uint64_t n, enum errors kind)
{
    struct ref_verdict v = {.checked = n, .measured = n};

    for (uint64_t i = 0; i < n; i++) {
        double place = uniform(), error = place - 0.5; /* between two neighbours */
        if (kind == AT_RANDOM)
            error = (uniform() < place) - place;
        else if (kind == TRUNCATED)
            error = -place;
        else if (kind == TWICE)
            error += uniform() * 2 - 1;
        v.sum_square += error * error;
        v.sum_signed += error;
    }
    return v;
}

static void right_launches_get_no_note(void **state)
{
    (void)state;
    for (int i = 0; i < 40000; i++) {
        uint64_t n = 1 + (uint64_t)i % 1500;
        struct ref_verdict nearest = errors_of(n, NEAREST), random = errors_of(n, AT_RANDOM);

        assert_int_equal(verdict_notes(&nearest, false), 0);
        assert_int_equal(verdict_notes(&random, true), 0);
    }
}

static void odd_launches_get_notes(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct ref_verdict v = errors_of(1000, TRUNCATED);
        assert_int_equal(verdict_notes(&v, false), NOTE_SPREAD | NOTE_LEAN);
        assert_true(verdict_notes(&v, true) & NOTE_LEAN);
        v = errors_of(1000, TWICE);
        assert_int_equal(verdict_notes(&v, false), NOTE_SPREAD);
        v = errors_of(1000, AT_RANDOM); /* which was not declared */
        assert_int_equal(verdict_notes(&v, false) & NOTE_LEAN, 0);
        v = errors_of(10, TRUNCATED); /* too few for it */
        assert_int_equal(verdict_notes(&v, false) & NOTE_LEAN, 0);
    }
    /* At the thresholds. */
    struct ref_verdict many = {.measured = 1000000, .sum_square = 2.001e6 / 12};
    assert_int_equal(verdict_notes(&many, false), NOTE_SPREAD);
    assert_int_equal(verdict_notes(&many, true), 0);
    many.sum_square = 1.999e6 / 12;
    assert_int_equal(verdict_notes(&many, false), 0);
    many.sum_signed = 20001;
    assert_int_equal(verdict_notes(&many, false), NOTE_LEAN);
    many.sum_signed = -19999;
    assert_int_equal(verdict_notes(&many, false), 0);
}

static void every_word_has_a_text(void **state)
{
    (void)state;
    assert_string_equal(verdict_text(VERDICT_MATCH), "match");
    assert_string_equal(verdict_text(VERDICT_MISMATCH), "mismatch");
    assert_string_equal(verdict_text(VERDICT_INCONCLUSIVE), "inconclusive");
    assert_string_equal(verdict_text(VERDICT_COUNT), "unknown");
    assert_string_equal(skip_text(SKIP_UNREGISTERED), "unregistered");
    assert_string_equal(skip_sentence(SKIP_EXIT), "the program ended before the check did "
                                                  "(CUVET_EXIT_WAIT)");
    assert_string_equal(skip_text(SKIP_COUNT), "unknown");
    for (int i = SKIP_NONE; i < SKIP_COUNT; i++) {
        assert_true(strlen(skip_text((enum skip)i)) > 0);
        assert_true(strlen(skip_sentence((enum skip)i)) > 0);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(skip_text((enum skip)i), skip_text((enum skip)j));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_violation_is_a_mismatch),
        cmocka_unit_test(no_violation_is_a_match),
        cmocka_unit_test(over_a_tenth_wide_is_inconclusive),
        cmocka_unit_test(nothing_checked_is_inconclusive),
        cmocka_unit_test(each_finding_is_a_mismatch),
        cmocka_unit_test(statistics_of_correct_rounding),
        cmocka_unit_test(statistics_of_nothing_are_zero),
        cmocka_unit_test(right_launches_get_no_note),
        cmocka_unit_test(odd_launches_get_notes),
        cmocka_unit_test(every_word_has_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
