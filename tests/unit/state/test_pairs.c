/* Launches of a contract's other configurations follow a checked one: which, how often, how long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "state/pairs.h"
#include "value/contract.h"

static struct contract contract = {.number = 3};
static struct kernel_spec one = {.number = 1, .contract = &contract};
static struct kernel_spec other = {.number = 2, .contract = &contract};
static struct kernel_spec free_spec = {.number = 4};
static struct pairs *pairs;

static struct launch launch_of(uint32_t grid)
{
    return (struct launch){.grid = {grid, 1, 1}, .block = {32, 1, 1}};
}

static bool build_comes(const struct kernel_spec *spec, uint32_t grid, uint32_t build)
{
    struct launch launch = launch_of(grid);
    bool follows = pairs_launch(pairs, spec, &launch, build);
    pairs_settle(pairs, spec);
    return follows;
}

static bool comes(const struct kernel_spec *spec, uint32_t grid)
{
    return build_comes(spec, grid, 0);
}

static void pick(const struct kernel_spec *spec, uint32_t grid)
{
    struct launch launch = launch_of(grid);
    pairs_launch(pairs, spec, &launch, 0);
    pairs_picked(pairs, spec, &launch, 0);
    pairs_settle(pairs, spec);
}

static int open_pairs(void **state)
{
    (void)state;
    pairs = pairs_create();
    return pairs ? 0 : 1;
}

static int close_pairs(void **state)
{
    (void)state;
    pairs_destroy(pairs);
    return 0;
}

static void another_kernel_follows_and_the_first_once_more(void **state)
{
    (void)state;
    assert_false(comes(&other, 1)); /* nothing was picked */
    pick(&one, 1);
    assert_false(comes(&one, 1));
    assert_false(comes(&free_spec, 1));
    assert_true(comes(&other, 1));
    assert_false(comes(&other, 1));
    assert_true(comes(&one, 1));
    assert_false(comes(&one, 1));
    assert_false(comes(&other, 2)); /* that was all */
}

static void other_grids_of_one_kernel_follow(void **state)
{
    (void)state;
    pick(&one, 1);
    for (uint32_t grid = 2; grid < 5; grid++)
        assert_true(comes(&one, grid));
    assert_false(comes(&one, 5));
    assert_false(comes(&one, 1));
}

static void other_functions_of_one_name_follow(void **state)
{
    (void)state;
    pick(&one, 1);
    for (uint32_t build = 1; build < 4; build++) {
        assert_true(build_comes(&one, 1, build));
        assert_false(build_comes(&one, 1, build));
    }
    assert_false(build_comes(&one, 1, 4));
}

static void launches_are_waited_for_in_a_bounded_stretch(void **state)
{
    (void)state;
    pick(&one, 1);
    for (int i = 0; i < 256; i++)
        assert_false(comes(&one, 1));
    assert_false(comes(&other, 1));
    assert_false(pairs_settle(pairs, &one));
}

static int followed(int picks)
{
    int count = 0;
    for (int i = 0; i < picks; i++) {
        pick(&one, 1);
        count += comes(&other, 1);
        comes(&one, 1);
    }
    return count;
}

static void followers_in_vain_become_rare(void **state)
{
    (void)state;
    assert_int_equal(followed(8), 8);
    assert_in_range(followed(1000), 10, 60);
    pairs_met(pairs, &contract);
    assert_int_equal(followed(8), 8);
}

static void no_memory_and_no_contract_are_silent(void **state)
{
    (void)state;
    struct launch launch = launch_of(1);
    assert_false(pairs_launch(NULL, &one, &launch, 0));
    pairs_picked(NULL, &one, &launch, 0);
    assert_false(pairs_settle(NULL, &one));
    pairs_met(pairs, NULL);
    pairs_picked(pairs, &free_spec, &launch, 0);
    assert_false(comes(&other, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(another_kernel_follows_and_the_first_once_more, open_pairs,
                                        close_pairs),
        cmocka_unit_test_setup_teardown(other_grids_of_one_kernel_follow, open_pairs, close_pairs),
        cmocka_unit_test_setup_teardown(other_functions_of_one_name_follow, open_pairs,
                                        close_pairs),
        cmocka_unit_test_setup_teardown(launches_are_waited_for_in_a_bounded_stretch, open_pairs,
                                        close_pairs),
        cmocka_unit_test_setup_teardown(followers_in_vain_become_rare, open_pairs, close_pairs),
        cmocka_unit_test_setup_teardown(no_memory_and_no_contract_are_silent, open_pairs,
                                        close_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
