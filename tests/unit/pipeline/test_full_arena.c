/* Launches that fill the arena, from ENTER to their verdicts, on a fake driver: it is used more
 * than once around, what finds no room is counted, and all room comes back. test_refused.c has the
 * turns. */
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

/* A snapshot takes 2 MiB. */
enum { COUNT = 1 << 18, FIT = 8, MEMORY = FIT * 2 << 20, QUEUE = 64 };

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

static void all_room_is_free(struct world *world)
{
    const struct side *side = pipeline_fixture_side(&world->fixture);
    assert_true(side->arena.newest > 0);
    assert_true(*side->arena.tail == side->arena.newest);
}

static void they_go_around_the_arena(void **state)
{
    struct world *world = *state;
    for (int turn = 1; turn <= 3; turn++) {
        launch(world, FIT - 1);
        pipeline_fixture_settle(&world->fixture);
        assert_int_equal(matched(world), turn * (FIT - 1));
    }
    all_room_is_free(world);
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
    all_room_is_free(world);
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
    all_room_is_free(world);
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
    pipeline_wait_begins(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    launch(world, FIT);
    pipeline_enter(&world->fixture.pipeline, &in_place, &ticket);
    pipeline_wait_ends(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    for (int ms = 0; ms < 5000 && matched(world) < FIT; ms++)
        usleep(1000);
    pipeline_exit(&world->fixture.pipeline, &in_place, &ticket, CUDA_SUCCESS);
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(matched(world), FIT);
    assert_int_equal(skipped(world, SKIP_ARENA_FULL), 1);
    launch(world, 1);
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(matched(world), FIT + 1);
    all_room_is_free(world);
}

/* No reference starts while the program waits for its context, so no room comes back. */
static void what_has_no_room_is_counted(void **state)
{
    struct world *world = *state;
    pipeline_wait_begins(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    launch(world, FIT);
    miss_one(world);
    pipeline_wait_ends(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(matched(world), FIT);
    launch(world, FIT); /* and it all comes back */
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(matched(world), 2 * FIT);
    assert_int_equal(skipped(world, SKIP_ARENA_FULL), 1);
    all_room_is_free(world);
}

/* The only snapshot in the arena may take all of it, wherever the ring's head stands. */
static void one_as_large_as_the_arena_fits(void **state)
{
    struct world *world = *state;
    float *x = fake_alloc(MEMORY / 2), *y = fake_alloc(MEMORY / 2);
    int32_t n = MEMORY / 2 / (int32_t)sizeof(float);
    void *params[] = {&x, &y, &n};
    memset(x, 0, MEMORY / 2);
    launch(world, 1);
    pipeline_fixture_settle(&world->fixture);
    for (int turn = 1; turn <= 3; turn++) {
        struct ticket ticket = {0};
        struct launch large = pipeline_fixture_launch("copy", 1, params);
        pipeline_enter(&world->fixture.pipeline, &large, &ticket);
        memcpy(y, x, MEMORY / 2);
        pipeline_exit(&world->fixture.pipeline, &large, &ticket, CUDA_SUCCESS);
        pipeline_fixture_settle(&world->fixture);
        assert_int_equal(matched(world), 1 + turn);
    }
    all_room_is_free(world);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(they_go_around_the_arena),
        TEST(what_is_overwritten_is_copied_first),
        TEST(launches_that_fail_give_their_room_back),
        TEST(half_a_snapshot_is_none),
        TEST(what_has_no_room_is_counted),
        TEST(one_as_large_as_the_arena_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
