/* pipeline_world.h - a pipeline on a fake driver, and what it reported, for test_pipeline.c and
 * test_pipeline_context.c. */
#ifndef TESTS_UNIT_PIPELINE_WORLD_H
#define TESTS_UNIT_PIPELINE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>
#include "base/clock.h"
#include "tests/unit/fakes/pipeline_fixture.h"
#include "tests/unit/fakes/small_elf.h"

static const char registry_text[] =
    "version: 1\n"
    "kernels:\n"
    "  - kernel: add\n"
    "    signature: const f32 a[rows:pitch][cols], const f32 b[rows:pitch][cols],"
    " f32 y[rows:pitch][cols], i32 rows, i32 cols, i32 pitch\n"
    "    reference: add\n"
    "  - kernel: accumulate\n"
    "    signature: const f32 x[rows][cols], acc f32 y[rows][cols], i32 rows, i32 cols\n"
    "    reference: scale\n"
    "    bind: {alpha: 1}\n";

enum { ROWS = 5, COLS = 37, PITCH = 48 };

struct world {
    struct pipeline_fixture fixture;
    struct ticket ticket;
    _Atomic(uint64_t) spent;
    atomic_int warnings, failures;
    char sentence[1024];
    struct ref_verdict numbers;
    double reference[4]; /* read back for the bundle */
    float got[4];
    char image[sizeof(struct small_elf)]; /* of the bundle; all zero: there is none */
    char no_image[128];
};

static inline void on_judged(void *user, const struct check_report *report,
                             const struct bundle_source *source)
{
    struct world *world = user;
    int output = report->binding->tensor_array[report->binding->tensors - 1];
    world->numbers = report->numbers;
    memset(world->image, 0, sizeof(world->image));
    if (source->image && source->image_bytes == sizeof(world->image))
        memcpy(world->image, source->image, source->image_bytes);
    snprintf(world->no_image, sizeof(world->no_image), "%s",
             source->no_image ? source->no_image : "");
    assert_int_equal(
        source->read_reference(source->user, report->binding->tensors - 1, 0, 4, world->reference),
        STATUS_OK);
    assert_true(source->has_array(source->user, output, 1));
    assert_int_equal(source->read_array(source->user, output, 1, 0, world->got, sizeof(world->got)),
                     STATUS_OK);
}

static inline void on_warned(void *user, const char *symbol, enum skip skip, const char *sentence)
{
    struct world *world = user;
    (void)symbol, (void)skip;
    snprintf(world->sentence, sizeof(world->sentence), "%s", sentence);
    atomic_fetch_add(&world->warnings, 1);
}

static inline void on_spent(void *user, const struct kernel_spec *spec,
                            const struct check_cost *cost)
{
    (void)spec;
    atomic_fetch_add(&((struct world *)user)->spent, cost->copy);
    assert_true(cost->thread > 0);
}

static inline void on_failed(void *user, const struct launch *launch, const char *error_name)
{
    struct world *world = user;
    (void)launch;
    snprintf(world->sentence, sizeof(world->sentence), "%s", error_name);
    atomic_fetch_add(&world->failures, 1);
}

static double budget; /* of the worlds that are built */

static inline void build(struct world *world, uint64_t memory, uint32_t queue,
                         struct gate_settings gate)
{
    world->fixture = (struct pipeline_fixture){
        .registry = registry_text,
        .params = {{3, 3}, {2, 2}},
        .judged = on_judged,
        .spent = on_spent,
        .warned = on_warned,
        .failed = on_failed,
        .gate = gate,
        .detector = OUTLIER_OFF,
        .side = {.memory = memory, .queue = queue, .budget = budget},
    };
    pipeline_fixture_open(&world->fixture);
}

static const struct gate_settings every = {1, 0, 0, 0};

static inline int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    build(world, 1 << 20, 16, every);
    *state = world;
    return 0;
}

static inline int set_up_narrow(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    build(world, 1 << 20, 2, every);
    *state = world;
    return 0;
}

static inline int set_up_small(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    build(world, 8192, 16, every);
    *state = world;
    return 0;
}

/* The same, with nothing sampled but the first three launches of a signature. */
static inline int set_up_small_first(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    build(world, 8192, 16, (struct gate_settings){0, 3, 0, 0});
    *state = world;
    return 0;
}

/* One launch of `add`; `wrong` spoils an element, `result` is the driver's. */
struct add_args {
    float *a, *b, *y;
    int32_t rows, cols, pitch;
    int wrong;
    CUresult result;
};

static inline struct add_args add_args(void)
{
    struct add_args args = {.rows = ROWS, .cols = COLS, .pitch = PITCH, .wrong = -1};
    args.a = fake_alloc(ROWS * PITCH * sizeof(float));
    args.b = fake_alloc(ROWS * PITCH * sizeof(float));
    args.y = fake_alloc(ROWS * PITCH * sizeof(float));
    for (int i = 0; i < ROWS * PITCH; i++) {
        args.a[i] = (float)i * 0.25f;
        args.b[i] = 100 - (float)i;
    }
    return args;
}

static inline void run_add(const struct add_args *args)
{
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLS; c++)
            args->y[r * PITCH + c] = args->a[r * PITCH + c] + args->b[r * PITCH + c];
    }
    if (args->wrong >= 0)
        args->y[args->wrong] += 1;
}

static inline void launch_add(struct world *world, struct add_args args)
{
    void *params[] = {&args.a, &args.b, &args.y, &args.rows, &args.cols, &args.pitch};
    struct launch launch = pipeline_fixture_launch("add", 1, params);
    pipeline_enter(&world->fixture.pipeline, &launch, &world->ticket);
    if (args.result == CUDA_SUCCESS)
        run_add(&args);
    pipeline_exit(&world->fixture.pipeline, &launch, &world->ticket, args.result);
}

static inline void settle(struct world *world)
{
    pipeline_fixture_settle(&world->fixture);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, pipeline_fixture_tear_down)
#define TEST_NARROW(name)                                                                          \
    cmocka_unit_test_setup_teardown(name, set_up_narrow, pipeline_fixture_tear_down)
#define TEST_SMALL(name)                                                                           \
    cmocka_unit_test_setup_teardown(name, set_up_small, pipeline_fixture_tear_down)
#define TEST_SMALL_FIRST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, set_up_small_first, pipeline_fixture_tear_down)

#endif
