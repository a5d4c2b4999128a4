/* What the outlier gate costs and who pays for it, and what a reset does to its statistics, on a
 * fake driver. */
#include "tests/unit/pipeline/outlier_gate_world.h"

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

/* A look that takes 16 ms of a budget of 1 % is the last one for a while. */
static void a_budget_that_is_used_up_stops_looks(void **state)
{
    struct world *world = *state;
    fake.look_ns = 16000000;
    launch_ordinary(world, 4);
    assert_int_equal(fake.probes, 1);
    assert_int_equal(world->fixture.skip[SKIP_ORDINARY], 1);
    assert_int_equal(world->fixture.skip[SKIP_BUDGET], 3);
}

/* The checks have used their part up, for a moment: the launch is probed instead. With a debt
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
    assert_int_equal(fake.probes, 1);
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
    atomic_store(&side->probes.paid_until, now);
}

/* Whether both accounts and the reports have been charged with the last launch since. */
static bool is_charged(struct world *world, int64_t since, uint64_t decided)
{
    struct side *side = pipeline_fixture_side(&world->fixture);
    return world->decided > decided && side->budget.paid_until > since &&
           side->probes.paid_until > since;
}

/* A launch that was not probed since the account is overdrawn; and one that nothing came of. */
static void what_deciding_takes_is_charged(void **state)
{
    enum { QUEUE = 16 };
    struct world *world = *state;
    launch_ordinary(world, 1);
    struct side *side = pipeline_fixture_side(&world->fixture);
    have_nothing(world);
    atomic_fetch_add(&side->probes.paid_until, 1000000000);
    uint64_t decided = world->decided;
    int64_t since = side->probes.paid_until;
    launch(world, 0);
    assert_int_equal(world->fixture.skip[SKIP_BUDGET], 1);
    assert_true(world->decided > decided && side->probes.paid_until > since);
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

/* The probe `mark`, which the collector had not reaped, ends. */
static void seal(struct world *world, uint64_t mark)
{
    struct side *side = pipeline_fixture_side(&world->fixture);
    __atomic_store_n(&side->slot.seal[mark & ((1 << PROBE_BITS) - 1)].ordinary,
                     mark >> PROBE_BITS << SEAL_TIME_BITS | 1000, __ATOMIC_RELEASE);
}

/* The GPU has run all that was enqueued, when this launch is about to end. */
static void seal_the_mark(struct world *world)
{
    seal(world, pipeline_fixture_side(&world->fixture)->mark.probe);
}

/* Seals are held back; the next look is the first that has not run. Its mark. */
static uint64_t launch_held(struct world *world)
{
    uint64_t sequence = pipeline_fixture_side(&world->fixture)->sequence;
    atomic_store(&fake.hold_seals, true);
    launch(world, 0);
    uint64_t mark = pipeline_fixture_side(&world->fixture)->mark.probe;
    assert_int_equal(mark >> PROBE_BITS, sequence);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_budget_that_is_used_up_stops_looks, set_up_poor,
                                        pipeline_fixture_tear_down),
        cmocka_unit_test_setup_teardown(what_the_budget_takes_from_the_random_gate_is_looked_at,
                                        set_up_poor_sampled, pipeline_fixture_tear_down),
        TEST(ordinary_looks_end_while_references_run),
        cmocka_unit_test_setup_teardown(what_deciding_takes_is_charged, set_up_poor,
                                        pipeline_fixture_tear_down),
        TEST(the_thread_is_paid_where_the_gpu_has_run_dry),
        TEST(a_look_on_its_way_does_not_hide_the_threads_time),
        TEST(a_reset_forgets_and_learns_anew),
        cmocka_unit_test(old_distances_do_not_enter_a_new_window),
        cmocka_unit_test(indices_are_bounded_and_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
