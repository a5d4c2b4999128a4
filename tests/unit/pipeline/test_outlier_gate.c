/* The outlier gate in the life of a launch, on a fake driver: an ordinary launch copies nothing and
 * is counted, an unusual one is checked, the books balance, the host waits for nothing. */
#include "tests/unit/pipeline/outlier_gate_world.h"

static int set_up_new_gpu(void **state)
{
    fake_compiled_for = 90;
    *state = build(0, 0);
    return 0;
}

static int set_up_sampled(void **state)
{
    *state = build(1, 0);
    return 0;
}

static int tear_down_new_gpu(void **state)
{
    fake_compiled_for = 75;
    return pipeline_fixture_tear_down(state);
}

static void an_ordinary_launch_copies_nothing_and_is_counted(void **state)
{
    struct world *world = *state;
    launch_ordinary(world, ORDINARY);
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], ORDINARY);
    assert_int_equal(fake.probes, ORDINARY);
    assert_int_equal(fake.copied, 0);
    assert_int_equal(fake.launches, ORDINARY); /* one kernel each */
    struct side *side = pipeline_fixture_side(&world->fixture);
    assert_int_equal(slots_in_use(side->slot.free), 0);
}

/* No call of the driver's that waits, or queries whether work is done: neither on the program's
 * thread nor, when all goes well, on ours. The calls of set-up do not count. */
static void nothing_waits_for_the_gate(void **state)
{
    struct world *world = *state;
    launch_ordinary(world, 1);
    int queries = fake.queries;
    launch_ordinary(world, ORDINARY);
    assert_int_equal(fake.queries, queries);
    atomic_store(&fake.hold_seals, true); /* the GPU is far behind */
    for (int i = 0; i < 8; i++)
        launch(world, 0);
    assert_int_equal(fake.queries, queries);
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], 1 + ORDINARY);
}

/* A kernel that does not wait for its stream must not be there before its turn. */
static void old_machine_code_is_launched_in_turn(void **state)
{
    launch_ordinary(*state, ORDINARY);
    assert_int_equal(fake.probes, ORDINARY);
    assert_int_equal(fake.early, 0);
}

static void kernels_that_wait_are_launched_early(void **state)
{
    struct world *world = *state;
    launch_ordinary(world, ORDINARY);
    assert_int_equal(fake.early, ORDINARY);
    launch(world, 50);
    settle(world);
    assert_int_equal(fake.early, fake.probes); /* and nothing else is */
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], ORDINARY);
}

static void an_unusual_launch_is_checked(void **state)
{
    struct world *world = *state;
    launch_ordinary(world, ORDINARY);
    launch(world, 50);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
    assert_string_equal(world->gate, "outlier");
    assert_string_equal(world->outlier.input, "a");
    assert_true(world->outlier.sigmas);
    assert_true(world->outlier.score > world->outlier.threshold);
    launch_ordinary(world, 1);
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], ORDINARY + 1);
}

static void a_kernel_that_is_wrong_on_unusual_input_is_found(void **state)
{
    struct world *world = *state;
    launch_ordinary(world, ORDINARY);
    world->wrong = true;
    launch(world, 50);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MISMATCH], 1);
}

/* The gate does not read outputs: a kernel wrong on ordinary input passes it. */
static void a_wrong_result_is_no_outlier(void **state)
{
    struct world *world = *state;
    world->wrong = true;
    launch_ordinary(world, ORDINARY);
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], ORDINARY);
}

static void an_in_place_launch_is_looked_at_before_it_runs(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < ORDINARY; i++) {
        fill(world, 0);
        launch_named(world, "add", 1, true);
        settle(world);
    }
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], ORDINARY);
    assert_int_equal(fake.copied, 0);
    fill(world, 50);
    launch_named(world, "add", 1, true);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1); /* against what it had read */
    assert_string_equal(world->gate, "outlier");
}

static void every_named_input_is_looked_at(void **state)
{
    struct world *world = *state;
    for (int i = 0; i <= ORDINARY; i++) {
        fill(world, 0);
        world->b[3] = i == ORDINARY ? 50 : world->b[3];
        launch_named(world, "add_both", 2, false);
        settle(world);
    }
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
    assert_string_equal(world->outlier.input, "b");
}

static void an_entry_can_switch_it_off(void **state)
{
    struct world *world = *state;
    fill(world, 0);
    launch_named(world, "add_unwatched", 3, false);
    assert_int_equal(world->fixture.skip[SKIP_NOT_SAMPLED], 1);
    assert_int_equal(fake.probes, 0);
}

static void a_captured_launch_is_not_looked_at(void **state)
{
    struct world *world = *state;
    fake.capturing = true;
    launch(world, 50);
    assert_int_equal(world->fixture.skip[SKIP_NOT_SAMPLED], 1);
    assert_int_equal(fake.probes, 0);
}

static void what_the_random_gate_takes_is_not_looked_at(void **state)
{
    struct world *world = *state;
    launch_ordinary(world, 5);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 5);
    assert_int_equal(fake.probes, 0);
}

static void launches_that_fail_are_no_outliers(void **state)
{
    struct world *world = *state;
    world->result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    launch(world, 0);
    fill(world, 0);
    launch_named(world, "add", 1, true); /* probed before it failed */
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_LAUNCH_FAILED], 2);
    struct side *side = pipeline_fixture_side(&world->fixture);
    assert_int_equal(slots_in_use(side->slot.free), 0);
}

static void a_full_arena_is_said_of_an_outlier(void **state)
{
    struct world *world = *state;
    launch_ordinary(world, ORDINARY);
    struct side *side = pipeline_fixture_side(&world->fixture);
    struct snapshot_arena *arena = (struct snapshot_arena *)(uintptr_t)side->arena.head;
    arena->head += arena->lap; /* as if handed out */
    launch(world, 50);
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_ARENA_FULL], 1);
    arena->head -= arena->lap;
    launch_ordinary(world, 1);
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], ORDINARY + 1);
}

static void the_centroid_is_fed_by_the_collector(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < ORDINARY; i++) {
        fill(world, 0);
        launch_named(world, "add_centroid", 4, false);
        settle(world);
    }
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1); /* the first batch */
    assert_string_equal(world->outlier.statistic, "first batch");
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], ORDINARY - 1);
    fill(world, 0);
    for (int i = 0; i < ROWS * COLS; i++)
        world->a[i] *= 5;
    launch_named(world, "add_centroid", 4, false);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 2);
    assert_string_equal(world->outlier.statistic, "centroid distance");
    assert_false(world->outlier.sigmas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_ordinary_launch_copies_nothing_and_is_counted),
        TEST(nothing_waits_for_the_gate),
        TEST(an_unusual_launch_is_checked),
        TEST(a_kernel_that_is_wrong_on_unusual_input_is_found),
        TEST(a_wrong_result_is_no_outlier),
        TEST(an_in_place_launch_is_looked_at_before_it_runs),
        TEST(every_named_input_is_looked_at),
        TEST(an_entry_can_switch_it_off),
        TEST(a_captured_launch_is_not_looked_at),
        cmocka_unit_test_setup_teardown(what_the_random_gate_takes_is_not_looked_at, set_up_sampled,
                                        pipeline_fixture_tear_down),
        TEST(launches_that_fail_are_no_outliers),
        TEST(a_full_arena_is_said_of_an_outlier),
        TEST(the_centroid_is_fed_by_the_collector),
        TEST(old_machine_code_is_launched_in_turn),
        cmocka_unit_test_setup_teardown(kernels_that_wait_are_launched_early, set_up_new_gpu,
                                        tear_down_new_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
