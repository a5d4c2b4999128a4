/* The callback of CUPTI: which launches end in it and how they are counted, which
 * go to the pipeline, and that every launch lands in one bucket whatever becomes of it. */
#include "tests/unit/hook/router_fixture.h"

/* ---- cases ---- */

static void an_unregistered_launch_ends_in_the_callback(void **state)
{
    (void)state;
    launch(0x100, other);
    assert_int_equal(world.seen, 1); /* first lookup */
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
    assert_int_equal(world.seen, 7); /* ours, too: `first` is kept; the misfit once */
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

/* Its signature does not fit, which one launch is enough to show. */
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
    assert_int_equal(world.seen, 1); /* the first, before its counter was known */
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

/* A launch that is not passed over has the number of those before it, wherever they were counted.
 */
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

/* Not even decoded, so that it was not read at ENTER: it is counted when the driver refuses it. */
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
