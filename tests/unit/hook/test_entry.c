/* The wrappers of the driver's functions: what they report, that the driver gets every argument,
 * and which wrapper stands for which form of a function. `--cost` prints what they take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include "base/clock.h"
#include "hook/entry_table.h"
#include "pipeline/pipeline.h"
#include "report/counters.h"
#include "tests/unit/fakes/pipeline_fixture.h"

#define WRAPPER(symbol) __typeof__(symbol) cuvet_entry_##symbol
WRAPPER(cuLaunchKernel);
WRAPPER(cuLaunchKernelEx);
WRAPPER(cuLaunchCooperativeKernel);
CUresult cuvet_entry_cuLaunchGrid(CUfunction f, int width, int height);
WRAPPER(cuModuleUnload);
WRAPPER(cuLibraryUnload);
WRAPPER(cuGetProcAddress_v2);
WRAPPER(cuGraphLaunch);
WRAPPER(cuInit);
__typeof__(cuLaunchKernel) cuvet_entry_cuLaunchKernel_ptsz;
__typeof__(cuCtxSynchronize) cuvet_entry_cuCtxSynchronize;
CUresult cuvet_entry_cuCtxSynchronize_v2(CUcontext context);

static const char registry_text[] = "version: 1\n"
                                    "kernels:\n"
                                    "- kernel: ours\n"
                                    "  signature: const f32 x[n], f32 y[n], i32 n\n"
                                    "  reference: relu\n";

enum { OURS = 0x100, OTHER = 0x200 };

static struct world {
    struct counters *counters;
    struct sink sink;
    struct pipeline pipeline;
    struct registry *registry;
    int named;        /* how often the driver looked up a name */
    char failed[64];  /* the kernel of the last launch that failed */
    uint64_t got[11]; /* by the driver, last */
    int calls;        /* of the driver */
    CUresult result;  /* that the driver gives */
    int version;      /* of the last call of the driver */
    int waits;        /* that the driver's unloads found under way */
} world;

/* ---- the driver ---- */

static CUresult name_of(const char **name, CUfunction function)
{
    world.named++;
    *name = (uintptr_t)function == OURS ? "ours" : "other";
    return CUDA_SUCCESS;
}

static CUresult kernel_name_of(const char **name, CUkernel kernel)
{
    (void)name, (void)kernel;
    return CUDA_ERROR_INVALID_HANDLE;
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

static CUresult current(CUcontext *context)
{
    *context = (CUcontext)0x2000;
    return CUDA_SUCCESS;
}

static CUresult driver_launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                              unsigned by, unsigned bz, unsigned shared, CUstream stream,
                              void **params, void **extra)
{
    const uint64_t got[] = {
        (uintptr_t)f,    gx, gy, gz, bx, by, bz, shared, (uintptr_t)stream, (uintptr_t)params,
        (uintptr_t)extra};
    memcpy(world.got, got, sizeof(got));
    world.calls++;
    return world.result;
}

static CUresult driver_launch_ex(const CUlaunchConfig *config, CUfunction f, void **params,
                                 void **extra)
{
    (void)config, (void)params, (void)extra;
    world.got[0] = (uintptr_t)f;
    world.calls++;
    return world.result;
}

static CUresult driver_cooperative(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                   unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                   void **params)
{
    return driver_launch(f, gx, gy, gz, bx, by, bz, shared, stream, params, NULL);
}

static CUresult driver_grid(CUfunction f, int width, int height)
{
    (void)f, (void)width, (void)height;
    world.calls++;
    return world.result;
}

static void note_waits(void)
{
    const struct side *side = sides_find(world.pipeline.sides, (CUcontext)0x2000);
    world.waits += side ? atomic_load(&side->synchronising) : 0;
}

static CUresult driver_unload(CUmodule module)
{
    (void)module;
    note_waits();
    return world.result;
}

static CUresult driver_unload_library(CUlibrary library)
{
    (void)library;
    note_waits();
    return world.result;
}

/* A driver of CUDA 14, with a form of cuLaunchKernel that is not in any header yet. */
static CUresult driver_resolve(const char *name, void **given, int version, cuuint64_t flags,
                               CUdriverProcAddressQueryResult *status)
{
    world.version = version;
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
    *given = strcmp(name, "cuLaunchKernel") || version >= 14000      ? (void *)0x14000
             : flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ? (void *)0x7000
                                                                     : (void *)0x4000;
    return CUDA_SUCCESS;
}

static void set_real(enum entry_id id, void *function)
{
    atomic_store(&entry_table.real[id], function);
}

/* ---- the core ---- */

static void on_seen(void *user)
{
    (void)user;
    counters_seen(world.counters);
}

static void on_skipped(void *user, const struct kernel_spec *spec, enum skip skip)
{
    (void)user;
    counters_skip(world.counters, spec ? (int64_t)spec->number : -1, skip);
}

static void on_failed(void *user, const struct launch *launch, const char *error_name)
{
    (void)user, (void)error_name;
    snprintf(world.failed, sizeof(world.failed), "%s", launch->symbol ? launch->symbol : "?");
}

static void on_kernel(void *user, const struct known_kernel *kernel, const char *sentence)
{
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

static int set_up(void **state)
{
    struct complaints complaints = {0};
    struct gate_settings gate = {.sample = 0, .first = 0};
    struct core_parts parts = {.pipeline = &world.pipeline, .ready = on_ready};
    struct error err = {{0}};
    (void)state;
    memset(&world, 0, sizeof(world));
    own_thread.until_sample = UINT32_MAX; /* none is recorded */
    fake_driver_install();
    cuda.cuKernelGetParamInfo = param_info;
    cuda.cuFuncGetName = name_of;
    cuda.cuKernelGetName = kernel_name_of;
    cuda.cuCtxGetCurrent = current;
    world.registry = registry_of(registry_text, &complaints);
    world.counters = counters_create();
    world.sink = (struct sink){.seen = on_seen,
                               .skipped = on_skipped,
                               .launch_failed = on_failed,
                               .tallies = find_tallies};
    world.pipeline.gate = gate_create(&gate);
    world.pipeline.kernels = kernels_create(world.registry, on_kernel, NULL);
    world.pipeline.sides = sides_create();
    world.pipeline.sink = &world.sink;
    core_start(&parts);
    set_real(ENTRY_cuLaunchKernel, driver_launch);
    set_real(ENTRY_cuLaunchKernel_ptsz, driver_launch);
    set_real(ENTRY_cuLaunchKernelEx, driver_launch_ex);
    set_real(ENTRY_cuLaunchCooperativeKernel, driver_cooperative);
    set_real(ENTRY_cuLaunchGrid, driver_grid);
    set_real(ENTRY_cuModuleUnload, driver_unload);
    set_real(ENTRY_cuLibraryUnload, driver_unload_library);
    set_real(ENTRY_cuGetProcAddress_v2, driver_resolve);
    assert_int_equal(entry_start(&err), STATUS_OK);
    entry_allow(NULL);
    tally_own();
    tally_let_pass(true);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atomic_store(&entry_table.on, false);
    own_thread.here = NULL; /* what the thread keeps is of this pipeline's kernels */
    own_thread.work = OWN_NONE;
    sides_destroy(world.pipeline.sides);
    kernels_destroy(world.pipeline.kernels);
    gate_destroy(world.pipeline.gate);
    registry_destroy(world.registry);
    counters_destroy(world.counters);
    fake_driver_remove();
    return 0;
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

static CUresult launch(uintptr_t handle)
{
    static float x[4], y[4];
    static void *from = x, *to = y;
    static int n = 4;
    static void *list[] = {&from, &to, &n};
    return cuvet_entry_cuLaunchKernel((CUfunction)handle, 7, 1, 1, 32, 1, 1, 0, NULL, list, NULL);
}

/* ---- cases ---- */

static void launches_are_counted_and_their_kernels_named_once(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(launch(OTHER), CUDA_SUCCESS);
        assert_int_equal(launch(OURS), CUDA_SUCCESS);
    }
    assert_int_equal(world.calls, 10);
    assert_int_equal(world.named, 2); /* once for each kernel */
    assert_int_equal(skipped(SKIP_UNREGISTERED), 5);
    assert_int_equal(skipped(SKIP_NOT_SAMPLED), 5);
    expect_balance(10);
}

/* The pipeline, which times some of them, gets it; the next one is only counted. */
static void a_launch_that_is_sampled_goes_to_the_pipeline(void **state)
{
    struct counters_totals totals;
    (void)state;
    launch(OTHER);
    unregistered_clear();
    own_thread.until_sample = 1;
    launch(OTHER);
    assert_int_equal(unregistered_launches(), 0);
    launch(OTHER);
    assert_int_equal(unregistered_launches(), 1);
    counters_read(world.counters, &totals);
    assert_int_equal(totals.seen, 3);
    assert_int_equal(totals.buckets.skip[SKIP_UNREGISTERED], 3);
}

static void the_driver_gets_every_argument(void **state)
{
    void *list[1], *extra[1];
    const uint64_t want[] = {OTHER, 2, 3, 4, 5, 6, 7, 8, 9, (uintptr_t)list, (uintptr_t)extra};
    (void)state;
    for (int i = 0; i < 2; i++) { /* by the slow way, then by the quick one */
        memset(world.got, 0, sizeof(world.got));
        cuvet_entry_cuLaunchKernel((CUfunction)OTHER, 2, 3, 4, 5, 6, 7, 8, (CUstream)9, list,
                                   extra);
        assert_memory_equal(world.got, want, sizeof(want));
    }
}

static void every_launch_function_is_counted(void **state)
{
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    CUfunction f = (CUfunction)OTHER;
    (void)state;
    for (int i = 0; i < 3; i++) {
        cuvet_entry_cuLaunchKernel_ptsz(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
        cuvet_entry_cuLaunchKernelEx(&config, f, NULL, NULL);
        cuvet_entry_cuLaunchCooperativeKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL);
        cuvet_entry_cuLaunchGrid(f, 1, 1);
    }
    assert_int_equal(world.calls, 12);
    assert_int_equal(skipped(SKIP_UNREGISTERED), 9);
    assert_int_equal(skipped(SKIP_LEGACY), 3);
    expect_balance(12);
}

static void a_launch_that_the_driver_refuses_is_named_and_counted(void **state)
{
    (void)state;
    launch(OTHER);
    world.result = CUDA_ERROR_INVALID_VALUE;
    assert_int_equal(launch(OTHER), CUDA_ERROR_INVALID_VALUE);
    assert_string_equal(world.failed, "other");
    assert_int_equal(launch(OURS), CUDA_ERROR_INVALID_VALUE);
    assert_string_equal(world.failed, "ours");
    assert_int_equal(cuvet_entry_cuLaunchKernelEx(NULL, (CUfunction)OTHER, NULL, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    world.result = CUDA_SUCCESS;
    launch(OTHER);
    assert_int_equal(skipped(SKIP_LAUNCH_FAILED), 3);
    assert_int_equal(skipped(SKIP_UNREGISTERED), 2);
    expect_balance(5);
}

static void a_wrapper_that_is_off_or_called_by_the_library_only_calls(void **state)
{
    (void)state;
    atomic_store(&entry_table.on, false);
    launch(OTHER);
    atomic_store(&entry_table.on, true);
    own_thread.work = OWN_WORK;
    launch(OTHER);
    cuvet_entry_cuLaunchGrid((CUfunction)OTHER, 1, 1);
    own_thread.work = OWN_NONE;
    assert_int_equal(world.calls, 3);
    expect_balance(0);
}

static void launches_are_timed_now_and_then(void **state)
{
    (void)state;
    atomic_store(&passing.hook_ns, 0);
    launch(OTHER);
    own_thread.work = OWN_TIMED;
    launch(OTHER);
    assert_int_equal(own_thread.work, OWN_NONE);
    assert_int_not_equal(atomic_load(&passing.hook_ns), 0);
    assert_int_equal(skipped(SKIP_UNREGISTERED), 2);
    expect_balance(2);
}

/* Its handle may be another kernel's. */
static void after_an_unload_a_kernel_is_named_again(void **state)
{
    (void)state;
    launch(OTHER);
    launch(OTHER);
    assert_int_equal(world.named, 1);
    cuvet_entry_cuModuleUnload((CUmodule)0x300);
    launch(OTHER);
    launch(OTHER);
    assert_int_equal(world.named, 2);
    expect_balance(4);
}

/* Both wait for the context's work. */
static void no_reference_starts_inside_an_unload(void **state)
{
    (void)state;
    struct side *side = sides_open(world.pipeline.sides, (CUcontext)0x2000);
    assert_non_null(side);
    cuvet_entry_cuModuleUnload((CUmodule)0x300);
    assert_int_equal(world.waits, 1);
    cuvet_entry_cuLibraryUnload((CUlibrary)0x400);
    assert_int_equal(world.waits, 2);
    assert_int_equal(atomic_load(&side->synchronising), 0);
}

#define IS(given, symbol) assert_ptr_equal((given), (void *)(uintptr_t)cuvet_entry_##symbol)

static void a_form_is_chosen_by_version_and_kind_of_stream(void **state)
{
    void *const given = (void *)0x999;
    (void)state;
    IS(entry_substitute("cuLaunchKernel", 12000, false, given), cuLaunchKernel);
    IS(entry_substitute("cuLaunchKernel", 12000, true, given), cuLaunchKernel_ptsz);
    IS(entry_substitute("cuCtxSynchronize", 12090, false, given), cuCtxSynchronize);
    IS(entry_substitute("cuCtxSynchronize", 12090, true, given), cuCtxSynchronize);
    IS(entry_substitute("cuCtxSynchronize", 13000, false, (void *)0x998), cuCtxSynchronize_v2);
    assert_ptr_equal(entry_substitute("cuLaunchKernel", 3000, false, given), given);
    assert_ptr_equal(entry_substitute("cuMemAlloc", 12000, false, given), given);
    /* the driver's own word goes before the version */
    IS(entry_substitute("cuLaunchKernel", 12000, true, (void *)(uintptr_t)driver_launch),
       cuLaunchKernel);
}

static void a_form_newer_than_the_table_stays_the_drivers(void **state)
{
    CUdriverProcAddressQueryResult status;
    void *given = NULL;
    (void)state;
    assert_int_equal(cuvet_entry_cuGetProcAddress_v2("cuLaunchKernel", &given, 12000, 0, &status),
                     CUDA_SUCCESS);
    IS(given, cuLaunchKernel);
    assert_int_equal(world.version, 12000);
    cuvet_entry_cuGetProcAddress_v2("cuLaunchKernel", &given, 14000, 0, &status);
    assert_ptr_equal(given, (void *)0x14000);
    cuvet_entry_cuGetProcAddress_v2("cuLaunchKernel", &given, 13999, 0, &status);
    IS(given, cuLaunchKernel);
}

/* ---- cost ---- */

/* The least of some rounds: other programs make them dearer, none cheaper. */
static double ns_a_call(__typeof__(cuLaunchKernel) *function, uintptr_t handle)
{
    enum { ROUNDS = 200, CALLS = 1000 };
    static float x[4], y[4];
    static void *from = x, *to = y;
    static int n = 4;
    static void *list[] = {&from, &to, &n};
    int64_t least = INT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t start = clock_ns();
        for (int i = 0; i < CALLS; i++)
            function((CUfunction)handle, 7, 1, 1, 32, 1, 1, 0, NULL, list, NULL);
        int64_t spent = clock_ns() - start;
        least = spent < least ? spent : least;
    }
    return (double)least / CALLS;
}

static int print_cost(void)
{
    set_up(NULL);
    launch(OTHER);
    launch(OURS);
    double bare = ns_a_call(driver_launch, OTHER);
    printf("ns that a wrapped launch takes beyond the driver's, caches warm\n");
    printf("  unregistered        %6.1f\n", ns_a_call(cuvet_entry_cuLaunchKernel, OTHER) - bare);
    printf("  registered, p = 0   %6.1f\n", ns_a_call(cuvet_entry_cuLaunchKernel, OURS) - bare);
    atomic_store(&entry_table.on, false);
    printf("  back end off        %6.1f\n", ns_a_call(cuvet_entry_cuLaunchKernel, OTHER) - bare);
    tear_down(NULL);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(launches_are_counted_and_their_kernels_named_once),
        CASE(a_launch_that_is_sampled_goes_to_the_pipeline),
        CASE(the_driver_gets_every_argument),
        CASE(every_launch_function_is_counted),
        CASE(a_launch_that_the_driver_refuses_is_named_and_counted),
        CASE(a_wrapper_that_is_off_or_called_by_the_library_only_calls),
        CASE(launches_are_timed_now_and_then),
        CASE(after_an_unload_a_kernel_is_named_again),
        CASE(no_reference_starts_inside_an_unload),
        CASE(a_form_is_chosen_by_version_and_kind_of_stream),
        CASE(a_form_newer_than_the_table_stays_the_drivers),
    };
    if (argc > 1 && !strcmp(argv[1], "--cost"))
        return print_cost();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
