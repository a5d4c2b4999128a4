/* Which kernels launches without an entry are of: samples of each thread, most frequent first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "gate/unregistered.h"

static int clear(void **state)
{
    (void)state;
    unregistered_clear();
    return 0;
}

static void the_first_launches_are_all_recorded(void **state)
{
    (void)state;
    struct unregistered_row row[4];
    assert_non_null(unregistered_seen(NULL, "once"));
    for (int i = 0; i < 60; i++)
        unregistered_seen(NULL, "later");
    assert_int_equal(unregistered_read(row, 4), 2);
    assert_string_equal(row[0].symbol, "later");
    assert_int_equal(row[0].launches, 60);
    assert_int_equal(row[1].launches, 1);
}

/* From the 16384th sample on 256 launches at least lie between two. */
static void later_ones_are_rare(void **state)
{
    (void)state;
    for (int i = 0; i < 16384; i++)
        unregistered_record(NULL, "often");
    unregistered_record(NULL, "often");
    for (int i = 0; i < 255; i++)
        assert_null(unregistered_seen(NULL, "often"));
}

static void a_kernel_has_one_place_for_its_time(void **state)
{
    (void)state;
    struct unregistered_row row[2];
    struct gpu_time *time = unregistered_record(NULL, "timed");
    assert_ptr_equal(unregistered_time("timed"), time);
    assert_ptr_not_equal(unregistered_time("other"), time);
    assert_int_equal(unregistered_read(row, 2), 2);
    assert_ptr_equal(row[0].time, time);
    assert_int_equal(row[1].launches, 0);
}

/* A step of 512 launches, the interval's largest multiple of two, does not hide a kernel. */
static void shares_are_those_of_the_launches(void **state)
{
    (void)state;
    struct unregistered_row row[4];
    enum { STEPS = 10000, STEP = 512 };
    for (int i = 0; i < STEPS * STEP; i++)
        unregistered_seen(NULL, i % STEP < 320 ? "often" : i % STEP < 448 ? "less" : "rare");
    assert_int_equal(unregistered_read(row, 4), 3);
    uint64_t all = unregistered_launches();
    assert_in_range(all, STEPS * STEP, STEPS * STEP + STEP - 1);
    static const struct {
        const char *name;
        double share;
    } expected[] = {{"often", 320. / STEP}, {"less", 128. / STEP}, {"rare", 64. / STEP}};
    for (int i = 0; i < 3; i++) {
        double share = (double)row[i].launches / (double)all;
        assert_string_equal(row[i].symbol, expected[i].name);
        assert_true(share > expected[i].share - 0.03 && share < expected[i].share + 0.03);
    }
}

static void only_so_many_are_read_and_kept(void **state)
{
    (void)state;
    static struct unregistered_row row[2 * UNREGISTERED_KERNELS];
    char name[32];
    for (int i = 0; i < 2 * UNREGISTERED_KERNELS; i++) {
        snprintf(name, sizeof name, "kernel%d", i);
        unregistered_record(NULL, name);
    }
    unregistered_record(NULL, "kernel7");
    assert_int_equal(unregistered_read(row, 2), 2);
    assert_string_equal(row[0].symbol, "kernel7");
    assert_true(unregistered_read(row, 2 * UNREGISTERED_KERNELS) <= UNREGISTERED_KERNELS);
    assert_true(unregistered_launches() > 2 * UNREGISTERED_KERNELS);
}

static void long_names_are_cut(void **state)
{
    (void)state;
    static char name[3 * UNREGISTERED_NAME];
    struct unregistered_row row[2];
    memset(name, 'x', sizeof name - 1);
    unregistered_record(NULL, name);
    unregistered_record(NULL, NULL);
    assert_int_equal(unregistered_read(row, 2), 2);
    assert_int_equal(strlen(row[0].symbol) + strlen(row[1].symbol),
                     UNREGISTERED_NAME - 1 + strlen("unknown kernel"));
}

static void *record_many(void *name)
{
    for (int i = 0; i < 100000; i++)
        unregistered_seen(NULL, name);
    return NULL;
}

static void threads_share_rows(void **state)
{
    (void)state;
    pthread_t thread[4];
    struct unregistered_row row[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, record_many, i % 2 ? "odd" : "even"), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(unregistered_read(row, 4), 2);
    assert_int_equal(row[0].launches + row[1].launches, unregistered_launches());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_first_launches_are_all_recorded, clear),
        cmocka_unit_test_setup(later_ones_are_rare, clear),
        cmocka_unit_test_setup(a_kernel_has_one_place_for_its_time, clear),
        cmocka_unit_test_setup(shares_are_those_of_the_launches, clear),
        cmocka_unit_test_setup(only_so_many_are_read_and_kept, clear),
        cmocka_unit_test_setup(long_names_are_cut, clear),
        cmocka_unit_test_setup(threads_share_rows, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
