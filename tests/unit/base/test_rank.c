/* The rank: each launcher's variable, which of two counts, and what is no number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rank.h"

static int empty_environment(void **state)
{
    (void)state;
    for (size_t i = 0; rank_names[i]; i++)
        unsetenv(rank_names[i]);
    return 0;
}

static void without_a_launcher_there_is_none(void **state)
{
    int64_t rank = -7;

    (void)state;
    assert_false(rank_read(&rank));
    assert_int_equal(rank, -7);
}

static void each_launcher_is_known(void **state)
{
    static const char *const names[] = {
        "RANK",         "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
        "SLURM_PROCID", "JOB_COMPLETION_INDEX", "LOCAL_RANK"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int64_t rank = -1;

        setenv(names[i], "12", 1);
        assert_true(rank_read(&rank));
        assert_int_equal(rank, 12);
        empty_environment(state);
    }
}

/* The number of an mpirun's helper, or of the process on its machine, is not the process's. */
static void the_narrowest_launcher_counts(void **state)
{
    int64_t rank = -1;

    (void)state;
    setenv("LOCAL_RANK", "1", 1);
    setenv("SLURM_PROCID", "2", 1);
    assert_true(rank_read(&rank));
    assert_int_equal(rank, 2);
    setenv("PMI_RANK", "3", 1);
    assert_true(rank_read(&rank));
    assert_int_equal(rank, 3);
}

static void what_is_no_number_is_passed_over(void **state)
{
    int64_t rank = -1;

    (void)state;
    setenv("PMI_RANK", "", 1);
    setenv("SLURM_PROCID", "3a", 1);
    assert_false(rank_read(&rank));
    setenv("JOB_COMPLETION_INDEX", "0", 1);
    assert_true(rank_read(&rank));
    assert_int_equal(rank, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_a_launcher_there_is_none, empty_environment),
        cmocka_unit_test_setup(each_launcher_is_known, empty_environment),
        cmocka_unit_test_setup(the_narrowest_launcher_counts, empty_environment),
        cmocka_unit_test_setup(what_is_no_number_is_passed_over, empty_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
