/*
 * test_project_launch.c - launches that are checked on a subset and projected as a whole, on a fake
 * driver: which are, what is found, and what becomes of one whose kernels the driver refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/fakes/pipeline_fixture.h"

enum { M = 512, N = 64, K = 16, AIM = 8 << 10, FAULT = 200 };

struct world {
    struct pipeline_fixture fixture;
    struct ticket ticket;
    int projected, warnings;
    uint64_t violations; /* of elements */
    struct projection_report projection;
    char sentence[500];
    bool adds;      /* the kernel adds to c */
    int fail_enter; /* the Nth launch before the kernel is refused; 0: none */
    float *a, *b, *c;
};

static void on_judged(void *user, const struct check_report *report,
                      const struct bundle_source *source)
{
    struct world *world = user;
    (void)source;
    world->projected += report->projection.array != NULL;
    world->projection = report->projection;
    world->violations += report->numbers.violations;
}

static void on_warned(void *user, const char *symbol, enum skip skip, const char *sentence)
{
    struct world *world = user;
    (void)symbol, (void)skip;
    world->warnings++;
    snprintf(world->sentence, sizeof world->sentence, "%s", sentence);
}

/* `role` of c. */
static struct world *world_with(const char *role, const char *more, double share,
                                struct gate_settings gate)
{
    struct world *world = calloc(1, sizeof(*world));
    char text[500];
    snprintf(text, sizeof text,
             "version: 1\nkernels:\n- {kernel: k, signature: \"const f32 a[512][16], const f32 "
             "b[16][64], %s f32 c[512][64]\", reference: matmul%s}\n",
             role, more);
    world->fixture = (struct pipeline_fixture){
        .registry = text,
        .params = {{3, 0}},
        .judged = on_judged,
        .warned = on_warned,
        .gate = gate,
        .detector = OUTLIER_OFF,
        .side = {.memory = 1 << 20, .queue = 4},
        .subset = AIM,
    };
    pipeline_fixture_open(&world->fixture);
    world->fixture.pipeline.freivalds = share;
    world->a = fake_alloc(M * K * sizeof(float));
    world->b = fake_alloc(K * N * sizeof(float));
    world->c = fake_alloc(M * N * sizeof(float));
    for (int i = 0; i < M * K; i++)
        world->a[i] = (float)(i * 7919 % 1999) / 1000 - 1;
    for (int i = 0; i < K * N; i++)
        world->b[i] = (float)(i * 104729 % 1999) / 1000 - 1;
    return world;
}

static struct world *world_new(const char *more, double share, struct gate_settings gate)
{
    return world_with("", more, share, gate);
}

static const struct gate_settings every = {1, 0, 0, 0};

static struct world *usual_world(double share)
{
    return world_new("", share, every);
}

/* c = a b; with `wrong`, rows FAULT to FAULT + 7 are those of other rows. */
static void run(const struct world *world, bool wrong)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int from = wrong && i / 8 == FAULT / 8 ? i - 100 : i;
            float sum = 0;
            for (int l = 0; l < K; l++)
                sum += world->a[from * K + l] * world->b[l * N + j];
            world->c[i * N + j] = world->adds ? world->c[i * N + j] + sum : sum;
        }
}

static void launch(struct world *world, bool wrong, int fail)
{
    void *params[] = {&world->a, &world->b, &world->c};
    struct launch launch = pipeline_fixture_launch("k", 1, params);
    atomic_store(&fake.fail_launch, world->fail_enter);
    pipeline_enter(&world->fixture.pipeline, &launch, &world->ticket);
    run(world, wrong);
    atomic_store(&fake.fail_launch, fail);
    pipeline_exit(&world->fixture.pipeline, &launch, &world->ticket, CUDA_SUCCESS);
    pipeline_fixture_settle(&world->fixture);
    atomic_store(&fake.fail_launch, 0);
}

static void a_fault_outside_the_subset_is_found(void **state)
{
    (void)state;
    struct world *world = usual_world(1);
    launch(world, false, 0);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
    assert_int_equal(world->projection.rows, M);
    assert_int_equal(world->projection.left, 0);
    launch(world, true, 0);
    assert_non_null(world->ticket.binding.subset.dim);
    assert_int_equal(world->violations, 0); /* the elements that were checked are right */
    assert_int_equal(world->fixture.verdict[VERDICT_MISMATCH], 1);
    assert_string_equal(world->projection.array, "c");
    assert_true(world->projection.first >= FAULT && world->projection.last < FAULT + 8);
    assert_true(world->projection.worst >= world->projection.first &&
                world->projection.worst <= world->projection.last);
    assert_true(world->projection.ratio > 100);
    launch(world, false, 0); /* nothing of it is left */
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 2);
    assert_int_equal(world->warnings, 0);
    pipeline_fixture_end(&world->fixture);
}

static void without_projections_it_is_not(void **state)
{
    (void)state;
    struct world *world = usual_world(0);
    launch(world, true, 0);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
    assert_int_equal(world->projected, 0);
    pipeline_fixture_end(&world->fixture);
}

static void an_entry_has_its_own_share(void **state)
{
    (void)state;
    struct world *world = world_new(", freivalds: 0", 1, every);
    launch(world, true, 0);
    assert_int_equal(world->projected, 0);
    pipeline_fixture_end(&world->fixture);
    world = world_new(", freivalds: 1", 0, every);
    launch(world, true, 0);
    assert_int_equal(world->fixture.verdict[VERDICT_MISMATCH], 1);
    pipeline_fixture_end(&world->fixture);
}

static void a_share_of_the_checks_is_projected(void **state)
{
    (void)state;
    struct world *world = usual_world(0.25);
    for (int i = 0; i < 40; i++)
        launch(world, false, 0);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 40);
    assert_true(world->projected >= 4 && world->projected <= 18);
    pipeline_fixture_end(&world->fixture);
    world = world_new("", 0.001, (struct gate_settings){0, 3, 0, 0});
    for (int i = 0; i < 5; i++)
        launch(world, false, 0); /* the first ones all are */
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 3);
    assert_int_equal(world->projected, 3);
    pipeline_fixture_end(&world->fixture);
}

/* Of the three launches that follow the kernel the last is the copy. */
static void a_projection_that_is_refused_costs_itself_alone(void **state)
{
    (void)state;
    struct world *world = usual_world(1);
    for (int fail = 1; fail <= 2; fail++) {
        launch(world, false, fail);
        assert_int_equal(world->fixture.verdict[VERDICT_MATCH], fail);
        assert_int_equal(world->projected, 0);
        assert_non_null(strstr(world->sentence, "launching a projection: CUDA_ERROR_LAUNCH"));
    }
    launch(world, true, 0);
    assert_int_equal(world->fixture.verdict[VERDICT_MISMATCH], 1);
    assert_int_equal(world->warnings, 1);
    pipeline_fixture_end(&world->fixture);
}

/* A place in the arena may be taken then, and would never be given back. */
static void a_copy_that_is_refused_behind_one_ends_the_checking(void **state)
{
    (void)state;
    struct world *world = usual_world(1);
    launch(world, false, 3);
    assert_int_equal(world->fixture.skip[SKIP_DRIVER], 1);
    launch(world, false, 0);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 0);
    assert_int_equal(world->fixture.skip[SKIP_NOT_READY], 1);
    pipeline_fixture_end(&world->fixture);
    world = usual_world(0); /* without one: that launch alone */
    launch(world, false, 1);
    assert_int_equal(world->fixture.skip[SKIP_DRIVER], 1);
    launch(world, false, 0);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
    pipeline_fixture_end(&world->fixture);
}

/* A copy and a projection before the launch, and those behind it. */
static void what_a_launch_adds_to_is_projected_before_it(void **state)
{
    (void)state;
    struct world *world = world_with("acc", "", 1, every);
    world->adds = true;
    for (int i = 0; i < 3; i++)
        launch(world, false, 0);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 3);
    assert_int_equal(world->projected, 3);
    launch(world, true, 0);
    assert_int_equal(world->fixture.verdict[VERDICT_MISMATCH], 1);
    assert_int_equal(world->violations, 0);
    assert_true(world->projection.first >= FAULT && world->projection.last < FAULT + 8);
    world->fail_enter = 2;
    launch(world, true, 0); /* unseen */
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 4);
    assert_int_equal(world->projected, 4);
    assert_non_null(strstr(world->sentence, "launching a projection"));
    world->fail_enter = 1;
    launch(world, false, 0);
    assert_int_equal(world->fixture.skip[SKIP_DRIVER], 1);
    world->fail_enter = 0;
    launch(world, false, 0);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 5);
    pipeline_fixture_end(&world->fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_outside_the_subset_is_found),
        cmocka_unit_test(without_projections_it_is_not),
        cmocka_unit_test(an_entry_has_its_own_share),
        cmocka_unit_test(a_share_of_the_checks_is_projected),
        cmocka_unit_test(a_projection_that_is_refused_costs_itself_alone),
        cmocka_unit_test(what_a_launch_adds_to_is_projected_before_it),
        cmocka_unit_test(a_copy_that_is_refused_behind_one_ends_the_checking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
