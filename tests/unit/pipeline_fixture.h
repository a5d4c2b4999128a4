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
#include "fake_driver.h"
#include "registry_fixture.h"
#include "verify/pipeline.h"

/* The caller fills in what comes before `loaded`; what the pointers point at, but for the text,
 * outlives the fixture. */
struct pipeline_fixture {
    struct pipeline *pipeline; /* all zero; made here */
    const struct sink *sink;
    const char *registry; /* its text */
    CUresult (*param_info)(CUkernel kernel, size_t index, size_t *offset, size_t *size);
    struct gate_settings gate;
    enum outlier_detector detector;
    struct side_settings side;
    uint64_t subset; /* CUVET_SUBSET */
    CUcontext context;
    struct registry *loaded;
    bool *preload;
};

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
    struct pipeline *p = fixture->pipeline;
    struct complaints complaints = {0};
    fake_driver_install();
    cuda.cuKernelGetParamInfo = fixture->param_info;
    fixture->loaded = registry_of(fixture->registry, &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    fixture->preload = calloc(ref_builtin_count, sizeof(bool));
    p->gate = gate_create(&fixture->gate);
    p->outliers = outliers_create(fixture->detector);
    p->kernels = kernels_create(fixture->loaded, pipeline_fixture_kernel, NULL);
    p->sides = sides_create();
    p->sink = fixture->sink;
    p->subset = fixture->subset;
    p->ready_wait_ms = 5000;
    struct collector_settings settings = {.sides = p->sides,
                                          .side = fixture->side,
                                          .sink = fixture->sink,
                                          .image = fake_no_image,
                                          .preload = fixture->preload};
    assert_int_equal(collector_start(&p->collector, &settings, NULL), STATUS_OK);
    pipeline_context_created(p, fixture->context);
}

/* What is under way is finished, or counted as skipped; the collector has stopped, and no driver
 * call of ours has gone astray. The sink is called no more. */
static inline void pipeline_fixture_stop(struct pipeline_fixture *fixture)
{
    struct pipeline *p = fixture->pipeline;
    atomic_store(&fake.hold_seals, false);
    collector_drain(p->collector, 2000);
    assert_true(collector_stop(p->collector, 2000));
    collector_skip_rest(p->collector);
    collector_destroy(p->collector);
    assert_int_equal(fake.strays, 0);
}

/* After stop: takes everything down, the fake driver too. */
static inline void pipeline_fixture_close(struct pipeline_fixture *fixture)
{
    struct pipeline *p = fixture->pipeline;
    sides_destroy(p->sides);
    kernels_destroy(p->kernels);
    gate_destroy(p->gate);
    outliers_destroy(p->outliers);
    registry_destroy(fixture->loaded);
    free(fixture->preload);
    fake_driver_remove();
}

#endif
