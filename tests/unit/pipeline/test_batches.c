/* Checks whose references run in one launch, from ENTER to their verdicts, on a fake driver: who
 * goes with whom, that each has its own verdict and its share of the cost, and who is not held
 * back. test_waiting.c has the rules by themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>
#include "base/clock.h"
#include "tests/unit/fakes/pipeline_fixture.h"
#include "judge/waiting.h"

static const char registry_text[] =
    "version: 1\n"
    "kernels:\n"
    "  - kernel: twice\n"
    "    signature: const f32 x[rows][cols], f32 y[rows][cols], i32 rows, i32 cols\n"
    "    reference: scale\n"
    "    bind: {alpha: 2}\n"
    "  - kernel: thrice\n"
    "    signature: const f32 x[rows][cols], f32 y[rows][cols], i32 rows, i32 cols\n"
    "    reference: scale\n"
    "    bind: {alpha: 3}\n"
    "  - kernel: copy\n"
    "    signature: const f32 x[rows][cols], f32 y[rows][cols], i32 rows, i32 cols\n"
    "    reference: cast\n"
    "  - kernel: same\n"
    "    signature: const f32 x[rows][cols], f32 y[rows][cols], i32 rows, i32 cols\n"
    "    reference: cast\n"
    "    deterministic: yes\n";

enum { ROWS = 4, COLS = 16, QUEUE = 64, MOST = 64 };

/* Symbols, handles and factors by the order of the registry. */
static const struct subject {
    const char *symbol;
    float factor;
} subjects[] = {{"twice", 2}, {"thrice", 3}, {"copy", 1}, {"same", 1}};
enum { TWICE, THRICE, COPY, SAME };

struct world {
    struct pipeline_fixture fixture;
    float *x, *y[MOST];
    int launched;
    uint64_t reference_ns;
    uint64_t wrong;  /* the launch of the latest mismatch ... */
    double expected; /* ... and what the reference has for its first element */
};

/* As a bundle does, it runs the reference again, while others of its launch have not been read. */
static void on_judged(void *user, const struct check_report *report,
                      const struct bundle_source *source)
{
    struct world *world = user;
    if (report->verdict == VERDICT_MISMATCH) {
        world->wrong = report->launch;
        assert_int_equal(source->read_reference(source->user, 1, 0, 1, &world->expected),
                         STATUS_OK);
    }
}

static void on_spent(void *user, const struct kernel_spec *spec, const struct check_cost *cost)
{
    (void)spec;
    ((struct world *)user)->reference_ns += cost->reference;
}

static int set_up_with(void **state, uint64_t memory, uint32_t queue)
{
    struct world *world = calloc(1, sizeof(*world));
    world->fixture = (struct pipeline_fixture){
        .registry = registry_text,
        .params = {{2, 2}},
        .judged = on_judged,
        .spent = on_spent,
        .gate = {1, 0, 0, 0},
        .detector = OUTLIER_OFF,
        .side = {.memory = memory, .queue = queue},
    };
    pipeline_fixture_open(&world->fixture);
    world->x = fake_alloc(ROWS * COLS * sizeof(float));
    for (int i = 0; i < MOST; i++)
        world->y[i] = fake_alloc(ROWS * COLS * sizeof(float));
    for (int i = 0; i < ROWS * COLS; i++)
        world->x[i] = (float)i - 7;
    *state = world;
    return 0;
}

static int set_up(void **state)
{
    return set_up_with(state, 1 << 20, QUEUE);
}

static int set_up_short(void **state)
{
    return set_up_with(state, 1 << 20, 8);
}

static int set_up_small(void **state)
{
    return set_up_with(state, 4096, QUEUE);
}

static void launch(struct world *world, int subject, bool wrong)
{
    struct ticket ticket = {0};
    float *x = world->x, *y = world->y[world->launched++ % MOST];
    int32_t rows = ROWS, cols = COLS;
    void *params[] = {&x, &y, &rows, &cols};
    struct launch launch =
        pipeline_fixture_launch(subjects[subject].symbol, (uintptr_t)subject + 1, params);
    pipeline_enter(&world->fixture.pipeline, &launch, &ticket);
    for (int i = 0; i < ROWS * COLS; i++)
        y[i] = subjects[subject].factor * x[i];
    y[0] += wrong;
    pipeline_exit(&world->fixture.pipeline, &launch, &ticket, CUDA_SUCCESS);
}

/* The program waits for its context: copies complete, but no reference starts. */
static void gather(struct world *world)
{
    pipeline_wait_begins(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
}

static int seal_read(struct world *world)
{
    struct side *side = pipeline_fixture_side(&world->fixture);
    int count = 0;
    for (uint32_t i = 0; i < side->slot.count; i++)
        count += __atomic_load_n(&side->slot.check[i].seal.read, __ATOMIC_ACQUIRE);
    return count;
}

/* Once the collector has all `count` copies, what gathered may go. */
static void let_go(struct world *world, int count)
{
    for (int ms = 0; ms < 5000 && seal_read(world) < count; ms++)
        usleep(1000);
    assert_int_equal(seal_read(world), count);
    pipeline_wait_ends(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    pipeline_fixture_settle(&world->fixture);
}

static void checks_of_one_kernel_share_a_launch(void **state)
{
    struct world *world = *state;
    atomic_store(&fake.reference_ns, 8000);
    gather(world);
    for (int i = 0; i < REF_BATCH; i++)
        launch(world, TWICE, i == 5);
    let_go(world, REF_BATCH);
    assert_int_equal(fake.compared, 1);
    assert_int_equal(fake.most_calls, REF_BATCH);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], REF_BATCH - 1);
    assert_int_equal(world->fixture.verdict[VERDICT_MISMATCH], 1);
    assert_int_equal(world->wrong, 5);
    assert_true(world->expected == -14);
    assert_int_equal(world->reference_ns, 8000); /* of all together */
}

static void more_than_fit_take_another_launch(void **state)
{
    enum { COUNT = 2 * REF_BATCH + 3 };
    struct world *world = *state;
    gather(world);
    for (int i = 0; i < COUNT; i++)
        launch(world, TWICE, false);
    let_go(world, COUNT);
    assert_int_equal(fake.compared, 3);
    assert_int_equal(fake.most_calls, REF_BATCH);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], COUNT);
}

static void kernels_with_one_reference_go_together_and_others_do_not(void **state)
{
    struct world *world = *state;
    gather(world);
    for (int i = 0; i < 2; i++) {
        launch(world, TWICE, false);
        launch(world, COPY, i == 1);
        launch(world, THRICE, false);
    }
    let_go(world, 6);
    assert_int_equal(fake.compared, 2);
    assert_int_equal(fake.most_calls, 4);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 5);
    assert_int_equal(world->fixture.verdict[VERDICT_MISMATCH], 1);
    assert_int_equal(world->wrong, 1);
    assert_true(world->expected == -7);
}

static void those_that_are_held_against_earlier_ones_stay_alone(void **state)
{
    struct world *world = *state;
    gather(world);
    for (int i = 0; i < 3; i++)
        launch(world, SAME, false);
    let_go(world, 3);
    assert_int_equal(fake.compared, 3);
    assert_int_equal(fake.most_calls, 1);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 3);
}

static void a_launch_that_fails_costs_its_checks_alone(void **state)
{
    struct world *world = *state;
    gather(world);
    for (int i = 0; i < 3; i++)
        launch(world, TWICE, false);
    for (int i = 0; i < 2; i++)
        launch(world, COPY, false);
    atomic_store(&fake.fail_launch, 1);
    let_go(world, 5);
    int skipped = world->fixture.skip[SKIP_DRIVER]; /* whichever was first */
    assert_true(skipped == 3 || skipped == 2);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 5 - skipped);
    launch(world, TWICE, false);
    pipeline_fixture_settle(&world->fixture);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 6 - skipped);
}

/* ---- who waits, and for how long ---- */

/* ns from the first of `count` launches to the last verdict; `drain`: a thread waits for them. */
static int64_t time_of(struct world *world, int count, bool drain)
{
    int wanted = atomic_load(&world->fixture.verdict[VERDICT_MATCH]) + count;
    int64_t began = clock_ns();
    for (int i = 0; i < count; i++)
        launch(world, TWICE, false);
    if (drain)
        pipeline_fixture_settle(&world->fixture);
    for (int i = 0; i < 500000 && atomic_load(&world->fixture.verdict[VERDICT_MATCH]) < wanted; i++)
        usleep(10);
    int64_t time = clock_ns() - began;
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], wanted);
    /* Until the slots are free as well: otherwise the next one would find them in use. */
    pipeline_fixture_settle(&world->fixture);
    return time;
}

/* The machine may be slow now and then; the soonest of many shows whether anything was held back.
 */
static int64_t soonest(struct world *world, int count, bool drain)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < 100; i++) {
        int64_t time = time_of(world, count, drain);
        least = time < least ? time : least;
    }
    return least;
}

static void a_single_check_waits_for_others_and_then_goes(void **state)
{
    struct world *world = *state;
    time_of(world, 1, false); /* the context is set up */
    for (int i = 0; i < 3; i++)
        assert_true(time_of(world, 1, false) >= WAITING_HOLD_NS);
}

static void none_waits_while_somebody_waits_for_it(void **state)
{
    struct world *world = *state;
    assert_true(soonest(world, 1, true) < WAITING_HOLD_NS);
}

static void none_waits_in_a_full_launch(void **state)
{
    struct world *world = *state;
    assert_true(soonest(world, REF_BATCH, false) < WAITING_HOLD_NS);
}

static void none_waits_where_slots_run_short(void **state)
{
    struct world *world = *state; /* 8 slots */
    assert_true(soonest(world, 2, false) < WAITING_HOLD_NS);
    assert_true(time_of(world, 1, false) >= WAITING_HOLD_NS);
}

static void none_waits_where_the_arena_runs_short(void **state)
{
    struct world *world = *state; /* 4 KiB; a launch takes 512 bytes */
    assert_true(soonest(world, 2, false) < WAITING_HOLD_NS);
    assert_true(time_of(world, 1, false) >= WAITING_HOLD_NS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, pipeline_fixture_tear_down)
#define TEST_SHORT(name)                                                                           \
    cmocka_unit_test_setup_teardown(name, set_up_short, pipeline_fixture_tear_down)
#define TEST_SMALL(name)                                                                           \
    cmocka_unit_test_setup_teardown(name, set_up_small, pipeline_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(checks_of_one_kernel_share_a_launch),
        TEST(more_than_fit_take_another_launch),
        TEST(kernels_with_one_reference_go_together_and_others_do_not),
        TEST(those_that_are_held_against_earlier_ones_stay_alone),
        TEST(a_launch_that_fails_costs_its_checks_alone),
        TEST(a_single_check_waits_for_others_and_then_goes),
        TEST(none_waits_while_somebody_waits_for_it),
        TEST(none_waits_in_a_full_launch),
        TEST_SHORT(none_waits_where_slots_run_short),
        TEST_SMALL(none_waits_where_the_arena_runs_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
