/* The life of a launch from ENTER to a verdict, on a fake driver: what is caught, what stays quiet,
 * what is skipped for which reason, and that every launch lands in exactly one bucket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>
#include "base/clock.h"
#include "tests/unit/common/pipeline_fixture.h"
#include "tests/unit/common/small_elf.h"

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

static void on_judged(void *user, const struct check_report *report,
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

static void on_warned(void *user, const char *symbol, enum skip skip, const char *sentence)
{
    struct world *world = user;
    (void)symbol, (void)skip;
    snprintf(world->sentence, sizeof(world->sentence), "%s", sentence);
    atomic_fetch_add(&world->warnings, 1);
}

static void on_spent(void *user, const struct check_cost *cost)
{
    atomic_fetch_add(&((struct world *)user)->spent, cost->copy);
    assert_true(cost->thread > 0);
}

static void on_failed(void *user, const struct launch *launch, const char *error_name)
{
    struct world *world = user;
    (void)launch;
    snprintf(world->sentence, sizeof(world->sentence), "%s", error_name);
    atomic_fetch_add(&world->failures, 1);
}

static double budget; /* of the worlds that are built */

static void build(struct world *world, uint64_t memory, uint32_t queue, struct gate_settings gate)
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

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    build(world, 1 << 20, 16, every);
    *state = world;
    return 0;
}

static int set_up_narrow(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    build(world, 1 << 20, 2, every);
    *state = world;
    return 0;
}

static int set_up_small(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    build(world, 8192, 16, every);
    *state = world;
    return 0;
}

/* The same, with nothing sampled but the first three launches of a signature. */
static int set_up_small_first(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    build(world, 8192, 16, (struct gate_settings){0, 3, 0, 0});
    *state = world;
    return 0;
}

static int set_up_poor(void **state)
{
    budget = 0.01;
    int status = set_up(state);
    budget = 0;
    return status;
}

/* One launch of `add`; `wrong` spoils an element, `result` is what the driver says. */
struct add_args {
    float *a, *b, *y;
    int32_t rows, cols, pitch;
    int wrong;
    CUresult result;
};

static struct add_args add_args(void)
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

static void run_add(const struct add_args *args)
{
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLS; c++)
            args->y[r * PITCH + c] = args->a[r * PITCH + c] + args->b[r * PITCH + c];
    }
    if (args->wrong >= 0)
        args->y[args->wrong] += 1;
}

static void launch_add(struct world *world, struct add_args args)
{
    void *params[] = {&args.a, &args.b, &args.y, &args.rows, &args.cols, &args.pitch};
    struct launch launch = pipeline_fixture_launch("add", 1, params);
    pipeline_enter(&world->fixture.pipeline, &launch, &world->ticket);
    if (args.result == CUDA_SUCCESS)
        run_add(&args);
    pipeline_exit(&world->fixture.pipeline, &launch, &world->ticket, args.result);
}

static void settle(struct world *world)
{
    pipeline_fixture_settle(&world->fixture);
}

static void a_right_kernel_matches(void **state)
{
    struct world *world = *state;
    launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
    assert_int_equal(world->numbers.checked, ROWS * COLS);
}

static void a_wrong_element_is_named(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    args.wrong = 2 * PITCH + 3;
    launch_add(world, args);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MISMATCH], 1);
    assert_int_equal(world->numbers.violations, 1);
    assert_int_equal(world->numbers.first_index, 2 * COLS + 3); /* of the tensor, not the memory */
    assert_true(world->reference[1] == 100 - 0.75);
    assert_true(world->got[1] == 100 - 0.75f);
}

static void padding_between_rows_is_not_compared(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    args.wrong = COLS; /* behind the first row's end */
    launch_add(world, args);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
}

static void an_in_place_launch_is_judged_on_what_it_read(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    args.y = args.a;
    launch_add(world, args);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
}

static void launch_accumulate(struct world *world, float *x, float *y, float extra)
{
    int32_t rows = 1, cols = 8;
    void *params[] = {&x, &y, &rows, &cols};
    struct launch launch = pipeline_fixture_launch("accumulate", 2, params);
    pipeline_enter(&world->fixture.pipeline, &launch, &world->ticket);
    for (int i = 0; i < 8; i++)
        y[i] += x[i] + extra;
    pipeline_exit(&world->fixture.pipeline, &launch, &world->ticket, CUDA_SUCCESS);
    settle(world);
}

static void an_accumulated_output_counts_from_its_old_value(void **state)
{
    struct world *world = *state;
    float *x = fake_alloc(32), *y = fake_alloc(32);
    for (int i = 0; i < 8; i++) {
        x[i] = (float)i;
        y[i] = 1000;
    }
    launch_accumulate(world, x, y, 0);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
    launch_accumulate(world, x, y, 1);
    assert_int_equal(world->fixture.verdict[VERDICT_MISMATCH], 1);
}

static void unregistered_kernels_are_counted(void **state)
{
    struct world *world = *state;
    struct launch launch = {.symbol = "other", .function = (void *)9, .context = (void *)CONTEXT};
    pipeline_enter(&world->fixture.pipeline, &launch, &world->ticket);
    pipeline_exit(&world->fixture.pipeline, &launch, &world->ticket, CUDA_SUCCESS);
    assert_int_equal(world->fixture.skip[SKIP_UNREGISTERED], 1);
}

static void a_refused_launch_is_reported_and_frees_its_slot(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    args.result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    launch_add(world, args);
    args.y = args.a; /* with a copy already under way */
    launch_add(world, args);
    settle(world);
    assert_int_equal(world->failures, 2);
    assert_int_equal(world->fixture.skip[SKIP_LAUNCH_FAILED], 2);
    assert_string_equal(world->sentence, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
    struct side *side = pipeline_fixture_side(&world->fixture);
    assert_int_equal(slots_in_use(side->free_slots), 0);
}

static void a_captured_launch_is_left_alone(void **state)
{
    struct world *world = *state;
    fake.capturing = true;
    launch_add(world, add_args());
    assert_int_equal(world->fixture.skip[SKIP_CAPTURED], 1);
    fake.capturing = false;
    launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
}

static void an_extent_outside_its_allocation_is_refused(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    args.a = fake_alloc(2 * ROWS * PITCH * sizeof(float));
    fake.allocation[fake_find((uint64_t)(uintptr_t)args.a)].bytes /= 2;
    args.a += 100; /* the array ends behind what the driver calls its allocation */
    launch_add(world, args);
    launch_add(world, args);
    assert_int_equal(world->fixture.skip[SKIP_EXTENT], 2);
    assert_int_equal(world->warnings, 1); /* said once */
    assert_non_null(strstr(world->sentence, "argument 'a'"));
    assert_non_null(strstr(world->sentence, "outside the allocation"));
}

static void a_null_pointer_and_an_empty_launch_have_their_buckets(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    float *y = args.y;
    struct add_args null = args, empty = args;
    null.b = NULL;
    empty.rows = 0;
    void *params[] = {&null.a, &null.b, &null.y, &null.rows, &null.cols, &null.pitch};
    void *empty_params[] = {&empty.a, &empty.b, &empty.y, &empty.rows, &empty.cols, &empty.pitch};
    struct launch launch = pipeline_fixture_launch("add", 1, params);
    pipeline_enter(&world->fixture.pipeline, &launch, &world->ticket);
    pipeline_exit(&world->fixture.pipeline, &launch, &world->ticket, CUDA_SUCCESS);
    launch.params = empty_params;
    pipeline_enter(&world->fixture.pipeline, &launch, &world->ticket);
    pipeline_exit(&world->fixture.pipeline, &launch, &world->ticket, CUDA_SUCCESS);
    assert_int_equal(world->fixture.skip[SKIP_NULL_POINTER], 1);
    assert_int_equal(world->fixture.skip[SKIP_EMPTY], 1);
    assert_ptr_equal(args.y, y);
}

static struct side *only_side(struct world *world)
{
    return pipeline_fixture_side(&world->fixture);
}

/* The program's stream comes to an end: copies that were held back complete. */
static void publish_seals(struct world *world)
{
    struct side *side = only_side(world);
    fake.hold_seals = false;
    for (uint32_t i = 0; i < side->slots; i++)
        __atomic_store_n(&side->seal[i].sequence, side->check[i].sequence, __ATOMIC_RELEASE);
}

static void a_full_queue_is_counted_and_recovers(void **state)
{
    struct world *world = *state; /* two slots */
    fake.hold_seals = true;
    for (int i = 0; i < 3; i++)
        launch_add(world, add_args());
    assert_int_equal(world->fixture.skip[SKIP_QUEUE_FULL], 1);
    publish_seals(world);
    settle(world);
    launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 3);
}

static void a_full_arena_is_counted_and_recovers(void **state)
{
    struct world *world = *state; /* 8 KiB; one launch takes a little over three */
    fake.hold_seals = true;
    for (int i = 0; i < 3; i++)
        launch_add(world, add_args());
    publish_seals(world);
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_ARENA_FULL], 1);
    for (int i = 0; i < 20; i++) { /* round and round the ring */
        launch_add(world, add_args());
        settle(world);
    }
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 22);
}

static void a_full_arena_does_not_cost_a_first_launch_its_turn(void **state)
{
    struct world *world = *state;
    fake.hold_seals = true;
    for (int i = 0; i < 3; i++)
        launch_add(world, add_args());
    publish_seals(world);
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_ARENA_FULL], 1);
    launch_add(world, add_args()); /* the third that is checked */
    settle(world);
    launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 3);
    assert_int_equal(world->fixture.skip[SKIP_NOT_SAMPLED], 1);
}

static void the_budget_passes_random_launches_over(void **state)
{
    struct world *world = *state;
    fake.copy_ns = 1000000000; /* one check of a second takes 100 seconds to pay for */
    launch_add(world, add_args());
    settle(world);
    for (int i = 0; i < 3; i++)
        launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
    assert_int_equal(world->fixture.skip[SKIP_BUDGET], 3);
    assert_int_equal(world->spent, 1000000000);
}

static void without_a_budget_all_are_checked(void **state)
{
    struct world *world = *state;
    fake.copy_ns = 1000000000;
    for (int i = 0; i < 3; i++) {
        launch_add(world, add_args());
        settle(world);
    }
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 3);
    assert_int_equal(world->spent, 3000000000);
}

static void a_snapshot_larger_than_the_arena_is_refused(void **state)
{
    struct world *world = *state;
    struct add_args args = add_args();
    args.a = fake_alloc(1 << 16);
    args.b = fake_alloc(1 << 16);
    args.y = fake_alloc(1 << 16);
    args.rows = 64;
    launch_add(world, args);
    assert_int_equal(world->fixture.skip[SKIP_TOO_LARGE], 1);
    assert_non_null(strstr(world->sentence, "CUVET_MEMORY"));
}

static void a_driver_error_of_ours_costs_the_check_alone(void **state)
{
    struct world *world = *state;
    launch_add(world, add_args()); /* the context is set up */
    settle(world);
    fake.fail_launch = 1;
    launch_add(world, add_args());
    fake.fail_launch = 2; /* the copy works, the reference does not */
    launch_add(world, add_args());
    settle(world);
    launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_DRIVER], 2);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 2);
}

static void a_snapshot_that_cannot_be_completed_ends_the_checking(void **state)
{
    struct world *world = *state;
    launch_add(world, add_args());
    settle(world);
    struct add_args in_place = add_args();
    in_place.y = in_place.a;
    fake.fail_launch = 2; /* the copy before the launch works, the one after does not */
    launch_add(world, in_place);
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_DRIVER], 1);
    launch_add(world, add_args());
    assert_int_equal(world->fixture.skip[SKIP_NOT_READY], 1);
}

static void no_reference_starts_while_the_program_waits_for_the_context(void **state)
{
    struct world *world = *state;
    CUcontext context = (CUcontext)(uintptr_t)CONTEXT;
    launch_add(world, add_args());
    settle(world);
    int before = fake.references;
    pipeline_wait_begins(&world->fixture.pipeline, context);
    launch_add(world, add_args());
    assert_false(collector_drain(world->fixture.pipeline.collector, 50));
    assert_int_equal(fake.references, before);
    pipeline_wait_ends(&world->fixture.pipeline, context);
    settle(world);
    assert_true(fake.references > before);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 2);
}

static void a_context_that_goes_takes_its_checks_with_it(void **state)
{
    struct world *world = *state;
    launch_add(world, add_args());
    settle(world);
    fake.hold_seals = true;
    launch_add(world, add_args());
    pipeline_context_going(&world->fixture.pipeline, (CUcontext)(uintptr_t)CONTEXT);
    assert_int_equal(world->fixture.skip[SKIP_EXIT], 1);
    launch_add(world, add_args()); /* no side any more */
    assert_int_equal(world->fixture.skip[SKIP_NOT_READY], 1);
}

static void a_context_whose_creation_was_not_reported_is_checked(void **state)
{
    struct world *world = *state;
    struct sides *sides = world->fixture.pipeline.sides;
    struct side *side = sides_open_unseen(sides, (CUcontext)(uintptr_t)(CONTEXT + 1));
    assert_non_null(side);
    assert_ptr_equal(sides_open_unseen(sides, (CUcontext)(uintptr_t)(CONTEXT + 1)), side);
    sides_close(sides, side);
    assert_null(sides_open_unseen(sides, (CUcontext)(uintptr_t)(CONTEXT + 1)));
}

static void a_context_in_error_ends_the_checking(void **state)
{
    struct world *world = *state;
    launch_add(world, add_args());
    settle(world);
    fake.hold_seals = true;
    fake.stream_state = CUDA_ERROR_ILLEGAL_ADDRESS;
    launch_add(world, add_args());
    settle(world);
    assert_int_equal(world->fixture.skip[SKIP_DRIVER], 1);
    launch_add(world, add_args());
    assert_int_equal(world->fixture.skip[SKIP_NOT_READY], 1);
}

static void an_unloaded_module_makes_its_handles_doubtful(void **state)
{
    struct world *world = *state;
    launch_add(world, add_args());
    kernels_doubt();
    struct launch launch = {.symbol = "other", .function = (void *)1, .context = (void *)CONTEXT};
    pipeline_enter(&world->fixture.pipeline, &launch,
                   &world->ticket); /* the same handle, another kernel */
    pipeline_exit(&world->fixture.pipeline, &launch, &world->ticket, CUDA_SUCCESS);
    assert_int_equal(world->fixture.skip[SKIP_UNREGISTERED], 1);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
}

static CUresult tell_module(CUmodule *module, CUfunction function)
{
    *module = (CUmodule)((uintptr_t)function + 0x1000);
    return CUDA_SUCCESS;
}

/* Two modules have a kernel of that name; each call that loads one says which it is. */
static void a_mismatch_has_the_image_of_its_launch(void **state)
{
    struct world *world = *state;
    struct images *images = world->fixture.images;
    struct small_elf elf[2] = {small_elf("add"), small_elf("add")};
    struct add_args args = add_args();
    args.wrong = 1;
    cuda.cuFuncGetModule = tell_module;
    for (uint32_t i = 0; i < 2; i++) {
        elf[i].mark = (char)('a' + i);
        images_call_begins();
        images_loaded(images, (void *)CONTEXT, i, &elf[i], sizeof(elf[i]));
        images_call_ends(images, (void *)(uintptr_t)(i ? 0x1001 : 0x1002));
    }
    launch_add(world, args);
    settle(world);
    assert_memory_equal(world->image, &elf[1], sizeof(elf[1]));
    cuda.cuFuncGetModule = NULL; /* not to be had: no image rather than another module's */
    launch_add(world, args);
    settle(world);
    assert_int_equal(world->image[0], 0);
    assert_non_null(strstr(world->no_image, "several"));
    images_unloading(images, (void *)CONTEXT, 0);
    launch_add(world, args);
    settle(world);
    assert_memory_equal(world->image, &elf[1], sizeof(elf[1]));
}

static void a_context_is_set_up_for_its_first_check(void **state)
{
    struct world *world = *state;
    struct side *side = pipeline_fixture_side(&world->fixture);
    struct launch other = {.symbol = "other", .function = (void *)9, .context = (void *)CONTEXT};
    pipeline_enter(&world->fixture.pipeline, &other, &world->ticket);
    pipeline_exit(&world->fixture.pipeline, &other, &world->ticket, CUDA_SUCCESS);
    fake.capturing = true;
    struct add_args args = add_args();
    int own = fake.allocations; /* the program's */
    launch_add(world, args);
    fake.capturing = false;
    assert_int_equal(side->state, SIDE_FRESH);
    assert_int_equal(fake.allocations, own);
    assert_int_equal(world->fixture.skip[SKIP_CAPTURED], 1);
    launch_add(world, args);
    assert_int_equal(side->state, SIDE_READY);
    assert_true(fake.allocations > own);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
}

static atomic_bool hold_stream;

static CUresult slow_stream_create(CUstream *out, unsigned flags, int priority)
{
    while (atomic_load(&hold_stream))
        usleep(1000);
    return fake_stream_create(out, flags, priority);
}

static void one_launch_alone_waits_for_a_slow_set_up(void **state)
{
    enum { WAIT_MS = 100, LATER = 5 };
    struct world *world = *state;
    struct add_args args = add_args();
    world->fixture.pipeline.ready_wait_ms = WAIT_MS;
    cuda.cuStreamCreateWithPriority = slow_stream_create;
    atomic_store(&hold_stream, true);
    launch_add(world, args);
    int64_t began = clock_ns();
    for (int i = 0; i < LATER; i++)
        launch_add(world, args);
    assert_true(clock_ns() - began < (int64_t)WAIT_MS * 1000000);
    assert_int_equal(world->fixture.skip[SKIP_NOT_READY], 1 + LATER);
    atomic_store(&hold_stream, false);
    settle(world);
    launch_add(world, args);
    settle(world);
    assert_int_equal(world->fixture.verdict[VERDICT_MATCH], 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, pipeline_fixture_tear_down)
#define TEST_NARROW(name)                                                                          \
    cmocka_unit_test_setup_teardown(name, set_up_narrow, pipeline_fixture_tear_down)
#define TEST_SMALL(name)                                                                           \
    cmocka_unit_test_setup_teardown(name, set_up_small, pipeline_fixture_tear_down)
#define TEST_SMALL_FIRST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, set_up_small_first, pipeline_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_right_kernel_matches),
        TEST(a_wrong_element_is_named),
        TEST(padding_between_rows_is_not_compared),
        TEST(an_in_place_launch_is_judged_on_what_it_read),
        TEST(an_accumulated_output_counts_from_its_old_value),
        TEST(unregistered_kernels_are_counted),
        TEST(a_refused_launch_is_reported_and_frees_its_slot),
        TEST(a_captured_launch_is_left_alone),
        TEST(an_extent_outside_its_allocation_is_refused),
        TEST(a_null_pointer_and_an_empty_launch_have_their_buckets),
        TEST_NARROW(a_full_queue_is_counted_and_recovers),
        TEST_SMALL(a_full_arena_is_counted_and_recovers),
        cmocka_unit_test_setup_teardown(the_budget_passes_random_launches_over, set_up_poor,
                                        pipeline_fixture_tear_down),
        TEST(without_a_budget_all_are_checked),
        TEST_SMALL_FIRST(a_full_arena_does_not_cost_a_first_launch_its_turn),
        TEST_SMALL(a_snapshot_larger_than_the_arena_is_refused),
        TEST(a_driver_error_of_ours_costs_the_check_alone),
        TEST(a_snapshot_that_cannot_be_completed_ends_the_checking),
        TEST(no_reference_starts_while_the_program_waits_for_the_context),
        TEST(a_context_that_goes_takes_its_checks_with_it),
        TEST(a_context_whose_creation_was_not_reported_is_checked),
        TEST(a_context_in_error_ends_the_checking),
        TEST(an_unloaded_module_makes_its_handles_doubtful),
        TEST(a_mismatch_has_the_image_of_its_launch),
        TEST(a_context_is_set_up_for_its_first_check),
        TEST(one_launch_alone_waits_for_a_slow_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
