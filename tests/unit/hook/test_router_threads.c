/* The callback of CUPTI beside other calls: on many threads, with modules that come and go, muted.
 */
#include "tests/unit/hook/router_fixture.h"

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
    kernels_revalidate();
    launch(0x100, ours); /* the handle came back as another kernel */
    assert_int_equal(skipped(SKIP_NOT_SAMPLED), 1);
    kernels_revalidate();
    launch(0x100, other);
    launch(0x100, other);
    assert_int_equal(world.seen, 3);
    assert_int_equal(skipped(SKIP_UNREGISTERED), 4);
    expect_balance(5);
}

/* A kernel between two that complete a result together has to be noticed, whichever it is. */
static void *launch_cancelled(void *user)
{
    (void)user;
    tally_own();
    tally_let_pass(true);
    pthread_cancel(pthread_self());
    launch_result(0x100, other, CUDA_ERROR_INVALID_VALUE); /* first lookup, and the report */
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
    struct image_query query = {ours, context, {module, NULL}, images_moment(world.images), 90};
    const char *reason;
    size_t bytes;
    const struct image *image = images_hold(world.images, &query, &reason);
    const struct small_elf *elf = image_data(image, &bytes);
    char mark = elf ? elf->mark : 0;
    images_release(world.images, image);
    return mark;
}

/* Announced while the call runs, or, where loading is lazy, while its function is looked up. */
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
    launch(0x100, other); /* the one before cleared it */
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
            kernels_revalidate();
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
