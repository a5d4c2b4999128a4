/* The last launches of each thread, by name. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gate/kernel_table.h"
#include "gate/kernels.h"
#include "gate/recent.h"

static struct known_kernel kernels[6];
static const char *const symbols[] = {"a", "b", "c", "d", "e", "f"};
static const void *const one = (const void *)0x1000, *const two = (const void *)0x2000;

static uintptr_t record(int i)
{
    kernels[i].symbol = symbols[i];
    return (uintptr_t)&kernels[i] | (i % 2 ? KERNEL_PASSED : 0);
}

static int clear(void **state)
{
    (void)state;
    memset(recent, 0, sizeof(recent));
    return 0;
}

/* "a b, c": names, a comma between threads. */
static const char *names(const void *stream, size_t most)
{
    static char text[256];
    const char *name[16];
    size_t count = recent_names(stream, name, most);
    *text = '\0';
    for (size_t i = 0; i < count; i++) {
        strcat(text, *name[i] ? i && *name[i - 1] ? " " : "" : ",");
        strcat(text, name[i]);
    }
    return text;
}

static void the_newest_come_first(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++)
        recent_slow(record(i), one);
    assert_string_equal(names(one, 16), "f e d c");
    assert_string_equal(names(one, 2), "f e");
}

static void a_stream_has_its_own(void **state)
{
    (void)state;
    recent_slow(record(0), one);
    recent_slow(record(1), two);
    recent_slow(RECENT_GRAPH, one);
    assert_string_equal(names(one, 16), "a CUDA graph a");
    assert_string_equal(names(two, 16), "b");
    assert_string_equal(names(NULL, 16), "a CUDA graph b a");
    assert_string_equal(names((const void *)0x3000, 16), "a CUDA graph b a"); /* none on that */
}

static void *launch_elsewhere(void *user)
{
    (void)user;
    recent_slow(record(3), one);
    return NULL;
}

static void threads_are_apart(void **state)
{
    pthread_t thread;
    (void)state;
    recent_slow(record(2), one);
    pthread_create(&thread, NULL, launch_elsewhere, NULL);
    pthread_join(thread, NULL);
    assert_string_equal(names(one, 16), "c,d");
}

static void nothing_launched_is_no_name(void **state)
{
    (void)state;
    assert_string_equal(names(one, 16), "");
    recent_slow(0, one); /* a kernel without a record */
    assert_string_equal(names(one, 16), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_newest_come_first, clear),
        cmocka_unit_test_setup(a_stream_has_its_own, clear),
        cmocka_unit_test_setup(threads_are_apart, clear),
        cmocka_unit_test_setup(nothing_launched_is_no_name, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
