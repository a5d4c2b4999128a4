/* Which checks go together into one launch, when they start, and how its blocks are dealt out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "refs/abi/ref_batch.h"
#include "judge/waiting.h"

enum { CHECKS = 40, NOW = 1000000000 };

/* Kernels are known by their addresses alone. */
static const char kernels[WAITING_GROUPS + 1];
static struct check check[CHECKS];
static struct waiting waiting;

static const struct side_reference *kernel(int i)
{
    return (const struct side_reference *)(const void *)&kernels[i];
}

static void add(int i, int wanted, uint64_t bytes, int64_t age, bool alone)
{
    check[i].reference = kernel(wanted);
    check[i].room.bytes = bytes;
    check[i].seal.at = NOW - age;
    waiting_add(&waiting, &check[i], alone);
}

static int clear(void **state)
{
    (void)state;
    waiting_clear(&waiting);
    return 0;
}

static void as_many_as_a_launch_takes_start_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < REF_BATCH; i++) {
        assert_null(waiting_due(&waiting, NOW, false));
        add(i, 0, 4096, 10, false);
    }
    const struct group *group = waiting_due(&waiting, NOW, false);
    assert_non_null(group);
    assert_int_equal(group->count, REF_BATCH);
    for (int i = 0; i < REF_BATCH; i++)
        assert_ptr_equal(group->check[i], &check[i]);
    add(REF_BATCH, 0, 4096, 5, false); /* the next has to wait */
    assert_ptr_equal(waiting_due(&waiting, NOW, false), group);
    assert_int_equal(group->count, REF_BATCH);
    assert_int_equal(waiting.checks, REF_BATCH + 1);
}

static void fewer_wait_for_a_bounded_time(void **state)
{
    (void)state;
    add(0, 0, 4096, 10, false);
    add(1, 0, 4096, WAITING_HOLD_NS - 1, false);
    assert_null(waiting_due(&waiting, NOW, false));
    const struct group *group = waiting_due(&waiting, NOW + 1, false); /* the older one's time */
    assert_non_null(group);
    assert_int_equal(group->count, 2);
}

static void in_a_hurry_nobody_waits(void **state)
{
    (void)state;
    add(0, 0, 4096, 0, false);
    assert_null(waiting_due(&waiting, NOW, false));
    assert_non_null(waiting_due(&waiting, NOW, true));
}

static void other_kernels_are_other_parties(void **state)
{
    (void)state;
    for (int i = 0; i < REF_BATCH; i++)
        add(i, i % 2, 4096, 10, false);
    assert_null(waiting_due(&waiting, NOW, false));
    assert_int_equal(waiting.groups, 2);
    for (int i = 0; i < REF_BATCH; i++)
        assert_ptr_equal(waiting.group[i % 2].check[i / 2], &check[i]);
}

static void those_that_wait_longest_go_first(void **state)
{
    (void)state;
    for (int i = 0; i < REF_BATCH; i++)
        add(i, 0, 4096, 100, false);
    add(REF_BATCH, 1, 4096, WAITING_HOLD_NS, false);
    add(REF_BATCH + 1, 2, 4096, WAITING_HOLD_NS / 2, false); /* older, but not due */
    assert_ptr_equal(waiting_due(&waiting, NOW, false)->reference, kernel(1));
}

static void a_group_is_no_larger_than_the_limit(void **state)
{
    (void)state;
    add(0, 0, WAITING_BYTES / 2, 10, false);
    add(1, 0, WAITING_BYTES / 4, 10, false);
    assert_null(waiting_due(&waiting, NOW, false));
    add(2, 0, WAITING_BYTES / 4 + 1, 10, false);
    const struct group *group = waiting_due(&waiting, NOW, false);
    assert_non_null(group); /* the first two go, since the third did not fit */
    assert_int_equal(group->count, 2);
    assert_int_equal(waiting.groups, 2);
    clear(NULL);
    add(0, 0, WAITING_BYTES, 10, false); /* a large one does not wait */
    add(1, 0, 4096, 10, false);
    assert_int_equal(waiting_due(&waiting, NOW, false)->count, 1);
}

static void who_is_to_be_alone_is_and_waits_for_nobody(void **state)
{
    (void)state;
    add(0, 0, 4096, 10, false);
    add(1, 0, 4096, 5, true);
    add(2, 0, 4096, 5, false);
    const struct group *group = waiting_due(&waiting, NOW, false);
    assert_non_null(group);
    assert_int_equal(group->count, 1);
    assert_ptr_equal(group->check[0], &check[1]);
    assert_int_equal(waiting.group[0].count, 2);
}

static void those_alone_go_in_the_order_of_their_launches(void **state)
{
    (void)state;
    for (int i = 0; i < CHECKS; i++) { /* the last launched was sealed first, and is added first */
        check[i].sequence = (uint64_t)(CHECKS - i);
        add(i, i % 3, 4096, CHECKS - i, true);
    }
    assert_true(waiting.overflow);
    assert_ptr_equal(waiting_due(&waiting, NOW, false)->check[0], &check[CHECKS - 1]);
    for (int i = 0; i < CHECKS; i++)
        check[i].sequence = 0;
}

static void with_more_kinds_than_are_told_apart_nobody_waits(void **state)
{
    (void)state;
    for (int i = 0; i < WAITING_GROUPS; i++)
        add(i, i, 4096, 10 + i, false);
    assert_null(waiting_due(&waiting, NOW, false));
    add(WAITING_GROUPS, WAITING_GROUPS, 4096, 10, false);
    assert_ptr_equal(waiting_due(&waiting, NOW, false)->reference, kernel(WAITING_GROUPS - 1));
    assert_int_equal(waiting.checks, WAITING_GROUPS + 1);
}

static void blocks_are_dealt_by_what_is_wanted(void **state)
{
    (void)state;
    static const uint32_t wanted[REF_BATCH] = {64, 256, 64,  128, 256, 1000, 64,  64,
                                               64, 32,  128, 70,  300, 64,   256, 90};
    const uint32_t most = 264;
    struct ref_batch batch = {0};
    struct ref_call call = {0}, calls[REF_BATCH];
    uint64_t all = 0;
    assert_int_equal(ref_batch_share(256, 256, most), 256); /* alone */
    assert_int_equal(ref_batch_share(64, 128, most), 64);   /* there are enough */
    for (int i = 0; i < REF_BATCH; i++)
        all += wanted[i];
    for (int i = 0; i < REF_BATCH; i++) {
        uint32_t share = ref_batch_share(wanted[i], all, most);
        assert_true(share >= 1 && share <= wanted[i] * most / all + 1);
        assert_true(share * all >= wanted[i] * most - all + 1);
        call.seed = (uint64_t)i;
        assert_ptr_equal(ref_batch_add(&batch, calls, &call, share), &calls[i]);
        assert_int_equal(calls[i].seed, i);
    }
    assert_true(batch.blocks <= most);
    uint32_t next = 0;
    for (int i = 0; i < REF_BATCH; i++) {
        assert_int_equal(batch.first[i], next);
        assert_int_equal(calls[i].first_block, next);
        next += calls[i].blocks;
    }
    assert_int_equal(batch.blocks, next);
    assert_int_equal(ref_batch_share(1, 1000000, most), 1); /* each gets one */
}

/* Columns and rows of the first array, pieces, blocks: lanes of a row. */
static void a_row_has_a_warp_where_there_are_rows_enough(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, columns;
        int32_t pieces;
        uint32_t blocks, lanes;
    } cases[] = {
        {1, 1024, 1, 264, 32},    {1, 1025, 1, 264, REF_THREADS},
        {1056, 4096, 1, 264, 32}, {1055, 4096, 1, 264, REF_THREADS},
        {128, 4096, 1, 16, 32},   {2048, 4096, 2, 264, REF_THREADS},
        {8192, 8192, 1, 264, 32}, {8192, 8193, 1, 264, REF_THREADS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ref_call call = {.pieces = cases[i].pieces};
        call.tensor[0].ndim = 3;
        call.tensor[0].dim[0] = 1;
        call.tensor[0].dim[1] = cases[i].rows;
        call.tensor[0].dim[2] = cases[i].columns;
        assert_int_equal(ref_batch_group(&call, cases[i].blocks), cases[i].lanes);
    }
    struct ref_call scalar = {.pieces = 1};
    assert_int_equal(ref_batch_group(&scalar, 64), 32);
}

#define TEST(name) cmocka_unit_test_setup(name, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(as_many_as_a_launch_takes_start_at_once),
        TEST(fewer_wait_for_a_bounded_time),
        TEST(in_a_hurry_nobody_waits),
        TEST(other_kernels_are_other_parties),
        TEST(those_that_wait_longest_go_first),
        TEST(a_group_is_no_larger_than_the_limit),
        TEST(who_is_to_be_alone_is_and_waits_for_nobody),
        TEST(those_alone_go_in_the_order_of_their_launches),
        TEST(with_more_kinds_than_are_told_apart_nobody_waits),
        TEST(blocks_are_dealt_by_what_is_wanted),
        TEST(a_row_has_a_warp_where_there_are_rows_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
