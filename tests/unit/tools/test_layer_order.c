/* Layers by the order of launches: which kernels have one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tools/report/trace/layer_order.h"

enum { LAYERS = 4 };

static struct layer_order order;
static uint64_t sequence, number[16];

/* A launch of each kernel of a text, a letter each. */
static void launch(const char *kernels)
{
    struct error err = {{0}};
    for (; *kernels; kernels++) {
        const char *const names[] = {(char[]){*kernels, 0}, NULL};
        assert_int_equal(
            layer_order_add(&order, 1, sequence++, number[*kernels - 'a']++, names, &err), 0);
    }
}

static void begin(void)
{
    layer_order_release(&order);
    sequence = 0;
    memset(number, 0, sizeof number);
    order.every = LAYERS;
}

static void layers(const char *kernels)
{
    for (int i = 0; i < LAYERS; i++)
        launch(kernels);
}

static int64_t layer_of(const char *kernel, uint64_t n)
{
    return layer_order_find(&order, 1, 0, kernel, n);
}

static void kernels_of_every_layer_have_one(void **state)
{
    char note[512];
    (void)state;
    begin();
    for (int step = 0; step < 6; step++) {
        launch("e");
        layers("abacd"); /* a twice */
        launch("f");
    }
    assert_true(layer_order_settle(&order, note, sizeof note));
    assert_int_equal(layer_of("b", 6), 2);
    assert_int_equal(layer_of("d", 7), 3);
    assert_int_equal(layer_of("a", 6), -1);
    assert_int_equal(layer_of("e", 2), -1);
    assert_int_equal(layer_of("f", 2), -1);
}

/* A prompt by kernels of its own, then tokens; c and d run in both. */
static void phases_have_kernels_of_their_own(void **state)
{
    char note[512];
    (void)state;
    begin();
    for (int turn = 0; turn < 3; turn++) {
        layers("gcdh");
        for (int step = 0; step < 5; step++)
            layers("acdb");
    }
    assert_false(layer_order_settle(&order, note, sizeof note));
    assert_int_equal(layer_of("g", 5), 1);
    assert_int_equal(layer_of("a", 5), 1);
    assert_int_equal(layer_of("c", 5), 1);
}

/* A last norm of the kernel that each layer has. */
static void one_more_a_step_has_no_layer(void **state)
{
    char note[512];
    (void)state;
    begin();
    for (int step = 0; step < 6; step++) {
        layers("abcd");
        launch("a");
    }
    assert_true(layer_order_settle(&order, note, sizeof note));
    assert_int_equal(layer_of("a", 3), -1);
    assert_int_equal(layer_of("c", 3), 3);
}

static void launches_that_are_missing_are_no_reason(void **state)
{
    char note[512];
    (void)state;
    begin();
    for (int i = 0; i < 40; i++) {
        number[0] += (uint64_t)i % 3;
        number[1] += (uint64_t)i % 5;
        launch(i % 2 ? "ab" : "a");
    }
    assert_false(layer_order_settle(&order, note, sizeof note));
    assert_int_equal(layer_of("a", 6), 2);
    struct error err = {{0}};
    begin();
    assert_int_equal(layer_order_begins(&order, "a", &err), 0);
    number[0] = 7;
    launch("a");
    assert_true(layer_order_settle(&order, note, sizeof note));
    assert_non_null(strstr(note, "--begins needs digests of all launches"));
    layer_order_release(&order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_every_layer_have_one),
        cmocka_unit_test(phases_have_kernels_of_their_own),
        cmocka_unit_test(one_more_a_step_has_no_layer),
        cmocka_unit_test(launches_that_are_missing_are_no_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
