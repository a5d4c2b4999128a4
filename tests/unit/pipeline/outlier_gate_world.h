/* outlier_gate_world.h - a pipeline with an outlier gate on a fake driver, for test_outlier_gate.c
 * and test_outlier_gate_cost.c. */
#ifndef TESTS_UNIT_OUTLIER_GATE_WORLD_H
#define TESTS_UNIT_OUTLIER_GATE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <unistd.h>
#include "base/clock.h"
#include "tests/unit/fakes/pipeline_fixture.h"

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
    CUresult result;                   /* the driver's result for launches of the program */
    bool wrong;                        /* the kernel is, on this launch */
    atomic_int paid;                   /* looks whose account the program's thread is on */
    _Atomic(uint64_t) decided;         /* ns of launches that were neither probed nor checked */
    void (*meanwhile)(struct world *); /* between the look's launch and its end, or NULL */
};

static inline void on_judged(void *user, const struct check_report *report,
                             const struct bundle_source *source)
{
    struct world *world = user;
    (void)source;
    world->outlier = report->outlier;
    snprintf(world->gate, sizeof(world->gate), "%s", report->gate);
}

static inline void on_spent(void *user, const struct kernel_spec *spec,
                            const struct check_cost *cost)
{
    (void)spec;
    struct world *world = user;
    if (cost->probe)
        atomic_fetch_add(&world->paid, cost->thread > 0);
    else if (!cost->copy)
        atomic_fetch_add(&world->decided, cost->thread);
}

static inline void on_warned(void *user, const char *symbol, enum skip skip, const char *sentence)
{
    (void)user, (void)symbol, (void)skip;
    fail_msg("%s", sentence);
}

static inline struct world *build(double sample, double budget)
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

static inline int set_up(void **state)
{
    *state = build(0, 0);
    return 0;
}

static inline void settle(struct world *world)
{
    pipeline_fixture_settle(&world->fixture);
}

/* The next values of an ordinary program; `spike` is put among those of `a`. */
static inline void fill(struct world *world, float spike)
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

static inline void launch_named(struct world *world, const char *symbol, uintptr_t function,
                                bool in_place)
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

static inline void launch(struct world *world, float spike)
{
    fill(world, spike);
    launch_named(world, "add", 1, false);
}

static inline void launch_ordinary(struct world *world, int count)
{
    for (int i = 0; i < count; i++) {
        launch(world, 0);
        settle(world);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, pipeline_fixture_tear_down)

#endif
