/* router_fixture.h - the callback of CUPTI, with the pipeline behind it and a stand-in of CUPTI in
 * front, for unit tests. */
#ifndef TESTS_UNIT_ROUTER_FIXTURE_H
#define TESTS_UNIT_ROUTER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
/* The core archive holds nothing of hook/. */
#include "hook/graph_calls.c"
#include "hook/launch_decode.c"

#include "core/core.c"
#include "hook/cupti_router.c"
#include "report/counters.h"
#include "tests/unit/fakes/pipeline_fixture.h"
#include "tests/unit/fakes/small_elf.h"

static const char registry_text[] = "version: 1\n"
                                    "kernels:\n"
                                    "- kernel: ours\n"
                                    "  signature: const f32 x[n], f32 y[n], i32 n\n"
                                    "  reference: relu\n"
                                    "- kernel: misfit\n"
                                    "  signature: const f32 x[4], f32 y[4]\n"
                                    "  reference: relu\n"
                                    "- kernel: second\n"
                                    "  after:\n"
                                    "    kernel: first\n"
                                    "    signature: const f32 x[n], ws f32 y[n], i32 n\n"
                                    "  signature: ws f32 a[size], f32 y[size], i32 size\n"
                                    "  reference: relu\n"
                                    "- call: library<*>\n"
                                    "  signature: const f32 x[n], f32 y[n], i32 n\n"
                                    "  reference: relu\n";

static const char ours[] = "ours", other[] = "other", misfit[] = "misfit", first[] = "first";
static const char named_call[] = "library<f32>", other_call[] = "unnamed<f32>";
static const struct param_layout call_layout = {3, {{0, 8, 0}, {8, 8, 0}, {16, 4, 0}}};
static void *const context = (void *)0x2000;

/* ---- CUPTI, which keeps its subscribers ---- */

static CUpti_CallbackFunc callback;

static inline CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function,
                                    void *user)
{
    (void)user;
    *handle = NULL;
    callback = function;
    return CUPTI_SUCCESS;
}

static inline CUptiResult enable_one(uint32_t on, CUpti_SubscriberHandle handle,
                                     CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    (void)on, (void)handle, (void)domain, (void)id;
    return CUPTI_SUCCESS;
}

static inline CUresult param_info(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    static const size_t sizes[] = {8, 8, 4};
    (void)kernel;
    if (index >= 3)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = index * 8;
    *size = sizes[index];
    return CUDA_SUCCESS;
}

/* ---- counters behind a sink that records what went through it ---- */

static struct world {
    struct counters *counters;
    struct sink sink;
    struct pipeline pipeline;
    struct registry *registry;
    struct images *images;
    atomic_int seen; /* launches that reached the pipeline */
    atomic_int failed;
    atomic_uint failed_grid;
    _Atomic(const char *) failed_symbol;
} world;

static inline void on_seen(void *user)
{
    (void)user;
    atomic_fetch_add(&world.seen, 1);
    counters_seen(world.counters);
}

static inline void on_skipped(void *user, const struct kernel_spec *spec, enum skip skip)
{
    (void)user;
    counters_skip(world.counters, spec ? (int64_t)spec->number : -1, skip);
}

static inline void on_warned(void *user, const char *symbol, enum skip skip, const char *sentence)
{
    (void)user, (void)symbol, (void)skip, (void)sentence;
}

static inline void on_failed(void *user, const struct launch *launch, const char *error_name)
{
    (void)user, (void)error_name;
    pthread_testcancel();
    atomic_fetch_add(&world.failed, 1);
    world.failed_grid = launch->grid[0];
    world.failed_symbol = launch->symbol;
}

static inline void on_kernel(void *user, const struct known_kernel *kernel, const char *sentence)
{
    pthread_testcancel();
    (void)user, (void)sentence;
    if (kernel->spec)
        counters_add_kernel(world.counters, kernel->spec);
}

static inline struct tally *find_tallies(void *user, const struct kernel_spec *spec)
{
    (void)user;
    return counters_tallies(world.counters, spec ? (int64_t)spec->number : -1);
}

static inline void on_ready(void *user)
{
    (void)user;
}

static inline int setup(void **state)
{
    struct complaints complaints = {0};
    struct gate_settings gate = {.sample = 0, .first = 0};
    struct core_parts parts = {.pipeline = &world.pipeline, .ready = on_ready, .calls = true};
    (void)state;
    memset(&world, 0, sizeof(world));
    own_thread.until_sample = UINT32_MAX; /* none is recorded */
    fake_driver_install();
    cuda.cuKernelGetParamInfo = param_info;
    cupti.subscribe = subscribe;
    cupti.enable = enable_one;
    world.registry = registry_of(registry_text, &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    world.counters = counters_create();
    world.sink = (struct sink){.seen = on_seen,
                               .skipped = on_skipped,
                               .warned = on_warned,
                               .launch_failed = on_failed,
                               .tallies = find_tallies};
    world.pipeline.gate = gate_create(&gate);
    world.pipeline.kernels = kernels_create(world.registry, on_kernel, NULL);
    world.pipeline.sides = sides_create();
    for (uintptr_t i = 1;
         sides_open(world.pipeline.sides, (CUcontext)i);) /* no room for `context` */
        i++;
    world.pipeline.sink = &world.sink;
    memset(&core, 0, sizeof(core));
    atomic_store(&passing.off, false);
    parts.images = world.images = images_create(world.registry);
    core_start(&parts);
    assert_int_equal(router_start(NULL), STATUS_OK);
    tally_own();
    tally_let_pass(true);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    own_thread.here = NULL; /* what the thread keeps is of this pipeline's kernels */
    sides_destroy(world.pipeline.sides);
    kernels_destroy(world.pipeline.kernels);
    gate_destroy(world.pipeline.gate);
    images_destroy(world.images);
    registry_destroy(world.registry);
    counters_destroy(world.counters);
    fake_driver_remove();
    return 0;
}

/* ---- launches ---- */

static inline void call(unsigned cbid, CUpti_ApiCallbackSite site, const void *params,
                        const char *symbol, CUresult result)
{
    CUpti_CallbackData data = {.callbackSite = site,
                               .functionParams = params,
                               .functionReturnValue = &result,
                               .symbolName = symbol,
                               .context = (CUcontext)context};
    callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data);
}

static inline void launch_by(unsigned cbid, const void *params, const char *symbol, CUresult result)
{
    call(cbid, CUPTI_API_ENTER, params, symbol, CUDA_SUCCESS);
    call(cbid, CUPTI_API_EXIT, params, symbol, result);
}

static inline CUresult launch_result(uintptr_t handle, const char *symbol, CUresult result)
{
    static float x[4], y[4];
    void *from = x, *to = y;
    int n = 4;
    void *list[] = {&from, &to, &n};
    cuLaunchKernel_params params = {.f = (CUfunction)handle,
                                    .gridDimX = 7,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 32,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .kernelParams = list};
    launch_by(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &params, symbol, result);
    return result;
}

static inline void launch(uintptr_t handle, const char *symbol)
{
    launch_result(handle, symbol, CUDA_SUCCESS);
}

static inline uint64_t skipped(enum skip skip)
{
    struct counters_totals totals;
    counters_read(world.counters, &totals);
    return totals.buckets.skip[skip];
}

static inline void expect_balance(uint64_t seen)
{
    struct counters_totals totals;
    counters_read(world.counters, &totals);
    assert_int_equal(totals.seen, seen);
    assert_true(counters_balanced(&totals));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
