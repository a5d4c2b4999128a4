/* The pipeline where the driver fails, and where contexts and modules come and go, on a fake
 * driver. */
#include "tests/unit/pipeline/pipeline_world.h"

static void a_driver_error_of_ours_costs_the_check_alone(void **state)
{
    struct world *world = *state;
    launch_add(world, add_args()); /* the context is set up */
    settle(world);
    fake.fail_launch = 1;
    launch_add(world, add_args());
    fake.fail_launch = 2; /* the copy works, the reference does not */
    launch_add(world, add_args());
    settle(world);
    launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_DRIVER], 2);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 2);
}

static void a_snapshot_that_cannot_be_completed_ends_the_checking(void **state)
{
    struct world *world = *state;
    launch_add(world, add_args());
    settle(world);
    struct add_args in_place = add_args();
    in_place.y = in_place.a;
    fake.fail_launch = 2; /* the copy before the launch works, the one after does not */
    launch_add(world, in_place);
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_DRIVER], 1);
    launch_add(world, add_args());
    assert_int_equal(world->fixture.skip[SKIP_NOT_READY], 1);
}

static void no_reference_starts_while_the_program_waits_for_the_context(void **state)
{
    struct world *world = *state;
    CUcontext context = (CUcontext)(uintptr_t)CONTEXT;
    launch_add(world, add_args());
    settle(world);
    int before = fake.references;
    pipeline_wait_begins(&world->fixture.pipeline, context);
    launch_add(world, add_args());
    assert_false(collector_drain(world->fixture.pipeline.collector, 50));
    assert_int_equal(fake.references, before);
    pipeline_wait_ends(&world->fixture.pipeline, context);
    settle(world);
    assert_true(fake.references > before);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 2);
}

static void a_context_that_goes_takes_its_checks_with_it(void **state)
{
    struct world *world = *state;
    launch_add(world, add_args());
    settle(world);
    fake.hold_seals = true;
    launch_add(world, add_args());
    pipeline_context_going(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    assert_int_equal(world->fixture.skip[SKIP_EXIT], 1);
    launch_add(world, add_args()); /* no side any more */
    assert_int_equal(world->fixture.skip[SKIP_NOT_READY], 1);
}

static void a_context_whose_creation_was_not_reported_is_checked(void **state)
{
    struct world *world = *state;
    struct sides *sides = world->fixture.pipeline.sides;
    struct side *side = sides_open_unseen(sides, (CUcontext)(uintptr_t)(CONTEXT + 1));
    assert_non_null(side);
    assert_ptr_equal(sides_open_unseen(sides, (CUcontext)(uintptr_t)(CONTEXT + 1)), side);
    sides_close(sides, side);
    assert_null(sides_open_unseen(sides, (CUcontext)(uintptr_t)(CONTEXT + 1)));
}

static void a_context_in_error_ends_the_checking(void **state)
{
    struct world *world = *state;
    launch_add(world, add_args());
    settle(world);
    fake.hold_seals = true;
    fake.stream_state = CUDA_ERROR_ILLEGAL_ADDRESS;
    launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_DRIVER], 1);
    launch_add(world, add_args());
    assert_int_equal(world->fixture.skip[SKIP_NOT_READY], 1);
}

static void an_unloaded_module_makes_its_handles_doubtful(void **state)
{
    struct world *world = *state;
    launch_add(world, add_args());
    kernels_revalidate();
    struct launch launch = {.symbol = "other", .function = (void *)1, .context = (void *)CONTEXT};
    pipeline_enter(&world->fixture.pipeline, &launch,
                   &world->ticket); /* the same handle, another kernel */
    pipeline_exit(&world->fixture.pipeline, &launch, &world->ticket, CUDA_SUCCESS);
    assert_int_equal(world->fixture.skip[SKIP_UNREGISTERED], 1);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
}

static CUresult tell_module(CUmodule *module, CUfunction function)
{
    *module = (CUmodule)((uintptr_t)function + 0x1000);
    return CUDA_SUCCESS;
}

/* Two modules have a kernel of that name; each call that loads one names its module. */
static void a_mismatch_has_the_image_of_its_launch(void **state)
{
    struct world *world = *state;
    struct images *images = world->fixture.images;
    struct small_elf elf[2] = {small_elf("add"), small_elf("add")};
    struct add_args args = add_args();
    args.wrong = 1;
    cuda.cuFuncGetModule = tell_module;
    for (uint32_t i = 0; i < 2; i++) {
        elf[i].mark = (char)('a' + i);
        images_call_begins();
        images_loaded(images, (void *)CONTEXT, i, NULL, &elf[i], sizeof(elf[i]));
        images_call_ends(images, (void *)(uintptr_t)(i ? 0x1001 : 0x1002));
    }
    launch_add(world, args);
    settle(world);
    assert_memory_equal(world->image, &elf[1], sizeof(elf[1]));
    cuda.cuFuncGetModule = NULL; /* not to be had: no image rather than another module's */
    launch_add(world, args);
    settle(world);
    assert_int_equal(world->image[0], 0);
    assert_non_null(strstr(world->no_image, "several"));
    images_unloading(images, (void *)CONTEXT, 0);
    launch_add(world, args);
    settle(world);
    assert_memory_equal(world->image, &elf[1], sizeof(elf[1]));
}

static void a_context_is_set_up_for_its_first_check(void **state)
{
    struct world *world = *state;
    struct side *side = pipeline_fixture_side(&world->fixture);
    struct launch other = {.symbol = "other", .function = (void *)9, .context = (void *)CONTEXT};
    pipeline_enter(&world->fixture.pipeline, &other, &world->ticket);
    pipeline_exit(&world->fixture.pipeline, &other, &world->ticket, CUDA_SUCCESS);
    fake.capturing = true;
    struct add_args args = add_args();
    int own = fake.allocations; /* the program's */
    launch_add(world, args);
    fake.capturing = false;
    assert_int_equal(side->state, SIDE_FRESH);
    assert_int_equal(fake.allocations, own);
    assert_int_equal(world->fixture.skip[SKIP_CAPTURED], 1);
    launch_add(world, args);
    assert_int_equal(side->state, SIDE_READY);
    assert_true(fake.allocations > own);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
}

static atomic_bool hold_stream;

static CUresult slow_stream_create(CUstream *out, unsigned flags, int priority)
{
    while (atomic_load(&hold_stream))
        usleep(1000);
    return fake_stream_create(out, flags, priority);
}

static void one_launch_alone_waits_for_a_slow_set_up(void **state)
{
    enum { WAIT_MS = 100, LATER = 5 };
    struct world *world = *state;
    struct add_args args = add_args();
    world->fixture.pipeline.ready_wait_ms = WAIT_MS;
    cuda.cuStreamCreateWithPriority = slow_stream_create;
    atomic_store(&hold_stream, true);
    launch_add(world, args);
    int64_t began = clock_ns();
    for (int i = 0; i < LATER; i++)
        launch_add(world, args);
    assert_true(clock_ns() - began < (int64_t)WAIT_MS * 1000000);
    assert_int_equal(world->fixture.skip[SKIP_NOT_READY], 1 + LATER);
    atomic_store(&hold_stream, false);
    settle(world);
    launch_add(world, args);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_driver_error_of_ours_costs_the_check_alone),
        TEST(a_snapshot_that_cannot_be_completed_ends_the_checking),
        TEST(no_reference_starts_while_the_program_waits_for_the_context),
        TEST(a_context_that_goes_takes_its_checks_with_it),
        TEST(a_context_whose_creation_was_not_reported_is_checked),
        TEST(a_context_in_error_ends_the_checking),
        TEST(an_unloaded_module_makes_its_handles_doubtful),
        TEST(a_mismatch_has_the_image_of_its_launch),
        TEST(a_context_is_set_up_for_its_first_check),
        TEST(one_launch_alone_waits_for_a_slow_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
