/* The life of a launch from ENTER to a verdict, on a fake driver: what is caught, what stays quiet,
 * what is skipped for which reason, and that every launch lands in exactly one bucket. */
#include "extra/digest.h"
#include "gate/ledger.h"
#include "tests/unit/pipeline/pipeline_world.h"

static int set_up_poor(void **state)
{
    budget = 0.01;
    int status = set_up(state);
    budget = 0;
    return status;
}

static void a_right_kernel_matches(void **state)
{
    struct world *world = *state;
    launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
    assert_int_equal(world->numbers.checked, ROWS * COLS);
}

static void a_wrong_element_is_named(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    args.wrong = 2 * PITCH + 3;
    launch_add(world, args);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MISMATCH], 1);
    assert_int_equal(world->numbers.violations, 1);
    assert_int_equal(world->numbers.first_index, 2 * COLS + 3); /* of the tensor, not the memory */
    assert_true(world->reference[1] == 100 - 0.75);
    assert_true(world->got[1] == 100 - 0.75f);
}

static void padding_between_rows_is_not_compared(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    args.wrong = COLS; /* behind the first row's end */
    launch_add(world, args);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
}

static void an_in_place_launch_is_judged_on_what_it_read(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    args.y = args.a;
    launch_add(world, args);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
}

static void launch_accumulate(struct world *world, float *x, float *y, float extra)
{
    int32_t rows = 1, cols = 8;
    void *params[] = {&x, &y, &rows, &cols};
    struct launch launch = pipeline_fixture_launch("accumulate", 2, params);
    pipeline_enter(&world->fixture.pipeline, &launch, &world->ticket);
    for (int i = 0; i < 8; i++)
        y[i] += x[i] + extra;
    pipeline_exit(&world->fixture.pipeline, &launch, &world->ticket, CUDA_SUCCESS);
    settle(world);
}

static void an_accumulated_output_counts_from_its_old_value(void **state)
{
    struct world *world = *state;
    float *x = fake_alloc(32), *y = fake_alloc(32);
    for (int i = 0; i < 8; i++) {
        x[i] = (float)i;
        y[i] = 1000;
    }
    launch_accumulate(world, x, y, 0);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
    launch_accumulate(world, x, y, 1);
    assert_int_equal(world->fixture.verdict[VERDICT_MISMATCH], 1);
}

static void unregistered_kernels_are_counted(void **state)
{
    struct world *world = *state;
    struct launch launch = {.symbol = "other", .function = (void *)9, .context = (void *)CONTEXT};
    pipeline_enter(&world->fixture.pipeline, &launch, &world->ticket);
    pipeline_exit(&world->fixture.pipeline, &launch, &world->ticket, CUDA_SUCCESS);
    assert_int_equal(world->fixture.skip[SKIP_UNREGISTERED], 1);
}

static void a_refused_launch_is_reported_and_frees_its_slot(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    args.result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    launch_add(world, args);
    args.y = args.a; /* with a copy already under way */
    launch_add(world, args);
    settle(world);
    assert_int_equal(world->failures, 2);
    assert_int_equal(world->fixture.skip[SKIP_LAUNCH_FAILED], 2);
    assert_string_equal(world->sentence, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
    struct side *side = pipeline_fixture_side(&world->fixture);
    assert_int_equal(slots_in_use(side->slot.free), 0);
}

static void a_captured_launch_is_left_alone(void **state)
{
    struct world *world = *state;
    fake.capturing = true;
    launch_add(world, add_args());
    assert_int_equal(world->fixture.skip[SKIP_CAPTURED], 1);
    fake.capturing = false;
    launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
}

/* They are not counted in, so their place is enough. */
static struct tally *find_tallies(void *user, const struct kernel_spec *of)
{
    static _Alignas(64) char rows[2];
    (void)user;
    return (struct tally *)(void *)&rows[of != NULL];
}

/* By which the launches of an eager run are held against those of a graph's replays. */
static void captured_launches_have_no_number_among_those_that_run(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    digest_all = true;
    world->fixture.sink.tallies = find_tallies;
    for (int i = 0; i < 3; i++) {
        launch_add(world, args);
        settle(world);
    }
    assert_int_equal(world->ticket.executed, 2);
    fake.capturing = true;
    for (int i = 0; i < 5; i++)
        launch_add(world, args);
    assert_int_equal(world->fixture.skip[SKIP_NOT_SAMPLED], 5);
    assert_null(atomic_load(&world->ticket.kernel->tallies));
    fake.capturing = false;
    launch_add(world, args);
    digest_all = false;
    settle(world);
    assert_int_equal(world->ticket.number, 8);
    assert_int_equal(world->ticket.executed, 3);
}

/* A thread may have counted its captured launches before another one's that were numbered earlier.
 */
static void more_captured_launches_than_numbers_leave_zero(void **state)
{
    struct world *world = *state;
    launch_add(world, add_args());
    atomic_store(&world->ticket.kernel->captured, 5);
    digest_all = true;
    launch_add(world, add_args());
    digest_all = false;
    settle(world);
    assert_int_equal(world->ticket.executed, 0);
}

/* Without digests nothing is queried for it. */
static void without_digests_all_launches_have_a_number(void **state)
{
    struct world *world = *state;
    fake.capturing = true;
    launch_add(world, add_args());
    fake.capturing = false;
    launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->ticket.executed, 1);
}

static void an_extent_outside_its_allocation_is_refused(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    args.a = fake_alloc(2 * ROWS * PITCH * sizeof(float));
    fake.allocation[fake_find((uint64_t)(uintptr_t)args.a)].bytes /= 2;
    args.a += 100; /* the array ends behind what the driver calls its allocation */
    launch_add(world, args);
    launch_add(world, args);
    assert_int_equal(world->fixture.skip[SKIP_EXTENT], 2);
    assert_int_equal(world->warnings, 1); /* printed once */
    assert_non_null(strstr(world->sentence, "argument 'a'"));
    assert_non_null(strstr(world->sentence, "outside the allocation"));
}

static void a_null_pointer_and_an_empty_launch_have_their_buckets(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    float *y = args.y;
    struct add_args null = args, empty = args;
    null.b = NULL;
    empty.rows = 0;
    void *params[] = {&null.a, &null.b, &null.y, &null.rows, &null.cols, &null.pitch};
    void *empty_params[] = {&empty.a, &empty.b, &empty.y, &empty.rows, &empty.cols, &empty.pitch};
    struct launch launch = pipeline_fixture_launch("add", 1, params);
    pipeline_enter(&world->fixture.pipeline, &launch, &world->ticket);
    pipeline_exit(&world->fixture.pipeline, &launch, &world->ticket, CUDA_SUCCESS);
    launch.params = empty_params;
    pipeline_enter(&world->fixture.pipeline, &launch, &world->ticket);
    pipeline_exit(&world->fixture.pipeline, &launch, &world->ticket, CUDA_SUCCESS);
    assert_int_equal(world->fixture.skip[SKIP_NULL_POINTER], 1);
    assert_int_equal(world->fixture.skip[SKIP_EMPTY], 1);
    assert_ptr_equal(args.y, y);
}

static struct side *only_side(struct world *world)
{
    return pipeline_fixture_side(&world->fixture);
}

/* The program's stream comes to an end: copies that were held back complete. */
static void publish_seals(struct world *world)
{
    struct side *side = only_side(world);
    fake.hold_seals = false;
    for (uint32_t i = 0; i < side->slot.count; i++)
        __atomic_store_n(&side->slot.seal[i].sequence, side->slot.check[i].sequence,
                         __ATOMIC_RELEASE);
}

static void a_full_queue_is_counted_and_recovers(void **state)
{
    struct world *world = *state; /* two slots */
    fake.hold_seals = true;
    for (int i = 0; i < 3; i++)
        launch_add(world, add_args());
    assert_int_equal(world->fixture.skip[SKIP_QUEUE_FULL], 1);
    publish_seals(world);
    settle(world);
    launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 3);
}

static void a_full_arena_is_counted_and_recovers(void **state)
{
    struct world *world = *state; /* 8 KiB; one launch takes a little over three */
    fake.hold_seals = true;
    for (int i = 0; i < 3; i++)
        launch_add(world, add_args());
    publish_seals(world);
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_ARENA_FULL], 1);
    for (int i = 0; i < 20; i++) { /* round and round the ring */
        launch_add(world, add_args());
        settle(world);
    }
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 22);
}

static void a_full_arena_does_not_cost_a_first_launch_its_turn(void **state)
{
    struct world *world = *state;
    fake.hold_seals = true;
    for (int i = 0; i < 3; i++)
        launch_add(world, add_args());
    publish_seals(world);
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_ARENA_FULL], 1);
    launch_add(world, add_args()); /* the third that is checked */
    settle(world);
    launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 3);
    assert_int_equal(world->fixture.skip[SKIP_NOT_SAMPLED], 1);
}

static void the_budget_passes_random_launches_over(void **state)
{
    struct world *world = *state;
    fake.copy_ns = 1000000000; /* one check of a second takes 100 seconds to pay for */
    launch_add(world, add_args());
    settle(world);
    for (int i = 0; i < 3; i++)
        launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
    assert_int_equal(world->fixture.skip[SKIP_BUDGET], 3);
    assert_int_equal(world->spent, 1000000000);
}

static void without_a_budget_all_are_checked(void **state)
{
    struct world *world = *state;
    fake.copy_ns = 1000000000;
    for (int i = 0; i < 3; i++) {
        launch_add(world, add_args());
        settle(world);
    }
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 3);
    assert_int_equal(world->spent, 3000000000);
}

static void a_snapshot_larger_than_the_arena_is_refused(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    args.a = fake_alloc(1 << 16);
    args.b = fake_alloc(1 << 16);
    args.y = fake_alloc(1 << 16);
    args.rows = 64;
    launch_add(world, args);
    assert_int_equal(world->fixture.skip[SKIP_TOO_LARGE], 1);
    assert_non_null(strstr(world->sentence, "CUVET_MEMORY"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_right_kernel_matches),
        TEST(a_wrong_element_is_named),
        TEST(padding_between_rows_is_not_compared),
        TEST(an_in_place_launch_is_judged_on_what_it_read),
        TEST(an_accumulated_output_counts_from_its_old_value),
        TEST(unregistered_kernels_are_counted),
        TEST(a_refused_launch_is_reported_and_frees_its_slot),
        TEST(a_captured_launch_is_left_alone),
        TEST_SMALL_FIRST(captured_launches_have_no_number_among_those_that_run),
        TEST(more_captured_launches_than_numbers_leave_zero),
        TEST(without_digests_all_launches_have_a_number),
        TEST(an_extent_outside_its_allocation_is_refused),
        TEST(a_null_pointer_and_an_empty_launch_have_their_buckets),
        TEST_NARROW(a_full_queue_is_counted_and_recovers),
        TEST_SMALL(a_full_arena_is_counted_and_recovers),
        cmocka_unit_test_setup_teardown(the_budget_passes_random_launches_over, set_up_poor,
                                        pipeline_fixture_tear_down),
        TEST(without_a_budget_all_are_checked),
        TEST_SMALL_FIRST(a_full_arena_does_not_cost_a_first_launch_its_turn),
        TEST_SMALL(a_snapshot_larger_than_the_arena_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
