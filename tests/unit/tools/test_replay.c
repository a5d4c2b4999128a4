/* test_replay.c - what a replay concludes from its runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tools/replay/replay.h"

/* Certain only where every other multiprocessor was held, in every run, until its end. */
static void test_a_launch_is_on_one_multiprocessor(void **state)
{
    static const struct {
        int runs;
        uint32_t held;
        bool freed, landed;
    } rows[] = {
        {1, 131, false, true},  {3, 131, false, true}, {1, 130, false, false},
        {1, 132, false, false}, {1, 131, true, false}, {0, 131, false, false},
    };
    const struct worker_about about = {.multiprocessors = 132};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct replay_report report = {
            .runs = rows[i].runs, .held = rows[i].held, .freed = rows[i].freed};
        assert_int_equal(replay_landed(&report, &about), rows[i].landed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_launch_is_on_one_multiprocessor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
