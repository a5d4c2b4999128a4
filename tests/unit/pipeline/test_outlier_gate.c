/* The outlier gate in the life of a launch, on a fake driver: an ordinary launch copies nothing and
 * is counted, an unusual one is checked, the books balance, the host waits for nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <unistd.h>
#include "base/clock.h"
#include "tests/unit/common/pipeline_fixture.h"

static const char registry_text[] =
    "version: 1\n"
    "kernels:\n"
    "  - kernel: add\n"
    "    signature: const f32 a[rows][cols], const f32 b[rows][cols], f32 y[rows][cols],"
    " i32 rows, i32 cols\n"
    "    reference: add\n"
    "  - kernel: add_both\n"
    "    signature: const f32 a[rows][cols], const f32 b[rows][cols], f32 y[rows][cols],"
    " i32 rows, i32 cols\n"
    "    reference: add\n"
    "    outlier: {inputs: [a, b]}\n"
    "  - kernel: add_unwatched\n"
    "    signature: const f32 a[rows][cols], const f32 b[rows][cols], f32 y[rows][cols],"
    " i32 rows, i32 cols\n"
    "    reference: add\n"
    "    outlier: off\n"
    "  - kernel: add_centroid\n"
    "    signature: const f32 a[rows][cols], const f32 b[rows][cols], f32 y[rows][cols],"
    " i32 rows, i32 cols\n"
    "    reference: add\n"
    "    outlier: {detector: centroid, max_distances: 500, threshold: 0.97}\n";

enum { ROWS = 16, COLS = 8, ORDINARY = 40 };

struct world {
    struct pipeline_fixture fixture;
    struct ticket ticket;
    struct outlier_call_report outlier; /* of the last verdict */
    char gate[16];
    float *a, *b, *y;
    CUresult result;                   /* what the driver says to launches of the program */
    bool wrong;                        /* the kernel is, on this launch */
    atomic_int paid;                   /* looks whose account the program's thread is on */
    _Atomic(uint64_t) decided;         /* ns of launches that were neither looked at nor checked */
    void (*meanwhile)(struct world *); /* between the look's launch and its end, or NULL */
};

static void on_judged(void *user, const struct check_report *report,
                      const struct bundle_source *source)
{
    struct world *world = user;
    (void)source;
    world->outlier = report->outlier;
    snprintf(world->gate, sizeof(world->gate), "%s", report->gate);
}

static void on_spent(void *user, const struct check_cost *cost)
{
    struct world *world = user;
    if (cost->look)
        atomic_fetch_add(&world->paid, cost->thread > 0);
    else if (!cost->copy)
        atomic_fetch_add(&world->decided, cost->thread);
}

static void on_warned(void *user, const char *symbol, enum skip skip, const char *sentence)
{
    (void)user, (void)symbol, (void)skip;
    fail_msg("%s", sentence);
}

static struct world *build(double sample, double budget)
{
    struct world *world = calloc(1, sizeof(*world));
    world->fixture = (struct pipeline_fixture){
        .registry = registry_text,
        .params = {{3, 2}},
        .judged = on_judged,
        .spent = on_spent,
        .warned = on_warned,
        .gate = {.sample = sample},
        .detector = OUTLIER_FINGERPRINT,
        .side =
            {.memory = 1 << 16, .queue = 16, .budget = budget, .outlier = true, .centroid = true},
    };
    pipeline_fixture_open(&world->fixture);
    world->a = fake_alloc(ROWS * COLS * sizeof(float));
    world->b = fake_alloc(ROWS * COLS * sizeof(float));
    world->y = fake_alloc(ROWS * COLS * sizeof(float));
    return world;
}

static int set_up(void **state)
{
    *state = build(0, 0);
    return 0;
}

static int set_up_new_gpu(void **state)
{
    fake_compiled_for = 90;
    *state = build(0, 0);
    return 0;
}

static int set_up_poor(void **state)
{
    *state = build(0, 0.01);
    return 0;
}

static int set_up_poor_sampled(void **state)
{
    *state = build(1, 0.01);
    return 0;
}

static int set_up_sampled(void **state)
{
    *state = build(1, 0);
    return 0;
}

static void settle(struct world *world)
{
    pipeline_fixture_settle(&world->fixture);
}

static int tear_down_new_gpu(void **state)
{
    fake_compiled_for = 75;
    return pipeline_fixture_tear_down(state);
}

/* The next values of an ordinary program; `spike` is put among those of `a`. */
static void fill(struct world *world, float spike)
{
    static uint32_t state = 1;
    for (int i = 0; i < ROWS * COLS; i++) {
        state = state * 1664525 + 1013904223;
        world->a[i] = (float)(state >> 8) / (1 << 23) - 1;
        state = state * 1664525 + 1013904223;
        world->b[i] = (float)(state >> 8) / (1 << 23) - 1;
    }
    if (spike != 0)
        world->a[17] = spike;
}

static void launch_named(struct world *world, const char *symbol, uintptr_t function, bool in_place)
{
    int32_t rows = ROWS, cols = COLS;
    float *y = in_place ? world->a : world->y;
    void *params[] = {&world->a, &world->b, &y, &rows, &cols};
    struct launch launch = pipeline_fixture_launch(symbol, function, params);
    pipeline_enter(&world->fixture.pipeline, &launch, &world->ticket);
    if (world->meanwhile)
        world->meanwhile(world);
    for (int i = 0; i < ROWS * COLS && world->result == CUDA_SUCCESS; i++)
        y[i] = world->a[i] + world->b[i] + (world->wrong && i == 17 ? 1 : 0);
    pipeline_exit(&world->fixture.pipeline, &launch, &world->ticket, world->result);
}

static void launch(struct world *world, float spike)
{
    fill(world, spike);
    launch_named(world, "add", 1, false);
}

static void launch_ordinary(struct world *world, int count)
{
    for (int i = 0; i < count; i++) {
        launch(world, 0);
        settle(world);
    }
}

static void an_ordinary_launch_copies_nothing_and_is_counted(void **state)
{
    struct world *world = *state;
    launch_ordinary(world, ORDINARY);
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], ORDINARY);
    assert_int_equal(fake.looks, ORDINARY);
    assert_int_equal(fake.copied, 0);
    assert_int_equal(fake.launches, ORDINARY); /* one kernel each */
    struct side *side = pipeline_fixture_side(&world->fixture);
    assert_int_equal(slots_in_use(side->free_slots), 0);
}

/* No call of the driver's that waits, or asks whether work is done: neither on the program's
 * thread nor, when all goes well, on ours. What set-up has asked does not count. */
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
    assert_int_equal(fake.looks, ORDINARY);
    assert_int_equal(fake.early, 0);
}

static void kernels_that_wait_are_launched_early(void **state)
{
    struct world *world = *state;
    launch_ordinary(world, ORDINARY);
    assert_int_equal(fake.early, ORDINARY);
    launch(world, 50);
    settle(world);
    assert_int_equal(fake.early, fake.looks); /* and nothing else is */
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

/* The gate is not asked about outputs: a kernel wrong on ordinary input passes it. */
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
    assert_int_equal(fake.looks, 0);
}

static void a_captured_launch_is_not_looked_at(void **state)
{
    struct world *world = *state;
    fake.capturing = true;
    launch(world, 50);
    assert_int_equal(world->fixture.skip[SKIP_NOT_SAMPLED], 1);
    assert_int_equal(fake.looks, 0);
}

static void what_the_random_gate_takes_is_not_looked_at(void **state)
{
    struct world *world = *state;
    launch_ordinary(world, 5);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 5);
    assert_int_equal(fake.looks, 0);
}

/* A look that takes 16 ms of a budget of 1 % is the last one for a while. */
static void a_budget_that_is_used_up_stops_looks(void **state)
{
    struct world *world = *state;
    fake.look_ns = 16000000;
    launch_ordinary(world, 4);
    assert_int_equal(fake.looks, 1);
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], 1);
    assert_int_equal(world->fixture.skip[SKIP_BUDGET], 3);
}

/* The checks have used their part up, for a moment: the launch is looked at instead. With a debt
 * of hours it is not, because an outlier would add to it. */
static void what_the_budget_takes_from_the_random_gate_is_looked_at(void **state)
{
    struct world *world = *state;
    fake.copy_ns = 100000000; /* so that the signature has used more than its part */
    launch_ordinary(world, 1);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
    struct side *side = pipeline_fixture_side(&world->fixture);
    atomic_store(&side->budget.paid_until, clock_ns() + 10000000000);
    launch_ordinary(world, 1);
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], 1);
    atomic_store(&side->budget.paid_until, clock_ns() + 10000000000000);
    launch_ordinary(world, 1);
    assert_int_equal(world->fixture.skip[SKIP_BUDGET], 1);
    assert_int_equal(fake.looks, 1);
}

static void launches_that_fail_are_no_outliers(void **state)
{
    struct world *world = *state;
    world->result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    launch(world, 0);
    fill(world, 0);
    launch_named(world, "add", 1, true); /* looked at before it failed */
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_LAUNCH_FAILED], 2);
    struct side *side = pipeline_fixture_side(&world->fixture);
    assert_int_equal(slots_in_use(side->free_slots), 0);
}

static void a_full_arena_is_said_of_an_outlier(void **state)
{
    struct world *world = *state;
    launch_ordinary(world, ORDINARY);
    struct side *side = pipeline_fixture_side(&world->fixture);
    struct snapshot_arena *arena = (struct snapshot_arena *)(uintptr_t)side->arena;
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

/* ---- the collector ---- */

static bool reaches(const atomic_int *count, int wanted)
{
    for (int ms = 0; ms < 5000 && atomic_load(count) < wanted; ms++)
        usleep(1000);
    return atomic_load(count) >= wanted;
}

/* Both batches have a reference that does not end, and a third check waits: what needs none is
 * ended nevertheless, or the queue would be full of it. */
static void ordinary_looks_end_while_references_run(void **state)
{
    enum { LATER = 40 }; /* the queue is 16 */
    struct world *world = *state;
    launch_ordinary(world, ORDINARY);
    atomic_store(&fake.hold_answers, true);
    for (int i = 0; i <= SIDE_BATCHES; i++) {
        launch(world, 50 * powf(30, (float)i));
        if (i < SIDE_BATCHES) /* or it would go with the next */
            assert_true(reaches(&fake.helds, i + 1));
    }
    for (int i = 1; i <= LATER; i++) {
        launch(world, 0);
        assert_true(reaches(&world->fixture.skip[SKIP_ORDINARY], ORDINARY + i));
    }
    assert_int_equal(world->fixture.skip[SKIP_QUEUE_FULL], 0);
    fake_answer();
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 3);
}

/* ---- who pays for the program's thread ---- */

/* Both accounts can pay for what costs nothing, and for no more. */
static void have_nothing(struct world *world)
{
    struct side *side = pipeline_fixture_side(&world->fixture);
    int64_t now = clock_ns();
    atomic_store(&side->budget.paid_until, now);
    atomic_store(&side->looks.paid_until, now);
}

/* Whether both accounts and the reports have been charged with the last launch since. */
static bool is_charged(struct world *world, int64_t since, uint64_t decided)
{
    struct side *side = pipeline_fixture_side(&world->fixture);
    return world->decided > decided && side->budget.paid_until > since &&
           side->looks.paid_until > since;
}

/* A launch that was not looked at since the account is overdrawn; and one that nothing came of. */
static void what_deciding_takes_is_charged(void **state)
{
    enum { QUEUE = 16 };
    struct world *world = *state;
    launch_ordinary(world, 1);
    struct side *side = pipeline_fixture_side(&world->fixture);
    have_nothing(world);
    atomic_fetch_add(&side->looks.paid_until, 1000000000);
    uint64_t decided = world->decided;
    int64_t since = side->looks.paid_until;
    launch(world, 0);
    assert_int_equal(world->fixture.skip[SKIP_BUDGET], 1);
    assert_true(world->decided > decided && side->looks.paid_until > since);
    atomic_store(&fake.hold_seals, true);
    for (int i = 0; i <= QUEUE; i++) {
        outliers_reset(world->fixture.pipeline.outliers);
        gate_reset(world->fixture.pipeline.gate); /* nothing is passed over */
        have_nothing(world);
        decided = world->decided;
        since = clock_ns();
        launch(world, 0);
    }
    assert_int_equal(world->fixture.skip[SKIP_QUEUE_FULL], 1);
    assert_true(is_charged(world, since, decided));
}

/* The look `mark`, of which the collector had not heard, ends. */
static void seal(struct world *world, uint64_t mark)
{
    struct side *side = pipeline_fixture_side(&world->fixture);
    __atomic_store_n(&side->seal[mark & ((1 << LOOK_BITS) - 1)].ordinary,
                     mark >> LOOK_BITS << SEAL_TIME_BITS | 1000, __ATOMIC_RELEASE);
}

/* The GPU has run all that was enqueued, when this launch is about to end. */
static void seal_the_mark(struct world *world)
{
    seal(world, pipeline_fixture_side(&world->fixture)->mark);
}

/* Seals are held back; the next look is the first that has not run. Its mark. */
static uint64_t launch_held(struct world *world)
{
    uint64_t sequence = pipeline_fixture_side(&world->fixture)->sequence;
    atomic_store(&fake.hold_seals, true);
    launch(world, 0);
    uint64_t mark = pipeline_fixture_side(&world->fixture)->mark;
    assert_int_equal(mark >> LOOK_BITS, sequence);
    return mark;
}

enum { LONG_US = 2000 /* more than BEHIND_NS of paying.c */ };

static void the_thread_is_paid_where_the_gpu_has_run_dry(void **state)
{
    struct world *world = *state;
    atomic_store(&fake.look_ns, 1000);
    launch(world, 0);
    settle(world);
    assert_int_equal(world->paid, 1);
    uint64_t mark = launch_held(world); /* paid: the one before it has run */
    usleep(LONG_US);
    world->meanwhile = seal_the_mark;
    atomic_store(&fake.hold_seals, false);
    launch(world, 0); /* paid, too: the GPU was behind only when it began */
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], 3);
    assert_int_equal(world->paid, 3);
    world->meanwhile = NULL;
    mark = launch_held(world); /* paid */
    usleep(LONG_US);
    atomic_store(&fake.hold_seals, false);
    launch(world, 0); /* not paid: the GPU has had work for long */
    assert_true(reaches(&world->fixture.skip[SKIP_ORDINARY], 4));
    assert_int_equal(world->paid, 3);
    seal(world, mark);
    settle(world);
    assert_int_equal(world->paid, 4);
}

/* A look takes some microseconds to get to a GPU that has nothing to do: where they follow each
 * other closely, the one before has never run yet. */
static void a_look_on_its_way_does_not_hide_the_threads_time(void **state)
{
    struct world *world = *state;
    atomic_store(&fake.look_ns, 1000);
    launch_ordinary(world, 1);
    uint64_t mark = launch_held(world);
    atomic_store(&fake.hold_seals, false);
    launch(world, 0);
    assert_true(reaches(&world->fixture.skip[SKIP_ORDINARY], 2));
    seal(world, mark);
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], 3);
    assert_int_equal(world->paid, 3);
}

/* ---- a new start ---- */

/* What would be called by the old statistics has no history; then there is one again. */
static void a_reset_forgets_and_learns_anew(void **state)
{
    struct world *world = *state;
    launch_ordinary(world, ORDINARY);
    outliers_reset(world->fixture.pipeline.outliers);
    launch(world, 50);
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], ORDINARY + 1);
    launch_ordinary(world, ORDINARY);
    launch(world, 1e6f);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], 2 * ORDINARY + 1);
}

/* Distances that were on their way when it was reset are not among those of the new epoch. */
static void old_distances_do_not_enter_a_new_window(void **state)
{
    struct outlier_quantile quantile = {-1, 0};
    struct outlier_side side = {.quantile = &quantile};
    const struct outlier_spec spec = {.max_distances = 100, .percentile = 0.5};
    struct outlier_answer old = {.rows = 2, .distance = {5, 5}};
    struct outlier_answer new = {.rows = 1, .distance = {1}};
    (void)state;
    outlier_collect(&side, &spec, 0, 0, &old);
    assert_true(quantile.value == 5 && quantile.epoch == 0);
    outlier_collect(&side, &spec, 0, 1, &new);
    assert_true(quantile.value == 1 && quantile.epoch == 1);
    outlier_collect(&side, &spec, 0, 0, &old);
    assert_true(quantile.value == 1 && quantile.epoch == 1);
    outlier_collect(&side, &spec, 0, 1, &new);
    assert_true(quantile.value == 1);
    outlier_window_destroy(side.window[0]);
}

/* ---- indices ---- */

static void indices_are_bounded_and_stay(void **state)
{
    struct outliers *outliers = outliers_create(OUTLIER_FINGERPRINT);
    (void)state;
    int first = outliers_index(outliers, 77, OUTLIER_FINGERPRINT, 3);
    assert_int_equal(outliers_index(outliers, 78, OUTLIER_FINGERPRINT, 1), first + 3);
    assert_int_equal(outliers_index(outliers, 77, OUTLIER_FINGERPRINT, 3), first);
    assert_int_equal(outliers_index(outliers, 79, OUTLIER_CENTROID, 1), 0);
    uint64_t key = 1000;
    int refused = 0;
    for (int i = 0; i < 1000000; i++) {
        key = key * 6364136223846793005u + 1442695040888963407u;
        int index = outliers_index(outliers, key, OUTLIER_FINGERPRINT, 1);
        assert_true(index >= -1 && index < OUTLIER_ENTRIES);
        refused += index < 0;
    }
    assert_true(refused > 1000000 - OUTLIER_ENTRIES);
    assert_int_equal(outliers_index(outliers, 77, OUTLIER_FINGERPRINT, 3), first);
    assert_true(outliers_overflow(outliers) > 0);
    outliers_destroy(outliers);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, pipeline_fixture_tear_down)

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
        cmocka_unit_test_setup_teardown(a_budget_that_is_used_up_stops_looks, set_up_poor,
                                        pipeline_fixture_tear_down),
        cmocka_unit_test_setup_teardown(what_the_budget_takes_from_the_random_gate_is_looked_at,
                                        set_up_poor_sampled, pipeline_fixture_tear_down),
        TEST(launches_that_fail_are_no_outliers),
        TEST(a_full_arena_is_said_of_an_outlier),
        TEST(the_centroid_is_fed_by_the_collector),
        TEST(ordinary_looks_end_while_references_run),
        cmocka_unit_test_setup_teardown(what_deciding_takes_is_charged, set_up_poor,
                                        pipeline_fixture_tear_down),
        TEST(the_thread_is_paid_where_the_gpu_has_run_dry),
        TEST(a_look_on_its_way_does_not_hide_the_threads_time),
        TEST(a_reset_forgets_and_learns_anew),
        cmocka_unit_test(old_distances_do_not_enter_a_new_window),
        cmocka_unit_test(indices_are_bounded_and_stay),
        TEST(old_machine_code_is_launched_in_turn),
        cmocka_unit_test_setup_teardown(kernels_that_wait_are_launched_early, set_up_new_gpu,
                                        tear_down_new_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
