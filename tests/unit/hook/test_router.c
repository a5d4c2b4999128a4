/* The callback itself, from CUPTI's side: which launches end in it and how they are counted, which
 * go to the pipeline, and that every launch lands in one bucket whatever becomes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
/* The core archive holds nothing of hook/. */
#include "hook/graph_calls.c"
#include "hook/launch_decode.c"

#include "core.c"
#include "hook/cupti_router.c"
#include "report/counters.h"
#include "tests/unit/common/pipeline_fixture.h"
#include "tests/unit/common/small_elf.h"

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
static const struct param_layout call_layout = {3, {{0, 8}, {8, 8}, {16, 4}}};
static void *const context = (void *)0x2000;

/* ---- CUPTI, which remembers who subscribed ---- */

static CUpti_CallbackFunc callback;

static CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function,
                             void *user)
{
    (void)user;
    *handle = NULL;
    callback = function;
    return CUPTI_SUCCESS;
}

static CUptiResult enable_one(uint32_t on, CUpti_SubscriberHandle handle,
                              CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    (void)on, (void)handle, (void)domain, (void)id;
    return CUPTI_SUCCESS;
}

static CUresult param_info(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    static const size_t sizes[] = {8, 8, 4};
    (void)kernel;
    if (index >= 3)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = index * 8;
    *size = sizes[index];
    return CUDA_SUCCESS;
}

/* ---- counters behind a sink that says what went through it ---- */

static struct world {
    struct counters *counters;
    struct sink sink;
    struct pipeline pipeline;
    struct registry *registry;
    struct images *images;
    atomic_int seen; /* launches that the pipeline saw */
    atomic_int failed;
    atomic_uint failed_grid;
    _Atomic(const char *) failed_symbol;
} world;

static void on_seen(void *user)
{
    (void)user;
    atomic_fetch_add(&world.seen, 1);
    counters_seen(world.counters);
}

static void on_skipped(void *user, const struct kernel_spec *spec, enum skip skip)
{
    (void)user;
    counters_skip(world.counters, spec ? (int64_t)spec->number : -1, skip);
}

static void on_warned(void *user, const char *symbol, enum skip skip, const char *sentence)
{
    (void)user, (void)symbol, (void)skip, (void)sentence;
}

static void on_failed(void *user, const struct launch *launch, const char *error_name)
{
    (void)user, (void)error_name;
    pthread_testcancel();
    atomic_fetch_add(&world.failed, 1);
    world.failed_grid = launch->grid[0];
    world.failed_symbol = launch->symbol;
}

static void on_kernel(void *user, const struct known_kernel *kernel, const char *sentence)
{
    pthread_testcancel();
    (void)user, (void)sentence;
    if (kernel->spec)
        counters_add_kernel(world.counters, kernel->spec);
}

static struct tally *find_tallies(void *user, const struct kernel_spec *spec)
{
    (void)user;
    return counters_tallies(world.counters, spec ? (int64_t)spec->number : -1);
}

static void on_ready(void *user)
{
    (void)user;
}

static int setup(void **state)
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

static int teardown(void **state)
{
    (void)state;
    own_thread.here = NULL; /* what the thread remembers is of this pipeline's kernels */
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

static void call(unsigned cbid, CUpti_ApiCallbackSite site, const void *params, const char *symbol,
                 CUresult result)
{
    CUpti_CallbackData data = {.callbackSite = site,
                               .functionParams = params,
                               .functionReturnValue = &result,
                               .symbolName = symbol,
                               .context = (CUcontext)context};
    callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data);
}

static void launch_by(unsigned cbid, const void *params, const char *symbol, CUresult result)
{
    call(cbid, CUPTI_API_ENTER, params, symbol, CUDA_SUCCESS);
    call(cbid, CUPTI_API_EXIT, params, symbol, result);
}

static CUresult launch_result(uintptr_t handle, const char *symbol, CUresult result)
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

static void launch(uintptr_t handle, const char *symbol)
{
    launch_result(handle, symbol, CUDA_SUCCESS);
}

static uint64_t skipped(enum skip skip)
{
    struct counters_totals totals;
    counters_read(world.counters, &totals);
    return totals.buckets.skip[skip];
}

static void expect_balance(uint64_t seen)
{
    struct counters_totals totals;
    counters_read(world.counters, &totals);
    assert_int_equal(totals.seen, seen);
    assert_true(counters_balanced(&totals));
}

/* ---- cases ---- */

static void an_unregistered_launch_ends_in_the_callback(void **state)
{
    (void)state;
    launch(0x100, other);
    assert_int_equal(world.seen, 1); /* first sight */
    for (int i = 0; i < 9; i++)
        launch(0x100, other);
    assert_int_equal(world.seen, 1);
    assert_int_equal(skipped(SKIP_UNREGISTERED), 10);
    expect_balance(10);
}

static void each_launch_api_has_its_handle(void **state)
{
    CUlaunchConfig config = {.gridDimX = 3};
    cuLaunchKernelEx_params of_config = {.config = &config, .f = (CUfunction)0x100};
    cuLaunchKernel_params plain = {.f = (CUfunction)0x100};
    cuLaunchCooperativeKernel_params cooperative = {.f = (CUfunction)0x100};
    (void)state;
    launch(0x100, other);
    launch_by(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, &plain, other, CUDA_SUCCESS);
    launch_by(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &of_config, other, CUDA_SUCCESS);
    launch_by(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, &of_config, other, CUDA_SUCCESS);
    launch_by(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, &cooperative, other, CUDA_SUCCESS);
    launch_by(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, &cooperative, other,
              CUDA_SUCCESS);
    assert_int_equal(world.seen, 1);
    assert_int_equal(skipped(SKIP_UNREGISTERED), 6);
    expect_balance(6);
}

static void other_kernels_go_to_the_pipeline(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        launch(0x100, ours);
        launch(0x200, misfit);
        launch(0x300, first);
    }
    assert_int_equal(world.seen, 7); /* ours, too: `first` is remembered; the misfit once */
    assert_int_equal(skipped(SKIP_NOT_SAMPLED), 3);
    assert_int_equal(skipped(SKIP_LAYOUT), 3);
    assert_int_equal(skipped(SKIP_UNREGISTERED), 3);
    expect_balance(9);
}

static struct launch library_call(const char *name)
{
    static float x[4], y[4];
    static void *from = x, *to = y;
    static int n = 4;
    static void *list[] = {&from, &to, &n};
    return (struct launch){.symbol = name,
                           .function = name,
                           .context = context,
                           .stream = (void *)1,
                           .grid = {1, 1, 1},
                           .block = {1, 1, 1},
                           .params = list,
                           .call = &call_layout};
}

/* A call is one launch, whatever it launches, and however deep it calls others. */
static void launches_inside_a_library_call_are_part_of_it(void **state)
{
    const struct launch of_call = library_call(named_call);
    (void)state;
    launch(0x100, other);
    for (int i = 0; i < 3; i++) {
        assert_true(core_call_wanted());
        assert_true(core_call_enter(&of_call));
        launch(0x100, other);
        assert_false(core_call_wanted());
        assert_false(core_call_enter(&of_call));
        launch(0x200, misfit);
        launch_result(0x100, other, CUDA_ERROR_INVALID_VALUE);
        core_call_exit(CUDA_SUCCESS);
        launch(0x100, other);
    }
    assert_int_equal(skipped(SKIP_CALL), 6);
    assert_int_equal(skipped(SKIP_LAUNCH_FAILED), 3);
    assert_int_equal(skipped(SKIP_NOT_SAMPLED), 3); /* the calls */
    assert_int_equal(skipped(SKIP_UNREGISTERED), 4);
    expect_balance(16);
}

static void a_library_call_that_no_entry_names_is_left_alone(void **state)
{
    const struct launch unnamed = library_call(other_call);
    (void)state;
    assert_false(core_call_enter(&unnamed));
    assert_false(core_call_open());
    assert_true(core_call_wanted());
    launch(0x100, other);
    assert_int_equal(skipped(SKIP_UNREGISTERED), 1);
    assert_int_equal(skipped(SKIP_CALL), 0);
    expect_balance(1);
}

static void a_library_call_that_fails_is_counted_as_failed(void **state)
{
    const struct launch of_call = library_call(named_call);
    (void)state;
    assert_true(core_call_enter(&of_call));
    core_call_exit(CUDA_ERROR_UNKNOWN);
    assert_int_equal(skipped(SKIP_LAUNCH_FAILED), 1);
    launch(0x100, other);
    assert_int_equal(skipped(SKIP_UNREGISTERED), 1);
    expect_balance(2);
}

/* Its signature does not fit, which one launch is enough to know. */
static void launches_of_a_misfit_end_in_the_callback(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        launch(0x200, misfit);
    assert_int_equal(world.seen, 1);
    launch_result(0x200, misfit, CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(world.seen, 1);
    assert_int_equal(skipped(SKIP_LAYOUT), 5);
    assert_int_equal(skipped(SKIP_LAUNCH_FAILED), 1);
    assert_int_equal(skipped(SKIP_NOT_SAMPLED), 0);
    gate_reset(world.pipeline.gate);
    launch(0x200, misfit);
    assert_int_equal(skipped(SKIP_LAYOUT), 6);
    expect_balance(7);
}

static void a_refused_launch_changes_its_bucket(void **state)
{
    (void)state;
    launch(0x100, other);
    launch_result(0x100, other, CUDA_ERROR_INVALID_VALUE);
    launch(0x100, other);
    assert_int_equal(world.seen, 1);
    assert_int_equal(world.failed, 1);
    assert_int_equal(world.failed_grid, 7);
    assert_ptr_equal(world.failed_symbol, other);
    assert_int_equal(skipped(SKIP_LAUNCH_FAILED), 1);
    assert_int_equal(skipped(SKIP_UNREGISTERED), 2);
    expect_balance(3);
}

static void a_registered_launch_that_no_gate_takes_ends_there_too(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        launch(0x100, ours);
    launch_result(0x100, ours, CUDA_ERROR_INVALID_VALUE);
    launch(0x100, ours);
    assert_int_equal(world.seen, 1); /* the first, before it was asked where to count */
    assert_int_equal(world.failed, 1);
    assert_ptr_equal(world.failed_symbol, ours);
    assert_int_equal(skipped(SKIP_NOT_SAMPLED), 6);
    assert_int_equal(skipped(SKIP_LAUNCH_FAILED), 1);
    struct counters_kernel kernel;
    assert_true(counters_read_kernel(world.counters, 0, &kernel));
    assert_int_equal(kernel.buckets.skip[SKIP_NOT_SAMPLED], 6);
    assert_int_equal(kernel.buckets.skip[SKIP_LAUNCH_FAILED], 1);
    expect_balance(7);
    atomic_store(&passing.off, true);
    launch(0x100, ours);
    assert_int_equal(skipped(SKIP_OFF), 1);
    expect_balance(8);
}

/* Whether the launch went no further than the callback. */
static bool ends_there(unsigned cbid, const void *params)
{
    own_thread.here = NULL;
    launch_by(cbid, params, ours, CUDA_SUCCESS);
    return !own_thread.here;
}

/* By its signature's entry, or where nothing is ever taken, by its kernel's record alone. */
static void each_launch_api_of_a_registered_kernel_ends_there(void **state)
{
    static const double samples[] = {0, 1e-9};
    float x[4], y[4];
    void *from = x, *to = y, *list[] = {&from, &to, &(int){4}};
    CUlaunchConfig config = {.gridDimX = 3,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    cuLaunchKernelEx_params of_config = {
        .config = &config, .f = (CUfunction)0x100, .kernelParams = list};
    cuLaunchKernel_params plain = {.f = (CUfunction)0x100,
                                   .gridDimX = 3,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 32,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .kernelParams = list};
    cuLaunchCooperativeKernel_params cooperative = {.f = (CUfunction)0x100,
                                                    .gridDimX = 4,
                                                    .gridDimY = 1,
                                                    .gridDimZ = 1,
                                                    .blockDimX = 32,
                                                    .blockDimY = 1,
                                                    .blockDimZ = 1,
                                                    .kernelParams = list};
    const struct {
        unsigned cbid;
        const void *params;
    } apis_of[] = {
        {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &plain},
        {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, &plain},
        {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &of_config},
        {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, &of_config},
        {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, &cooperative},
        {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, &cooperative},
    };
    uint64_t launches = 0;
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        gate_set_sample(world.pipeline.gate, samples[s]);
        for (size_t i = 0; i < sizeof(apis_of) / sizeof(*apis_of); i++) {
            for (int n = 0; n < 3; n++, launches++) {
                bool there = ends_there(apis_of[i].cbid, apis_of[i].params);
                assert_true(there || n < 2); /* the first two are thought about */
            }
        }
        assert_true(ends_there(apis_of[2].cbid, &of_config)); /* another one in between */
        assert_true(ends_there(apis_of[0].cbid, &plain));
        launches += 2;
    }
    assert_int_equal(skipped(SKIP_NOT_SAMPLED), launches);
    expect_balance(launches);
    atomic_store(&passing.off, true);
    assert_false(ends_there(apis_of[0].cbid, &plain));
    assert_int_equal(skipped(SKIP_OFF), 1);
    expect_balance(launches + 1);
}

/* A launch that is not passed over has the number of those before it, whoever counted them. */
static void launches_are_numbered_in_their_order(void **state)
{
    enum { LAUNCHES = 2000 };
    int taken = 0;
    (void)state;
    launch(0x100, ours);
    for (uint64_t i = 1; i < LAUNCHES; i++) {
        if (i == LAUNCHES / 2)
            gate_set_sample(world.pipeline.gate, 0.02);
        own_thread.here->ticket.number = UINT64_MAX;
        launch(0x100, ours);
        if (own_thread.here->ticket.number != UINT64_MAX) {
            assert_int_equal(own_thread.here->ticket.number, i);
            taken++;
        }
    }
    assert_in_range(taken, 15, 25); /* one in each fifty of the later half */
    assert_int_equal(skipped(SKIP_NOT_READY), taken);
    expect_balance(LAUNCHES);
}

static void a_refused_launch_without_a_config_is_counted(void **state)
{
    static const double samples[] = {0, 1e-9};
    cuLaunchKernelEx_params nothing = {.config = NULL, .f = (CUfunction)0x100};
    (void)state;
    for (int s = 0; s < 2; s++) {
        gate_set_sample(world.pipeline.gate, samples[s]);
        for (int i = 0; i < 3; i++)
            launch(0x100, ours);
        launch_by(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &nothing, ours,
                  CUDA_ERROR_INVALID_VALUE);
    }
    assert_int_equal(skipped(SKIP_LAUNCH_FAILED), 2);
    assert_int_equal(skipped(SKIP_NOT_SAMPLED), 6);
    expect_balance(8);
}

/* Not even decoded, so that nobody saw it at ENTER: it is counted when the driver refuses it. */
static void a_launch_of_nothing_is_counted_when_it_is_refused(void **state)
{
    cuLaunchKernelEx_params nothing = {.config = NULL, .f = (CUfunction)0x100};
    (void)state;
    launch(0x100, other);
    launch_result(0, other, CUDA_ERROR_INVALID_HANDLE);
    nothing.f = NULL;
    launch_by(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &nothing, other, CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(skipped(SKIP_LAUNCH_FAILED), 2);
    expect_balance(3);
}

/* Where the driver would not read them either: null or garbage parameters of a launch that has no
 * grid, before the kernel is known, while its launches are passed over, and while it is off. */
static void parameters_of_a_launch_without_a_grid_are_not_read(void **state)
{
    static const double samples[] = {1, 0, 1e-9};
    void **garbage = (void **)8;
    cuLaunchKernel_params plain = {.f = (CUfunction)0x100,
                                   .gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 0,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .kernelParams = garbage};
    CUlaunchConfig config = {.gridDimX = 0, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32};
    cuLaunchKernelEx_params ex = {.config = &config, .f = (CUfunction)0x100, .extra = garbage};
    (void)state;
    for (int s = 0; s < 3; s++) {
        gate_set_sample(world.pipeline.gate, samples[s]);
        launch_by(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &plain, ours, CUDA_ERROR_INVALID_VALUE);
        launch_by(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &ex, ours, CUDA_ERROR_INVALID_VALUE);
        for (int i = 0; s && i < 3; i++)
            launch(0x100, ours);
        launch_by(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &plain, ours, CUDA_ERROR_INVALID_VALUE);
        launch_by(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &ex, ours, CUDA_ERROR_INVALID_VALUE);
    }
    assert_int_equal(world.failed, 12);
    assert_ptr_equal(world.failed_symbol, ours);
    assert_int_equal(skipped(SKIP_LAUNCH_FAILED), 12);
    struct counters_kernel kernel;
    assert_true(counters_read_kernel(world.counters, 0, &kernel));
    assert_int_equal(kernel.buckets.skip[SKIP_LAUNCH_FAILED], 12);
    expect_balance(18);
}

static void other_calls_between_do_not_disturb(void **state)
{
    cuLaunchKernel_params params = {.f = (CUfunction)0x100};
    unsigned cbid = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
    CUresult refused = CUDA_ERROR_INVALID_VALUE;
    (void)state;
    launch(0x100, other);
    /* After a launch that was passed over, a call of another API that fails. */
    cuGraphLaunch_params graph = {.hGraph = (CUgraphExec)0x200};
    call(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_API_ENTER, &graph, NULL, CUDA_SUCCESS);
    call(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_API_EXIT, &graph, NULL, refused);
    assert_ptr_equal(graph.hGraph, (CUgraphExec)0x200);
    assert_int_equal(skipped(SKIP_UNREGISTERED), 1);
    assert_int_equal(skipped(SKIP_LAUNCH_FAILED), 1);
    assert_int_equal(world.failed, 0);
    /* A launch of our own is neither begun nor ended. */
    own_thread.work = OWN_WORK;
    launch_by(cbid, &params, other, refused);
    own_thread.work = OWN_NONE;
    expect_balance(2);
}

static void after_an_unload_a_handle_is_looked_at_once_more(void **state)
{
    (void)state;
    launch(0x100, other);
    launch(0x100, other);
    assert_int_equal(world.seen, 1);
    kernels_doubt();
    launch(0x100, ours); /* the handle came back as another kernel */
    assert_int_equal(skipped(SKIP_NOT_SAMPLED), 1);
    kernels_doubt();
    launch(0x100, other);
    launch(0x100, other);
    assert_int_equal(world.seen, 3);
    assert_int_equal(skipped(SKIP_UNREGISTERED), 4);
    expect_balance(5);
}

/* A kernel between two that complete a result together has to be noticed, whoever it is. */
static void *launch_cancelled(void *user)
{
    (void)user;
    tally_own();
    tally_let_pass(true);
    pthread_cancel(pthread_self());
    launch_result(0x100, other, CUDA_ERROR_INVALID_VALUE); /* first sight, and the report */
    launch_result(0x100, other, CUDA_ERROR_INVALID_VALUE); /* passed over, then refused */
    launch(0x200, ours);
    launch(0x200, ours);
    own_thread.here = NULL;
    atomic_fetch_add(&world.failed, 100);
    pthread_testcancel();
    return NULL;
}

/* The sink has a cancellation point; the thread ends behind its launches, not inside. */
static void a_cancelled_thread_ends_outside_of_us(void **state)
{
    pthread_t thread;
    void *result = NULL;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, launch_cancelled, NULL), 0);
    pthread_join(thread, &result);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(world.failed, 102);
    assert_int_equal(skipped(SKIP_LAUNCH_FAILED), 2);
    assert_int_equal(skipped(SKIP_NOT_SAMPLED), 2);
    expect_balance(4);
}

static void load_announced(uint32_t id, char mark)
{
    struct small_elf elf = small_elf(ours);
    elf.mark = mark;
    CUpti_ModuleResourceData module = {
        .moduleId = id, .cubinSize = sizeof(elf), .pCubin = (const char *)&elf};
    CUpti_ResourceData data = {.context = (CUcontext)context, .resourceDescriptor = &module};
    callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &data);
}

static char mark_of(const void *module)
{
    struct image_query query = {ours, context, module, images_moment(world.images), 90};
    const char *reason;
    size_t bytes;
    const struct image *image = images_hold(world.images, &query, &reason);
    const struct small_elf *elf = image_data(image, &bytes);
    char mark = elf ? elf->mark : 0;
    images_release(world.images, image);
    return mark;
}

/* Announced while the call runs, or, where loading is lazy, while its function is asked for. */
static void a_module_is_that_of_the_call_which_loads_it(void **state)
{
    CUmodule first_module = (CUmodule)0x71, second_module = (CUmodule)0x72;
    cuModuleLoadData_params load = {.module = &first_module};
    cuModuleGetFunction_params get = {.hmod = second_module};
    CUpti_ModuleResourceData gone = {.moduleId = 2};
    CUpti_ResourceData unload = {.context = (CUcontext)context, .resourceDescriptor = &gone};
    (void)state;
    call(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData, CUPTI_API_ENTER, &load, NULL, CUDA_SUCCESS);
    load_announced(1, 'a');
    call(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData, CUPTI_API_EXIT, &load, NULL, CUDA_SUCCESS);
    call(CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction, CUPTI_API_ENTER, &get, NULL, CUDA_SUCCESS);
    load_announced(2, 'b');
    call(CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction, CUPTI_API_EXIT, &get, NULL, CUDA_SUCCESS);
    assert_int_equal(mark_of(first_module), 'a');
    assert_int_equal(mark_of(second_module), 'b');
    assert_int_equal(mark_of(NULL), 0);
    callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, &unload);
    assert_int_equal(mark_of(NULL), 'a');
    assert_int_equal(mark_of(second_module), 0);
}

static void a_thread_that_remembers_passes_nothing_over(void **state)
{
    (void)state;
    launch(0x100, other);
    launch(0x300, first);
    launch(0x100, other);
    assert_int_equal(world.seen, 3);
    launch(0x100, other); /* the one before made it forget */
    assert_int_equal(world.seen, 3);
    expect_balance(4);
}

static void a_muted_router_counts_nothing(void **state)
{
    cuLaunchKernel_params params = {.f = (CUfunction)0x100};
    unsigned cbid = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
    (void)state;
    launch(0x100, other);
    call(cbid, CUPTI_API_ENTER, &params, other, CUDA_SUCCESS);
    core_mute();
    call(cbid, CUPTI_API_EXIT, &params, other, CUDA_ERROR_INVALID_VALUE); /* was under way */
    launch(0x100, other);
    launch_result(0x100, other, CUDA_ERROR_INVALID_VALUE);
    launch(0x200, ours);
    assert_int_equal(skipped(SKIP_UNREGISTERED), 1);
    assert_int_equal(skipped(SKIP_LAUNCH_FAILED), 1);
    expect_balance(2);
}

enum { THREADS = 20, ROUNDS = 5000 };

static void *launch_many(void *user)
{
    for (int i = 0; i < ROUNDS; i++) {
        launch_result(0x100, other, i % 10 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
        if (i % 5 == 0)
            launch(0x200, ours);
        if (i % 1000 == 0)
            kernels_doubt();
    }
    return user;
}

/* More threads than have tallies of their own. */
static void twenty_threads_add_up(void **state)
{
    pthread_t thread[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, launch_many, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(skipped(SKIP_LAUNCH_FAILED), THREADS * ROUNDS / 10);
    assert_int_equal(skipped(SKIP_UNREGISTERED), THREADS * ROUNDS / 10 * 9);
    assert_int_equal(skipped(SKIP_NOT_SAMPLED), THREADS * ROUNDS / 5);
    assert_int_equal(world.failed, THREADS * ROUNDS / 10);
    assert_in_range(world.seen, THREADS, THREADS * ROUNDS);
    expect_balance(THREADS * (ROUNDS + ROUNDS / 5));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_unregistered_launch_ends_in_the_callback),
        CASE(each_launch_api_has_its_handle),
        CASE(other_kernels_go_to_the_pipeline),
        CASE(launches_inside_a_library_call_are_part_of_it),
        CASE(a_library_call_that_no_entry_names_is_left_alone),
        CASE(a_library_call_that_fails_is_counted_as_failed),
        CASE(launches_of_a_misfit_end_in_the_callback),
        CASE(a_refused_launch_changes_its_bucket),
        CASE(a_registered_launch_that_no_gate_takes_ends_there_too),
        CASE(each_launch_api_of_a_registered_kernel_ends_there),
        CASE(launches_are_numbered_in_their_order),
        CASE(a_refused_launch_without_a_config_is_counted),
        CASE(a_launch_of_nothing_is_counted_when_it_is_refused),
        CASE(parameters_of_a_launch_without_a_grid_are_not_read),
        CASE(other_calls_between_do_not_disturb),
        CASE(after_an_unload_a_handle_is_looked_at_once_more),
        CASE(a_cancelled_thread_ends_outside_of_us),
        CASE(a_module_is_that_of_the_call_which_loads_it),
        CASE(a_thread_that_remembers_passes_nothing_over),
        CASE(a_muted_router_counts_nothing),
        CASE(twenty_threads_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
