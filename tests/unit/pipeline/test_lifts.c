/* Kernels that are held against their own PTX: each is counted once, however often it is loaded. */
#include "lifts_world.h"

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>
#include "gate/kernels.h"
#include "lifts/lifts.h"

enum { TRIES = 20000, TRY_US = 1000, STOP_MS = 20000 };

/* They live as long as the process, as `lifts` does. */
static struct pipeline pipeline;
static struct lifts *lifts;
static struct registry *registry;
static int context;

static void on_seen(void *user, const struct known_kernel *kernel, const char *sentence)
{
    (void)user, (void)kernel, (void)sentence;
}

static int setup(void **state)
{
    (void)state;
    lifts_driver_install();
    registry = lifts_registry();
    pipeline = (struct pipeline){.images = images_create(registry),
                                 .kernels = kernels_create(registry, on_seen, NULL)};
    lifts = lifts_start(&pipeline, registry);
    assert_non_null(lifts);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    lifts_stop(lifts, STOP_MS);
    kernels_destroy(pipeline.kernels);
    images_destroy(pipeline.images);
    registry_destroy(registry);
    return 0;
}

static void load(struct packed_fatbin *fatbin)
{
    lifts_module = fatbin;
    images_given(pipeline.images, fatbin, &context, fatbin, true);
}

static void unload(struct packed_fatbin *fatbin)
{
    images_taken(pipeline.images, fatbin);
    kernels_revalidate();
}

static struct known_kernel *launch(const char *symbol)
{
    const struct launch launch = {.function = symbol, .symbol = symbol, .context = &context};
    return kernels_find(pipeline.kernels, &launch);
}

/* Launches it until it is held. */
static struct known_kernel *launch_until_held(const char *symbol)
{
    struct known_kernel *kernel = launch(symbol);
    for (int i = 0; i < TRIES && !kernel->spec; i++) {
        usleep(TRY_US);
        kernel = launch(symbol);
    }
    assert_non_null(kernel->spec);
    return kernel;
}

static void expect_text(const char *wanted)
{
    struct textbuf text;
    textbuf_init(&text);
    for (int i = 0; i < TRIES; i++) {
        textbuf_release(&text);
        textbuf_init(&text);
        lifts_print(lifts, &text);
        if (text.length && !strcmp(text.data, wanted))
            break;
        usleep(TRY_US);
    }
    assert_true(text.length > 0);
    assert_string_equal(text.data, wanted);
    textbuf_release(&text);
}

static void a_fatbin_that_is_loaded_again_is_one_kernel(void **state)
{
    enum { FIRST = 2 * IMAGES_UNLOADED, LOADS = 100 };
    static struct packed_fatbin fatbin;
    const struct known_kernel *kernel = NULL;
    size_t before = 0;
    (void)state;
    lifts_fatbin(&fatbin, LIFTS_HEAD LIFTS_SQUARE("square"));
    for (int i = 0; i < FIRST + LOADS; i++) {
        if (i == FIRST)
            before = mallinfo2().uordblks;
        load(&fatbin);
        const struct known_kernel *held = launch_until_held("square");
        assert_true(!kernel || held == kernel);
        kernel = held;
        unload(&fatbin);
    }
    /* Not even a short record of a list is left of each load. */
    assert_true(mallinfo2().uordblks < before + LOADS * sizeof(void *[2]));
    expect_text("precision: 1 kernel was held against its own PTX");
}

/* While both are loaded each has a record of its own. */
static void two_loads_of_one_kernel_are_one_kernel(void **state)
{
    static struct packed_fatbin fatbin, twin;
    (void)state;
    lifts_fatbin(&fatbin, LIFTS_HEAD LIFTS_SQUARE("square") LIFTS_SQUARE("other"));
    lifts_fatbin(&twin, LIFTS_HEAD LIFTS_SQUARE("square") LIFTS_SQUARE("other"));
    load(&fatbin);
    const struct known_kernel *kernel = launch_until_held("square");
    load(&twin);
    kernels_revalidate();
    assert_ptr_equal(launch_until_held("square"), kernel);
    expect_text("precision: 1 kernel was held against its own PTX");
    assert_ptr_not_equal(launch_until_held("other"), kernel);
    expect_text("precision: 2 kernels were held against their own PTX");
}

/* Kernels of one name whose PTX differs are two. */
static void other_ptx_is_another_kernel(void **state)
{
    static struct packed_fatbin fatbin, other;
    (void)state;
    lifts_fatbin(&fatbin, LIFTS_HEAD LIFTS_SQUARE("square"));
    lifts_fatbin(&other, LIFTS_HEAD LIFTS_KERNEL("square", "add.f32 %f2, %f1, %f1; "
                                                           "st.global.f32 [%d5], %f2;\n"));
    load(&fatbin);
    const struct known_kernel *kernel = launch_until_held("square");
    unload(&fatbin);
    load(&other);
    assert_ptr_not_equal(launch_until_held("square"), kernel);
    expect_text("precision: 2 kernels were held against their own PTX");
}

static void a_refused_kernel_is_counted_once(void **state)
{
    static struct packed_fatbin fatbin;
    (void)state;
    lifts_fatbin(&fatbin, LIFTS_HEAD LIFTS_ATOMIC("count"));
    for (int i = 0; i < 3; i++) {
        load(&fatbin);
        assert_null(launch("count")->spec);
        expect_text("precision: 0 kernels were held against their own PTX; 1 could not be: "
                    "atomics 1");
        unload(&fatbin);
    }
}

static void a_kernel_without_an_image_is_counted_once(void **state)
{
    (void)state;
    lifts_module = &context;
    for (int i = 0; i < 3; i++) {
        assert_null(launch("strange")->spec);
        kernels_revalidate();
    }
    expect_text("precision: 0 kernels were held against their own PTX; 1 could not be: its image "
                "is not known or carries no PTX 1");
}

static void a_kernel_at_the_end_has_a_reason_of_its_own(void **state)
{
    static struct packed_fatbin fatbin;
    (void)state;
    lifts_fatbin(&fatbin, LIFTS_HEAD LIFTS_SQUARE("square"));
    load(&fatbin);
    lifts_stop(lifts, STOP_MS);
    assert_null(launch("square")->spec);
    expect_text("precision: 0 kernels were held against their own PTX; 1 could not be: the program "
                "ended before its PTX was read 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_fatbin_that_is_loaded_again_is_one_kernel, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(two_loads_of_one_kernel_are_one_kernel, setup, teardown),
        cmocka_unit_test_setup_teardown(other_ptx_is_another_kernel, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refused_kernel_is_counted_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_kernel_without_an_image_is_counted_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_kernel_at_the_end_has_a_reason_of_its_own, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
