/* Launches whose copies are short, from ENTER to their verdicts, on a fake driver: that they take
 * the reserve, what becomes of those for which it is full, and of one that the driver refuses.
 * test_snapshot_short.c has the copies by themselves, test_reserve.c the room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/fakes/pipeline_fixture.h"

static const char registry_text[] = "version: 1\n"
                                    "kernels:\n"
                                    "  - kernel: copy\n"
                                    "    signature: const f32 x[n], f32 y[n], i32 n\n"
                                    "    reference: cast\n"
                                    "  - kernel: add_to\n"
                                    "    signature: const f32 b[n], inout f32 a[n], i32 n\n"
                                    "    reference: add\n"
                                    "    bind: {y: a}\n";

/* Of 64 MiB the reserve is 16, and a snapshot 2. */
enum { COUNT = 1 << 18, MEMORY = 64 << 20, FIT = 8, QUEUE = 64 };

struct world {
    struct pipeline_fixture fixture;
    float *x, *y;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    world->fixture = (struct pipeline_fixture){
        .registry = registry_text,
        .params = {{2, 1}},
        .gate = {1, 0, 0, 0},
        .detector = OUTLIER_OFF,
        .side = {.memory = MEMORY, .queue = QUEUE},
    };
    pipeline_fixture_open(&world->fixture);
    world->x = fake_alloc(COUNT * sizeof(float));
    world->y = fake_alloc(COUNT * sizeof(float));
    for (int i = 0; i < COUNT; i++)
        world->x[i] = (float)i - 7;
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    pipeline_fixture_end(*state);
    return 0;
}

static void launch(struct world *world, int launches)
{
    float *x = world->x, *y = world->y;
    int32_t n = COUNT;
    void *params[] = {&x, &y, &n};
    for (int i = 0; i < launches; i++) {
        struct ticket ticket = {0};
        struct launch launch = pipeline_fixture_launch("copy", 1, params);
        pipeline_enter(&world->fixture.pipeline, &launch, &ticket);
        memcpy(y, x, COUNT * sizeof(float));
        pipeline_exit(&world->fixture.pipeline, &launch, &ticket, CUDA_SUCCESS);
    }
}

/* Of half as many elements, for what is overwritten is copied twice. */
static void launch_in_place(struct world *world, float error, CUresult result)
{
    float *x = world->x, *y = world->y;
    int32_t n = COUNT / 2;
    void *params[] = {&x, &y, &n};
    struct ticket ticket = {0};
    struct launch launch = pipeline_fixture_launch("add_to", 1, params);
    pipeline_enter(&world->fixture.pipeline, &launch, &ticket);
    for (int i = 0; i < n && !result; i++)
        y[i] += x[i] + error;
    pipeline_exit(&world->fixture.pipeline, &launch, &ticket, result);
}

static int matched(struct world *world)
{
    return atomic_load(&world->fixture.verdict[VERDICT_MATCH]);
}

static int skipped(struct world *world, enum skip skip)
{
    return atomic_load(&world->fixture.skip[skip]);
}

/* Whether any snapshot was in the part of the arena that the GPU hands out. */
static bool took_arena(struct world *world)
{
    return pipeline_fixture_side(&world->fixture)->arena.newest > 0;
}

static void they_take_the_reserve(void **state)
{
    struct world *world = *state;
    for (int turn = 1; turn <= 3; turn++) { /* more than once around */
        launch(world, FIT - 1);
        pipeline_fixture_settle(&world->fixture);
        assert_int_equal(matched(world), turn * (FIT - 1));
    }
    assert_false(took_arena(world));
    assert_int_equal(fake.copied, 3 * (FIT - 1) * SNAPSHOT_PIECES);
}

static void what_is_overwritten_is_copied_first(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < COUNT; i++)
        world->y[i] = (float)(i % 7);
    for (int turn = 0; turn < 3 * FIT; turn++) {
        launch_in_place(world, 0, CUDA_SUCCESS);
        pipeline_fixture_settle(&world->fixture);
    }
    assert_int_equal(matched(world), 3 * FIT);
    launch_in_place(world, 1, CUDA_SUCCESS);
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(atomic_load(&world->fixture.verdict[VERDICT_MISMATCH]), 1);
    assert_false(took_arena(world));
    assert_int_equal(atomic_load(&fake.strays), 0);
}

static void launches_that_fail_give_their_room_back(void **state)
{
    struct world *world = *state;
    memset(world->y, 0, COUNT * sizeof(float));
    for (int turn = 1; turn <= 3 * FIT; turn++) {
        launch_in_place(world, 0, CUDA_ERROR_INVALID_VALUE);
        pipeline_fixture_settle(&world->fixture);
        assert_int_equal(skipped(world, SKIP_LAUNCH_FAILED), turn);
    }
    launch_in_place(world, 0, CUDA_SUCCESS);
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(matched(world), 1);
    assert_false(took_arena(world));
}

/* From then on room is handed out ahead. */
static void go_around(struct world *world)
{
    launch(world, FIT);
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(matched(world), FIT);
}

static void miss_one(struct world *world)
{
    launch(world, 1);
    for (int ms = 0; ms < 5000 && !skipped(world, SKIP_ARENA_FULL); ms++)
        usleep(1000);
    assert_int_equal(skipped(world, SKIP_ARENA_FULL), 1);
}

/* The copy before the launch had no room; the one behind it has some by then. */
static void half_a_snapshot_is_none(void **state)
{
    struct world *world = *state;
    float *x = world->x, *y = world->y;
    int32_t n = COUNT / 2;
    void *params[] = {&x, &y, &n};
    struct ticket ticket = {0};
    struct launch in_place = pipeline_fixture_launch("add_to", 1, params);
    go_around(world);
    pipeline_wait_begins(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    launch(world, FIT);
    pipeline_enter(&world->fixture.pipeline, &in_place, &ticket);
    pipeline_wait_ends(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    for (int ms = 0; ms < 5000 && matched(world) < 2 * FIT; ms++)
        usleep(1000);
    pipeline_exit(&world->fixture.pipeline, &in_place, &ticket, CUDA_SUCCESS);
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(matched(world), 2 * FIT);
    assert_int_equal(skipped(world, SKIP_ARENA_FULL), 1);
    launch(world, 1);
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(matched(world), 2 * FIT + 1);
}

/* No reference starts while the program waits for its context, so no room comes back. */
static void what_has_no_room_is_counted(void **state)
{
    struct world *world = *state;
    go_around(world);
    pipeline_wait_begins(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    launch(world, FIT);
    miss_one(world);
    pipeline_wait_ends(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(matched(world), 2 * FIT);
    launch(world, FIT); /* and it all comes back */
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(matched(world), 3 * FIT);
    assert_int_equal(skipped(world, SKIP_ARENA_FULL), 1);
    assert_false(took_arena(world));
}

/* Others after it look for room when the GPU gets there. */
static void after_one_without_room_the_arena_is_taken(void **state)
{
    struct world *world = *state;
    go_around(world);
    assert_false(took_arena(world));
    pipeline_wait_begins(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    launch(world, FIT);
    miss_one(world);
    launch(world, FIT);
    pipeline_wait_ends(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(skipped(world, SKIP_ARENA_FULL), 1);
    assert_int_equal(matched(world), 3 * FIT);
    assert_true(took_arena(world));
}

/* As long as the time that a check takes is unknown. */
static void in_the_first_round_the_arena_is_taken(void **state)
{
    struct world *world = *state;
    pipeline_wait_begins(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    launch(world, FIT);
    assert_false(took_arena(world));
    launch(world, FIT);
    pipeline_wait_ends(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(matched(world), 2 * FIT);
    assert_true(took_arena(world));
}

static void one_that_the_driver_refuses_shuts_it(void **state)
{
    struct world *world = *state;
    atomic_store(&fake.fail_launch, 1);
    launch(world, 1);
    assert_int_equal(skipped(world, SKIP_DRIVER), 1);
    launch(world, FIT);
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(matched(world), FIT);
    assert_true(took_arena(world));
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(they_take_the_reserve),
        TEST(what_is_overwritten_is_copied_first),
        TEST(launches_that_fail_give_their_room_back),
        TEST(half_a_snapshot_is_none),
        TEST(what_has_no_room_is_counted),
        TEST(after_one_without_room_the_arena_is_taken),
        TEST(in_the_first_round_the_arena_is_taken),
        TEST(one_that_the_driver_refuses_shuts_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
