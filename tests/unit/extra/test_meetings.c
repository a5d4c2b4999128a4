/* Which launches gave which output for an item, and which of them stands alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "extra/meetings.h"

static struct meeting_news add(struct meetings *meetings, uint64_t key, uint64_t digest,
                               uint64_t variant)
{
    const struct meeting_source source = {.variant = variant, .launch = variant * 10};
    return meeting_add(meetings_find(meetings, key), digest, false, false, &source);
}

static void equal_outputs_are_no_news(void **state)
{
    struct meetings *meetings = meetings_create();
    (void)state;
    assert_false(add(meetings, 7, 100, 1).met);
    struct meeting_news news = add(meetings, 7, 100, 2);
    assert_true(news.met);
    assert_false(news.differs || news.reveals);
    assert_int_equal(news.with, 2);
    assert_false(add(meetings, 8, 200, 2).met); /* another item */
    assert_false(add(meetings, 0, 1, 1).met);   /* 0 is a key as any other */
    assert_true(add(meetings, 0, 1, 1).met);
    meetings_destroy(meetings);
}

static void the_second_output_names_the_first(void **state)
{
    struct meetings *meetings = meetings_create();
    (void)state;
    add(meetings, 7, 100, 1);
    struct meeting_news news = add(meetings, 7, 101, 2);
    assert_true(news.met && news.differs);
    assert_int_equal(news.other.launch, 10);
    assert_int_equal(news.others, 1);
    meetings_destroy(meetings);
}

static void one_against_two_stands_alone(void **state)
{
    struct meetings *meetings = meetings_create();
    (void)state;
    add(meetings, 7, 100, 1);
    add(meetings, 7, 101, 2);
    struct meeting_news news = add(meetings, 7, 101, 3);
    assert_false(news.differs);
    assert_true(news.reveals);
    assert_int_equal(news.other.variant, 1);
    assert_false(add(meetings, 7, 101, 3).reveals); /* known by now */
    news = add(meetings, 7, 102, 4);                /* alone against two */
    assert_true(news.differs);
    assert_int_equal(news.others, 2);
    assert_int_equal(news.other.variant, 2);
    meetings_destroy(meetings);
}

static void the_same_configuration_counts_once(void **state)
{
    struct meetings *meetings = meetings_create();
    (void)state;
    for (int i = 0; i < 5; i++)
        add(meetings, 7, 100, 1);
    assert_int_equal(add(meetings, 7, 101, 2).others, 1);
    meetings_destroy(meetings);
}

static void near_ones_are_one_output(void **state)
{
    struct meetings *meetings = meetings_create();
    const struct meeting_source source = {.variant = 2};
    (void)state;
    add(meetings, 7, 100, 1);
    struct meeting *meeting = meetings_find(meetings, 7);
    struct meeting_news news = meeting_add(meeting, 101, true, false, &source);
    assert_false(news.differs);
    assert_int_equal(meeting->outputs, 1);
    assert_int_equal(news.with, 2);
    meetings_destroy(meetings);
}

/* Within the margin of a batch, and with other bits than the first launch of the item alone. */
static void single_items_differ_in_bits(void **state)
{
    struct meetings *meetings = meetings_create();
    const struct meeting_source first = {.launch = 4}, second = {.launch = 5};
    struct meeting_news news = {0};
    (void)state;
    add(meetings, 7, 100, 1); /* of a batch */
    struct meeting *meeting = meetings_find(meetings, 7);
    meeting_add_single(meeting, 99, true, &second, &news); /* a wrong one leaves nothing */
    assert_false(news.differs);
    meeting_add_single(meeting, 101, false, &first, &news);
    assert_false(news.differs);
    meeting_add_single(meeting, 101, false, &second, &news);
    assert_false(news.differs);
    meeting_add_single(meeting, 102, false, &second, &news);
    assert_true(news.differs && news.single);
    assert_int_equal(news.other.launch, 4);
    meetings_destroy(meetings);
}

static void a_wrong_launch_accuses_nobody(void **state)
{
    struct meetings *meetings = meetings_create();
    const struct meeting_source source = {.variant = 9};
    (void)state;
    assert_false(meeting_add(meetings_find(meetings, 7), 666, false, true, &source).met);
    assert_false(add(meetings, 7, 100, 1).met); /* it left nothing */
    struct meeting_news news = meeting_add(meetings_find(meetings, 7), 666, false, true, &source);
    assert_true(news.met && news.differs);
    assert_false(add(meetings, 7, 100, 2).differs);
    meetings_destroy(meetings);
}

static void more_outputs_than_are_kept_still_differ(void **state)
{
    struct meetings *meetings = meetings_create();
    (void)state;
    for (uint64_t i = 0; i < 2 * MEETING_OUTPUTS; i++)
        assert_int_equal(add(meetings, 7, 100 + i, i).met, i > 0);
    assert_true(add(meetings, 7, 999, 99).met);
    meetings_destroy(meetings);
}

static void kept_bytes_go_with_their_item(void **state)
{
    struct meetings *meetings = meetings_create();
    const char bytes[] = "bytes";
    (void)state;
    struct meeting *meeting = meetings_find(meetings, 7);
    meetings_keep(meetings, meeting, bytes, sizeof(bytes));
    meetings_keep(meetings, meeting, "other", 6); /* the first stay */
    assert_memory_equal(meeting->kept, bytes, sizeof(bytes));
    meeting = meetings_find(meetings, 7 + MEETINGS); /* the same place */
    assert_null(meeting->kept);
    assert_int_equal(meeting->kept_bytes, 0);
    meetings_destroy(meetings);
    meetings_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_outputs_are_no_news),
        cmocka_unit_test(single_items_differ_in_bits),
        cmocka_unit_test(the_second_output_names_the_first),
        cmocka_unit_test(one_against_two_stands_alone),
        cmocka_unit_test(the_same_configuration_counts_once),
        cmocka_unit_test(near_ones_are_one_output),
        cmocka_unit_test(a_wrong_launch_accuses_nobody),
        cmocka_unit_test(more_outputs_than_are_kept_still_differ),
        cmocka_unit_test(kept_bytes_go_with_their_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
