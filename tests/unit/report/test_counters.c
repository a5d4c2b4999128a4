#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "report/counters.h"
#include "tests/unit/common/made_up_check.h"
#include "judge/notes.h"

enum { THREADS = 16, ROUNDS = 20000 };

static void each_launch_has_one_bucket(void **state)
{
    struct counters *counters = counters_create();
    struct counters_kernel kernel;
    struct counters_totals totals;
    struct made_up_check check;

    (void)state;
    made_up_match(&check);
    assert_int_equal(counters_add_kernel(counters, &check.spec), STATUS_OK);
    for (int i = 0; i < 5; i++)
        counters_seen(counters);
    counters_skip(counters, -1, SKIP_UNREGISTERED);
    counters_skip(counters, 0, SKIP_NOT_SAMPLED);
    counters_skip(counters, 0, SKIP_NOT_SAMPLED);
    counters_check(counters, &check.report);
    check.report.verdict = VERDICT_INCONCLUSIVE;
    counters_check(counters, &check.report);

    counters_read(counters, &totals);
    assert_int_equal(totals.seen, 5);
    assert_int_equal(totals.kernels, 1);
    assert_int_equal(counters_sum(&totals.buckets), 5);
    assert_int_equal(counters_sum(&totals.other), 1);
    assert_int_equal(counters_checked(&totals.buckets), 2);
    assert_true(counters_balanced(&totals));

    assert_true(counters_read_kernel(counters, 0, &kernel));
    assert_ptr_equal(kernel.spec, &check.spec);
    assert_int_equal(kernel.buckets.skip[SKIP_NOT_SAMPLED], 2);
    assert_int_equal(kernel.buckets.skip[SKIP_UNREGISTERED], 0);
    assert_int_equal(kernel.buckets.verdict[VERDICT_MATCH], 1);
    assert_int_equal(kernel.elements, 2 * MADE_UP_ELEMENTS);
    assert_float_equal(kernel.max_ratio, 0.5, 0);
    assert_false(counters_read_kernel(counters, 1, &kernel));
    counters_destroy(counters);
}

/* Each ratio lies in the bin whose lower edge is the power of two below it. */
static void ratios_have_bins(void **state)
{
    (void)state;
    assert_int_equal(counters_ratio_bin(0), 0);
    assert_int_equal(counters_ratio_bin(0x1p-10), 1);
    assert_int_equal(counters_ratio_bin(0.999), COUNTERS_RATIO_ONE - 1);
    assert_int_equal(counters_ratio_bin(1), COUNTERS_RATIO_ONE);
    assert_int_equal(counters_ratio_bin(4095.9), COUNTERS_RATIOS - 2);
    assert_int_equal(counters_ratio_bin(4096), COUNTERS_RATIOS - 1);
    assert_int_equal(counters_ratio_bin(INFINITY), COUNTERS_RATIOS - 1);
    assert_int_equal(counters_ratio_bin(NAN), COUNTERS_RATIOS - 1);
}

static void a_lost_launch_unbalances(void **state)
{
    struct counters *counters = counters_create();
    struct counters_totals totals;

    (void)state;
    counters_seen(counters);
    counters_read(counters, &totals);
    assert_false(counters_balanced(&totals)); /* in flight or lost */
    counters_skip(counters, -1, SKIP_EXIT);
    counters_read(counters, &totals);
    assert_true(counters_balanced(&totals));
    counters_skip(counters, -1, SKIP_EXIT); /* counted twice */
    counters_read(counters, &totals);
    assert_false(counters_balanced(&totals));
    counters_destroy(counters);
}

/* Where nothing can be counted one by one any more. */
static void what_is_under_way_at_the_end_is_exit(void **state)
{
    struct counters *counters = counters_create();
    struct counters_totals totals;

    (void)state;
    for (int i = 0; i < 3; i++)
        counters_seen(counters);
    counters_skip(counters, -1, SKIP_NOT_SAMPLED);
    counters_cut_short(counters);
    counters_read(counters, &totals);
    assert_true(counters_balanced(&totals));
    assert_int_equal(totals.buckets.skip[SKIP_EXIT], 2);
    assert_int_equal(totals.other.skip[SKIP_EXIT], 2);
    for (int i = 0; i < 3; i++)
        counters_skip(counters, -1, SKIP_EXIT); /* one was counted twice */
    counters_read(counters, &totals);
    assert_false(counters_balanced(&totals));
    counters_destroy(counters);
}

struct job {
    struct counters *counters;
    struct made_up_check check;
    int number;
};

static void *count(void *user)
{
    struct job *job = user;

    assert_int_equal(counters_add_kernel(job->counters, &job->check.spec), STATUS_OK);
    for (int i = 0; i < ROUNDS; i++) {
        counters_seen(job->counters);
        if (i % 100 == 0)
            counters_check(job->counters, &job->check.report);
        else if (i % 2)
            counters_skip(job->counters, job->check.spec.number, SKIP_NOT_SAMPLED);
        else
            counters_skip(job->counters, -1, SKIP_UNREGISTERED);
    }
    return NULL;
}

static void sixteen_threads_add_up(void **state)
{
    static struct job jobs[THREADS];
    struct counters *counters = counters_create();
    struct counters_totals totals;
    struct counters_kernel kernel;
    pthread_t threads[THREADS];

    (void)state;
    for (int t = 0; t < THREADS; t++) {
        jobs[t].counters = counters;
        made_up_match(&jobs[t].check);
        jobs[t].check.spec.number = t % 2 ? 70 : 3; /* two kernels, in two chunks of the table */
        assert_int_equal(pthread_create(&threads[t], NULL, count, &jobs[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    counters_read(counters, &totals);
    assert_int_equal(totals.seen, THREADS * ROUNDS);
    assert_true(counters_balanced(&totals));
    assert_int_equal(totals.kernels, 2);
    assert_int_equal(counters_numbers(counters), 71);
    assert_int_equal(totals.buckets.skip[SKIP_NOT_SAMPLED], THREADS * ROUNDS / 2);
    assert_int_equal(totals.other.skip[SKIP_UNREGISTERED], THREADS * (ROUNDS / 2 - ROUNDS / 100));
    assert_true(counters_read_kernel(counters, 70, &kernel));
    assert_int_equal(kernel.buckets.verdict[VERDICT_MATCH], THREADS / 2 * ROUNDS / 100);
    assert_int_equal(kernel.elements, THREADS / 2 * ROUNDS / 100 * MADE_UP_ELEMENTS);
    assert_int_equal(kernel.buckets.skip[SKIP_NOT_SAMPLED], THREADS / 2 * ROUNDS / 2);
    counters_destroy(counters);
}

static void a_kernel_without_a_row_is_not_lost(void **state)
{
    struct counters *counters = counters_create();
    struct counters_totals totals;

    (void)state;
    counters_seen(counters);
    counters_seen(counters);
    counters_skip(counters, 5, SKIP_SHAPE);
    counters_skip(counters, INT64_MAX, SKIP_SHAPE);
    counters_read(counters, &totals);
    assert_int_equal(totals.other.skip[SKIP_SHAPE], 2);
    assert_true(counters_balanced(&totals));
    counters_destroy(counters);
}

static void too_many_kernels_are_refused(void **state)
{
    struct counters *counters = counters_create();
    struct made_up_check check;

    (void)state;
    made_up_match(&check);
    check.spec.number = UINT32_MAX;
    assert_int_equal(counters_add_kernel(counters, &check.spec), STATUS_FULL);
    assert_int_equal(counters_numbers(counters), 0);
    counters_destroy(counters);
}

static void judged(struct counters *counters, struct made_up_check *check)
{
    notes_fill(&check->report);
    counters_check(counters, &check->report);
}

static void statistics_only_of_narrow_matches(void **state)
{
    struct counters *counters = counters_create();
    struct counters_kernel kernel;
    struct made_up_check check;

    (void)state;
    made_up_match(&check);
    counters_add_kernel(counters, &check.spec);
    judged(counters, &check);
    check.report.numbers.sum_square *= 3;
    check.report.numbers.sum_signed = -16;
    judged(counters, &check);
    counters_read_kernel(counters, 0, &kernel);
    assert_int_equal(kernel.narrow_elements, 2 * MADE_UP_ELEMENTS);
    assert_float_equal(kernel.square_ratio, 2, 1e-12);
    assert_float_equal(kernel.mean_signed, -0.25, 1e-12);
    assert_float_equal(kernel.bias, -2, 1e-12);

    check.report.numbers.sum_square = 1e9;
    check.report.verdict = VERDICT_MISMATCH; /* its errors are a finding already */
    judged(counters, &check);
    check.report.verdict = VERDICT_MATCH;
    check.binding.array[1].dtype = DTYPE_F32; /* its errors are the accumulator's */
    judged(counters, &check);
    check.binding.array[1].dtype = DTYPE_BF16;
    check.binding.call.tensor[1].rule = RULE_CLOSE; /* its errors are what the margins allow */
    judged(counters, &check);
    check.binding.call.tensor[1].rule = RULE_BOUND;
    check.binding.call.point[0] = DTYPE_BF16 | REF_POINT_MAY; /* rounds here, or does not */
    judged(counters, &check);
    counters_read_kernel(counters, 0, &kernel);
    assert_int_equal(kernel.narrow_elements, 2 * MADE_UP_ELEMENTS);
    assert_float_equal(kernel.square_ratio, 2, 1e-12);
    assert_int_equal(kernel.elements, 6 * MADE_UP_ELEMENTS);
    assert_int_equal(kernel.spread_launches, 1); /* R = 3 of 32 elements; not the others */
    assert_int_equal(kernel.lean_launches, 0);
    counters_destroy(counters);
}

static void notes_are_counted_by_launch(void **state)
{
    struct counters *counters = counters_create();
    struct counters_kernel kernel;
    struct made_up_check check;

    (void)state;
    made_up_match(&check);
    counters_add_kernel(counters, &check.spec);
    check.report.numbers.checked = check.report.numbers.measured = 1000000;
    check.report.numbers.wide = 3;
    for (int i = 0; i < 4; i++) {
        check.report.numbers.sum_square = 1e6 / 12 * (i == 2 ? 2.5 : 1);
        check.report.numbers.sum_signed = i == 1 ? -50000 : i == 3 ? 40000 : 0;
        judged(counters, &check);
    }
    counters_read_kernel(counters, 0, &kernel);
    assert_int_equal(kernel.spread_launches, 1);
    assert_float_equal(kernel.note_square, 2.5, 1e-12);
    assert_int_equal(kernel.lean_launches, 2);
    assert_float_equal(kernel.note_mean, -0.05, 1e-12);
    assert_int_equal(kernel.wide, 12);
    counters_destroy(counters);
}

static void failed_launches_are_told_apart(void **state)
{
    static const uint32_t grid[3] = {70000, 1, 1}, other[3] = {1, 2, 3}, block[3] = {2048, 1, 1};
    struct counters *counters = counters_create();
    struct counters_error error;
    char symbol[16];

    (void)state;
    assert_true(counters_launch_error(counters, "a", grid, block, "INVALID_VALUE"));
    assert_false(counters_launch_error(counters, "a", other, block, "INVALID_VALUE"));
    assert_true(counters_launch_error(counters, "a", grid, block, "OUT_OF_MEMORY"));
    assert_true(counters_launch_error(counters, NULL, grid, block, NULL));
    assert_true(counters_read_error(counters, 0, &error));
    assert_string_equal(error.symbol, "a");
    assert_string_equal(error.error_name, "INVALID_VALUE");
    assert_int_equal(error.count, 2);
    assert_int_equal(error.grid[0], 70000); /* of the first */
    assert_true(counters_read_error(counters, 2, &error));
    assert_string_equal(error.symbol, "?");
    assert_false(counters_read_error(counters, 3, &error));

    for (int i = 3; i < COUNTERS_ERRORS + 5; i++) {
        snprintf(symbol, sizeof symbol, "k%d", i);
        assert_int_equal(counters_launch_error(counters, symbol, grid, block, "X"),
                         i < COUNTERS_ERRORS);
    }
    assert_int_equal(counters_other_errors(counters), 5);
    assert_false(counters_read_error(counters, COUNTERS_ERRORS, &error));
    counters_destroy(counters);
}

static void no_counters_count_nothing(void **state)
{
    static const uint32_t three[3] = {1, 1, 1};
    struct counters_totals totals;
    struct counters_kernel kernel;
    struct made_up_check check;

    (void)state;
    made_up_match(&check);
    assert_int_equal(counters_add_kernel(NULL, &check.spec), STATUS_OK);
    counters_seen(NULL);
    counters_skip(NULL, -1, SKIP_OFF);
    counters_check(NULL, &check.report);
    assert_false(counters_launch_error(NULL, "a", three, three, "b"));
    counters_read(NULL, &totals);
    assert_int_equal(totals.seen, 0);
    assert_int_equal(counters_numbers(NULL), 0);
    assert_false(counters_read_kernel(NULL, 0, &kernel));
    counters_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_launch_has_one_bucket),
        cmocka_unit_test(ratios_have_bins),
        cmocka_unit_test(a_lost_launch_unbalances),
        cmocka_unit_test(what_is_under_way_at_the_end_is_exit),
        cmocka_unit_test(sixteen_threads_add_up),
        cmocka_unit_test(a_kernel_without_a_row_is_not_lost),
        cmocka_unit_test(too_many_kernels_are_refused),
        cmocka_unit_test(statistics_only_of_narrow_matches),
        cmocka_unit_test(notes_are_counted_by_launch),
        cmocka_unit_test(failed_launches_are_told_apart),
        cmocka_unit_test(no_counters_count_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
