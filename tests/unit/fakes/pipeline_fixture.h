/*
 * pipeline_fixture.h - a whole pipeline on the fake driver, from a registry's text to a collector
 * at work in one context, for unit tests. All of it is here, as the fake driver is, whose state is
 * the including file's own.
 */
#ifndef TESTS_UNIT_PIPELINE_FIXTURE_H
#define TESTS_UNIT_PIPELINE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "tests/unit/fakes/fake_driver.h"
#include "tests/unit/common/registry_fixture.h"
#include "pipeline/pipeline.h"

enum { CONTEXT = 0x77 }; /* the only one */

/* The parameters of a kernel: pointers, then numbers of 32 bits. */
struct pipeline_params {
    unsigned pointers, numbers;
};

/* The first member of what a test has for itself; the caller fills in what comes before `pipeline`.
 * What the pointers point at, but for the text, outlives the fixture. */
struct pipeline_fixture {
    const char *registry; /* its text */
    /* Of the kernel with handle 1; of all others, where that is not the same. */
    struct pipeline_params params[2];
    struct gate_settings gate;
    enum outlier_detector detector;
    struct side_settings side;
    uint64_t subset; /* CUVET_SUBSET */
    /* What the test itself does where the sink is called, or NULL; `user` is the fixture. */
    void (*skipped)(void *user, const struct kernel_spec *spec, enum skip skip);
    void (*judged)(void *user, const struct check_report *report,
                   const struct bundle_source *source);
    void (*spent)(void *user, const struct kernel_spec *spec, const struct check_cost *cost);
    void (*warned)(void *user, const char *symbol, enum skip skip, const char *sentence);
    void (*failed)(void *user, const struct launch *launch, const char *error_name);
    struct pipeline pipeline;
    struct sink sink;
    struct registry *loaded;
    struct images *images;
    atomic_int seen, verdict[VERDICT_COUNT], skip[SKIP_COUNT]; /* launches */
};

/* ---- the sink ---- */

static inline void pipeline_fixture_seen(void *user)
{
    struct pipeline_fixture *fixture = user;
    atomic_fetch_add(&fixture->seen, 1);
}

static inline void pipeline_fixture_skipped(void *user, const struct kernel_spec *spec,
                                            enum skip skip)
{
    struct pipeline_fixture *fixture = user;
    if (fixture->skipped)
        fixture->skipped(user, spec, skip);
    atomic_fetch_add(&fixture->skip[skip], 1);
}

static inline void pipeline_fixture_judged(void *user, const struct check_report *report,
                                           const struct bundle_source *source)
{
    struct pipeline_fixture *fixture = user;
    if (fixture->judged)
        fixture->judged(user, report, source);
    atomic_fetch_add(&fixture->verdict[report->verdict], 1);
}

static inline void pipeline_fixture_spent(void *user, const struct kernel_spec *spec,
                                          const struct check_cost *cost)
{
    struct pipeline_fixture *fixture = user;
    if (fixture->spent)
        fixture->spent(user, spec, cost);
}

static inline void pipeline_fixture_warned(void *user, const char *symbol, enum skip skip,
                                           const char *sentence)
{
    struct pipeline_fixture *fixture = user;
    if (fixture->warned)
        fixture->warned(user, symbol, skip, sentence);
}

static inline void pipeline_fixture_failed(void *user, const struct launch *launch,
                                           const char *error_name)
{
    struct pipeline_fixture *fixture = user;
    if (fixture->failed)
        fixture->failed(user, launch, error_name);
}

/* What a launch left in its context is no matter of these tests. */
static inline void pipeline_fixture_api_failed(void *user, const struct api_error *error)
{
    (void)user, (void)error;
}

/* ---- the driver's kernels ---- */

static struct pipeline_params pipeline_fixture_params[2]; /* of the open fixture */

static inline CUresult pipeline_fixture_param_info(CUkernel kernel, size_t index, size_t *offset,
                                                   size_t *size)
{
    const struct pipeline_params *params = &pipeline_fixture_params[(uintptr_t)kernel != 1];
    if (index >= params->pointers + params->numbers)
        return CUDA_ERROR_INVALID_VALUE;
    bool pointer = index < params->pointers;
    *size = pointer ? 8 : 4;
    *offset = index * 8 - (pointer ? 0 : (index - params->pointers) * 4);
    return CUDA_SUCCESS;
}

static inline void pipeline_fixture_kernel(void *user, const struct known_kernel *kernel,
                                           const char *sentence)
{
    (void)user, (void)kernel;
    if (sentence)
        fail_msg("%s", sentence);
}

/* Fails the test on a complaint about the registry, or a kernel that does not fit its entry. */
static inline void pipeline_fixture_open(struct pipeline_fixture *fixture)
{
    struct pipeline *p = &fixture->pipeline;
    struct complaints complaints = {0};
    fake_driver_install();
    cuda.cuKernelGetParamInfo = pipeline_fixture_param_info;
    memcpy(pipeline_fixture_params, fixture->params, sizeof fixture->params);
    if (!fixture->params[1].pointers)
        pipeline_fixture_params[1] = fixture->params[0];
    fixture->sink = (struct sink){.user = fixture,
                                  .seen = pipeline_fixture_seen,
                                  .skipped = pipeline_fixture_skipped,
                                  .judged = pipeline_fixture_judged,
                                  .spent = pipeline_fixture_spent,
                                  .warned = pipeline_fixture_warned,
                                  .launch_failed = pipeline_fixture_failed,
                                  .api_failed = pipeline_fixture_api_failed};
    fixture->loaded = registry_of(fixture->registry, &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    p->gate = gate_create(&fixture->gate);
    p->outliers = outliers_create(fixture->detector);
    p->kernels = kernels_create(fixture->loaded, pipeline_fixture_kernel, NULL);
    p->sides = sides_create();
    p->images = fixture->images = images_create(fixture->loaded);
    p->sink = &fixture->sink;
    p->subset = fixture->subset;
    p->ready_wait_ms = 5000;
    struct collector_settings settings = {.sides = p->sides,
                                          .side = fixture->side,
                                          .sink = &fixture->sink,
                                          .images = fixture->images};
    assert_int_equal(collector_create(&p->collector, &settings, NULL), STATUS_OK);
    pipeline_context_created(p, (CUcontext)(uintptr_t)CONTEXT);
}

/* Waits until no check is under way. */
static inline void pipeline_fixture_settle(struct pipeline_fixture *fixture)
{
    assert_true(collector_drain(fixture->pipeline.collector, 5000));
}

static inline struct side *pipeline_fixture_side(struct pipeline_fixture *fixture)
{
    return sides_find(fixture->pipeline.sides, (CUcontext)(uintptr_t)CONTEXT);
}

/* A launch of one warp. */
static inline struct launch pipeline_fixture_launch(const char *symbol, uintptr_t handle,
                                                    void *const *params)
{
    return (struct launch){.symbol = symbol,
                           .function = (void *)handle,
                           .context = (void *)CONTEXT,
                           .stream = (void *)1,
                           .params = params,
                           .grid = {1, 1, 1},
                           .block = {32, 1, 1}};
}

/* Finishes what is under way, or counts it as skipped, and takes everything down, the fake driver
 * too; frees what calloc gave for the fixture. No driver call of ours has gone astray, and every
 * launch that was seen is in one bucket. */
static inline void pipeline_fixture_end(struct pipeline_fixture *fixture)
{
    struct pipeline *p = &fixture->pipeline;
    atomic_store(&fake.hold_seals, false);
    collector_drain(p->collector, 2000);
    assert_true(collector_stop(p->collector, 2000));
    collector_skip_rest(p->collector);
    collector_destroy(p->collector);
    int strays = fake.strays, seen = fixture->seen, sum = 0;
    for (int i = 0; i < VERDICT_COUNT; i++)
        sum += fixture->verdict[i];
    for (int i = 0; i < SKIP_COUNT; i++)
        sum += fixture->skip[i];
    sides_destroy(p->sides);
    kernels_destroy(p->kernels);
    gate_destroy(p->gate);
    outliers_destroy(p->outliers);
    images_destroy(fixture->images);
    registry_destroy(fixture->loaded);
    free(fixture);
    fake_driver_remove();
    assert_int_equal(strays, 0);
    assert_int_equal(seen, sum);
}

/* The same for a test's state. */
static inline int pipeline_fixture_tear_down(void **state)
{
    pipeline_fixture_end(*state);
    return 0;
}

#endif
