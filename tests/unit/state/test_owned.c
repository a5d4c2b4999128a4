/* Pages that belong to one sequence until it ends: what is freed, reused, or ahead of what was
 * appended; and which launches are checked for it. */
#include "tests/unit/state/state_fixture.h"

/* ---- pages that one sequence owns ---- */

static int64_t pages[2][3], slots_of[2], lengths_of[2];
static const char *owning = ", owned: yes";

/* Sequences of 4 and 6 places, in pages 5 and 7, 8. */
static void begin_pages(void)
{
    static const int64_t from[2][3] = {{5, 6, 9}, {7, 8, 10}};
    memcpy(pages, from, sizeof pages);
    lengths_of[0] = 4;
    lengths_of[1] = 6;
}

static const char *read_pages(uint64_t appends, uint64_t replays, int64_t replay)
{
    view = (struct state_view){.table = ids_of(pages[0], 6), .lengths = ids_of(lengths_of, 2)};
    bind_read(owning);
    check.launch++;
    return next(appends, replays, replay, 1);
}

static const char *append_rows(uint64_t appends, uint64_t replays, int64_t replay, int64_t first,
                               int64_t second)
{
    static uint8_t input;
    slots_of[0] = first;
    slots_of[1] = second;
    bind_append(", advance: no", 2, 0);
    view = (struct state_view){.append = ids_of(slots_of, 2)};
    return next(appends, replays, replay, ++input);
}

static void pages_of_others_are_read_when_they_were_appended_to(void **state)
{
    (void)state;
    begin_pages();
    assert_null(read_pages(0, 0, -1));
    assert_null(append_rows(0, 0, -1, 24, 34)); /* places 4 and 6 */
    lengths_of[0]++, lengths_of[1]++;
    assert_null(read_pages(1, 0, -1));
    pages[0][1] = 8; /* sequence 1 ended, and another begins on page 9 */
    pages[1][0] = 9;
    lengths_of[1] = 1;
    lengths_of[0]++;
    assert_null(append_rows(1, 0, -1, 33, 36));
    assert_string_equal(read_pages(2, 0, -1), "freed");
    assert_non_null(strstr(report.sentence, "sequence 0 reads place 4 of 6, in page 8 of 'k'"));
    assert_null(append_rows(2, 0, -1, 34, 37));
    lengths_of[0]++;
    lengths_of[1] = 2;
    assert_null(read_pages(3, 0, -1));
    assert_null(read_pages(5, 0, -1)); /* an append was not checked */
    lengths_of[1] = 1;                 /* another sequence on the same page */
    assert_null(append_rows(5, 0, -1, 35, 36));
    lengths_of[0]++;
    assert_null(read_pages(6, 0, -1));
    lengths_of[1] = 0;
    assert_null(append_rows(6, 0, -1, 40, -1));
    lengths_of[0] = 0;
    assert_null(read_pages(7, 0, -1));
}

static void a_place_in_use_is_not_appended_again(void **state)
{
    (void)state;
    begin_pages();
    assert_null(read_pages(0, 0, -1));
    assert_null(append_rows(0, 0, -1, 24, 29)); /* place 1 of sequence 1 */
    lengths_of[0]++;
    assert_string_equal(read_pages(1, 0, -1), "reused");
    assert_non_null(strstr(report.sentence, "place 1 of sequence 1, in page 7 of 'k'"));
    assert_null(append_rows(1, 0, -1, 25, 34));
    lengths_of[0] += 2;
    lengths_of[1]++;
    assert_string_equal(read_pages(2, 0, -1), "ahead");
    assert_non_null(strstr(report.sentence, "from length 5 to 7, and nothing was appended to "
                                            "place 6, in page 6"));
}

/* ---- pages that begin several sequences ---- */

/* Sequences of 6 and 7 places in pages 5, 6 and 5, 8. */
static void begin_shared(const char *more)
{
    owning = more;
    pages[0][0] = pages[1][0] = 5;
    pages[0][1] = 6;
    pages[1][1] = 8;
    pages[0][2] = 9;
    pages[1][2] = 10;
    lengths_of[0] = 6;
    lengths_of[1] = 7;
    assert_null(read_pages(0, 0, -1));
}

/* A sequence ends, and another begins with its first page; then the other goes, too. */
static void a_shared_page_is_freed_when_the_last_sequence_goes(void **state)
{
    static const char *const more[] = {", shared: prefix, owned: yes",
                                       ", shared: prefix, owned: cached"};
    (void)state;
    for (int cached = 0; cached < 2; cached++) {
        history_destroy(history);
        history = history_create();
        begin_shared(more[cached]);
        pages[0][1] = 11; /* another sequence */
        lengths_of[0] = 5;
        lengths_of[1] = 8;
        assert_null(append_rows(0, 0, -1, 44, 35));
        assert_null(read_pages(1, 0, -1));
        pages[0][1] = 12; /* and others */
        pages[1][1] = 13;
        lengths_of[0] = lengths_of[1] = 5;
        assert_null(append_rows(1, 0, -1, 48, 52));
        const char *found = read_pages(2, 0, -1);
        assert_true(cached ? !found : found && !strcmp(found, "freed"));
        if (!cached)
            assert_non_null(strstr(report.sentence, "sequence 0 reads place 0 of 5, in page 5"));
    }
    owning = ", owned: yes";
}

static void a_page_that_is_not_full_or_elsewhere_is_not_shared(void **state)
{
    (void)state;
    begin_shared(", shared: prefix, owned: cached");
    pages[0][0] = 9;
    pages[0][1] = 8; /* its place 3 was never written */
    pages[1][1] = 12;
    lengths_of[0] = 7;
    lengths_of[1] = 5;
    assert_null(append_rows(0, 0, -1, 34, 48));
    assert_string_equal(read_pages(1, 0, -1), "freed");
    assert_non_null(strstr(report.sentence, "sequence 0 reads place 4 of 7, in page 8"));
    pages[0][1] = 5; /* full, and never the second page */
    pages[0][0] = 7;
    lengths_of[0] = 5;
    assert_null(append_rows(1, 0, -1, 49, -1));
    lengths_of[1] = 6;
    assert_string_equal(read_pages(2, 0, -1), "freed");
    assert_non_null(strstr(report.sentence, "sequence 0 reads place 4 of 5, in page 5"));
    owning = ", owned: yes";
}

static void a_shared_place_is_not_appended_again(void **state)
{
    (void)state;
    begin_shared(", shared: prefix, owned: cached");
    assert_null(append_rows(0, 0, -1, 26, 21)); /* place 1 of both */
    lengths_of[0]++;
    assert_string_equal(read_pages(1, 0, -1), "reused");
    assert_non_null(strstr(report.sentence, "place 1 of sequence 0, in page 5 of 'k'"));
    assert_null(append_rows(1, 0, -1, 27, 35));
    lengths_of[0]++;
    lengths_of[1] += 2; /* its second page was not full, so it is the same sequence */
    assert_string_equal(read_pages(2, 0, -1), "ahead");
    assert_non_null(strstr(report.sentence, "from length 7 to 9, and nothing was appended to "
                                            "place 8, in page 10"));
    owning = ", owned: yes";
}

/* Of full pages alone it is not known which sequence they begin: further ones may be older. */
static void another_sequence_may_have_more_pages(void **state)
{
    (void)state;
    begin_shared(", shared: prefix, owned: cached");
    lengths_of[1] = 8;
    assert_null(append_rows(0, 0, -1, 35, -1));
    assert_null(read_pages(1, 0, -1));
    assert_null(append_rows(1, 0, -1, 41, -1));
    lengths_of[1] = 10; /* page 10, whose first place was written long ago */
    assert_null(read_pages(2, 0, -1));
    assert_null(append_rows(2, 0, -1, 42, -1));
    lengths_of[1] = 12; /* and its last one not at all */
    assert_string_equal(read_pages(3, 0, -1), "ahead");
    owning = ", owned: yes";
}

/* The reader's check may end first: then the append's names it. */
static void replays_hold_pages_together_in_any_order(void **state)
{
    (void)state;
    begin_pages();
    assert_null(append_rows(3, 1, 0, 23, 33));
    assert_null(read_pages(3, 1, 0));
    lengths_of[0]++;
    assert_null(read_pages(3, 2, 1));
    assert_null(append_rows(3, 2, 1, 22, -1)); /* the nodes that append are not known yet */
    for (int replay = 2; replay < 4; replay++) {
        lengths_of[0]++;
        assert_null(append_rows(3, (uint64_t)replay + 1, replay, 19 + lengths_of[0], -1));
        assert_null(read_pages(3, (uint64_t)replay + 1, replay));
    }
    lengths_of[0]++;
    assert_null(read_pages(3, 5, 4));
    assert_string_equal(append_rows(3, 5, 4, 22, -1), "reused");
    assert_non_null(strstr(report.sentence, ", by launch "));
}

/* Without a table: a place that the length goes on to must have been appended. */
static void a_dense_cache_must_be_appended_to(void **state)
{
    (void)state;
    static const int32_t lengths[] = {4, 4, 5};
    bind_append("", 1, 0);
    view = (struct state_view){.append = ids_of((int64_t[]){3}, 1)};
    assert_null(next(7, 1, -1, 0));
    for (int i = 0; i < 3; i++) {
        bind_dense(lengths[i]);
        view = (struct state_view){.inputs = 0};
        const char *rule = next(8, 1, -1, 0);
        assert_int_equal(rule != NULL, i == 2);
    }
    assert_string_equal(report.rule, "ahead");
    assert_non_null(strstr(report.sentence, "sequence 0 goes on from length 4 to 5"));
}

/* Of a cache whose appends no entry names nothing is known. */
static void a_cache_without_known_appends_is_left_alone(void **state)
{
    (void)state;
    for (int length = 4; length < 8; length++) {
        bind_dense(length);
        view = (struct state_view){.inputs = 0};
        assert_null(next(0, 1, -1, 0));
    }
}

/* With `owned` the launches append, reader, append, reader are checked. */
static void the_reader_behind_the_next_append_follows(void **state)
{
    (void)state;
    struct caches *caches = caches_create();
    struct state_moment moment;
    uint64_t q = 0x60000, k = CACHE, table = 0x70000, lengths = 0x70400, y = 0x71000;
    int32_t n = 2, page = 4, entries = 3, all = 20;
    struct launch reader = {.params =
                                PARAMS(&q, &k, &table, &lengths, &y, &n, &page, &entries, &all)};
    for (int owned = 0; owned < 2; owned++) {
        bind_append("", 5, 0);
        launches(caches, CACHE, &moment);
        caches_picked(caches, bound.spec, &moment);
        bind_read(owned ? ", owned: yes" : "");
        assert_true(caches_launch(caches, bound.spec, &reader, &moment));
        assert_false(caches_launch(caches, bound.spec, &reader, &moment));
        bind_append("", 5, 0);
        assert_true(launches(caches, CACHE, &moment));
        bind_read(owned ? ", owned: yes" : "");
        assert_int_equal(caches_launch(caches, bound.spec, &reader, &moment), owned);
        assert_false(caches_launch(caches, bound.spec, &reader, &moment));
    }
    assert_false(caches_settle(caches)); /* all have come */
    uint64_t breaks = moment.replays;
    caches_launch(caches, bound.spec, &reader, &moment);
    assert_true(moment.replays > breaks); /* others may have gone unseen */
    caches_destroy(caches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_of_others_are_read_when_they_were_appended_to,
                                        open_history, close_history),
        cmocka_unit_test_setup_teardown(a_place_in_use_is_not_appended_again, open_history,
                                        close_history),
        cmocka_unit_test_setup_teardown(a_shared_page_is_freed_when_the_last_sequence_goes,
                                        open_history, close_history),
        cmocka_unit_test_setup_teardown(a_page_that_is_not_full_or_elsewhere_is_not_shared,
                                        open_history, close_history),
        cmocka_unit_test_setup_teardown(a_shared_place_is_not_appended_again, open_history,
                                        close_history),
        cmocka_unit_test_setup_teardown(another_sequence_may_have_more_pages, open_history,
                                        close_history),
        cmocka_unit_test_setup_teardown(replays_hold_pages_together_in_any_order, open_history,
                                        close_history),
        cmocka_unit_test_setup_teardown(a_dense_cache_must_be_appended_to, open_history,
                                        close_history),
        cmocka_unit_test_setup_teardown(a_cache_without_known_appends_is_left_alone, open_history,
                                        close_history),
        cmocka_unit_test(the_reader_behind_the_next_append_follows),
    };
    return cmocka_run_group_tests(tests, install, bound_release);
}
