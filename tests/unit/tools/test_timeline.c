#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "tools/report/model/timeline.h"

static uint64_t sum(const struct timeline *t, int kind)
{
    uint64_t all = 0;
    for (int i = 0; i < TIMELINE_BINS; i++)
        all += t->count[kind][i];
    return all;
}

/* Whether the bin of that time has events of that kind. */
static int has(const struct timeline *t, int kind, int64_t ms)
{
    int64_t bin = ms / t->width - t->first;
    return bin >= 0 && bin < TIMELINE_BINS && t->count[kind][bin] > 0;
}

static void events_in_any_order_stay_where_they_are(void **state)
{
    static const int64_t times[] = {1000000, 1000001, 5000000, 0, 999, 86400000, 3000000};
    struct timeline t = {0};
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        timeline_add(&t, 1, times[i], 2);
    assert_int_equal(sum(&t, 1), 14);
    assert_int_equal(sum(&t, 0), 0);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        assert_true(has(&t, 1, times[i]));
    assert_false(has(&t, 1, 50000000));
}

/* Times that no clock has must not make it run on. */
static void absurd_times_are_bounded(void **state)
{
    struct timeline t = {0};
    (void)state;
    timeline_add(&t, 0, 0, 1);
    timeline_add(&t, 0, INT64_MAX / 4, 1);
    timeline_add(&t, 0, -(INT64_MAX / 4), 1);
    assert_int_equal(sum(&t, 0), 3);
}

static void random_times_lose_nothing(void **state)
{
    (void)state;
    srandom(7);
    for (int round = 0; round < 200; round++) {
        struct timeline t = {0};
        int64_t scale = 1 + random() % 1000000;
        for (int i = 0; i < 50; i++)
            timeline_add(&t, i % TIMELINE_KINDS, (random() % 4096 - 2048) * scale, 1);
        assert_int_equal(sum(&t, 0) + sum(&t, 1) + sum(&t, 2), 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_in_any_order_stay_where_they_are),
        cmocka_unit_test(absurd_times_are_bounded),
        cmocka_unit_test(random_times_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
