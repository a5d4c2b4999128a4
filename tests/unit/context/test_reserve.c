/* Room that the program's thread hands out: apart, in rounds, free once the tail has passed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "context/reserve.h"

enum { RING = 1 << 16, OUT = 64 };

static struct reserve *reserve;
static uint64_t tail;

static int make_new(void **state)
{
    (void)state;
    tail = 0;
    reserve = reserve_create(RING, &tail, OUT);
    return reserve ? 0 : -1;
}

/* Once around. */
static int make(void **state)
{
    struct reserve_room room;
    int failed = make_new(state);
    for (int i = 0; i < 4 && !failed; i++) {
        failed = !reserve_take(reserve, RING / 4, &room);
        reserve_end(reserve, room.begin, room.end);
    }
    return failed;
}

static int drop(void **state)
{
    (void)state;
    reserve_destroy(reserve);
    return 0;
}

static struct reserve_room take(uint64_t bytes)
{
    struct reserve_room room;
    assert_true(reserve_take(reserve, bytes, &room));
    assert_true(room.end - room.begin >= bytes);
    assert_true(reserve_place(reserve, room.end, bytes) + bytes <= RING);
    return room;
}

/* What two checks have at once lies apart, whatever their sizes and in whatever order they end. */
static void room_in_use_is_nobody_elses(void **state)
{
    (void)state;
    struct {
        struct reserve_room room;
        uint64_t bytes;
    } out[OUT];
    int count = 0, taken = 0, skipped = 0;
    uint64_t last = RING;
    srand(1);
    for (int turn = 0; turn < 20000; turn++) {
        uint64_t bytes = 256 * (1 + (uint64_t)rand() % (RING / 4 / 256));
        struct reserve_room room;
        if (count < OUT && rand() % 2 && reserve_take(reserve, bytes, &room)) {
            assert_int_equal(room.begin, last); /* the tail can come past it */
            last = room.end;
            skipped += room.end - room.begin > bytes;
            assert_int_equal(room.needs, room.end > tail + RING ? room.end - RING : 0);
            out[count].bytes = bytes;
            out[count++].room = room;
            taken++;
        } else if (count) {
            int one = rand() % count;
            reserve_end(reserve, out[one].room.begin, out[one].room.end);
            out[one] = out[--count];
        }
        for (int i = 0; i < count; i++) {
            uint64_t at = reserve_place(reserve, out[i].room.end, out[i].bytes);
            for (int k = 0; k < i; k++) {
                uint64_t other = reserve_place(reserve, out[k].room.end, out[k].bytes);
                bool free = tail >= out[i].room.needs && tail >= out[k].room.needs;
                assert_false(free && at < other + out[k].bytes && other < at + out[i].bytes);
            }
        }
    }
    assert_true(taken > 1000 && skipped > 50);
}

static void room_is_handed_out_some_rounds_ahead(void **state)
{
    (void)state;
    struct reserve_room first = take(RING / 4), room = first;
    assert_int_equal(first.needs, 0);
    for (int i = 1; i < 4 * RESERVE_ROUNDS; i++)
        room = take(RING / 4);
    assert_int_equal(room.needs, RESERVE_ROUNDS * RING);
    assert_false(reserve_take(reserve, 256, &room));
    reserve_end(reserve, first.begin, first.end);
    assert_int_equal(tail, first.end);
    assert_int_equal(take(RING / 4).needs, RESERVE_ROUNDS * RING + RING / 4);
}

/* ... but not after one that was not free in time, until all of them are free again. */
static void after_a_miss_only_what_is_free_is_handed_out(void **state)
{
    (void)state;
    struct reserve_room room[8], more;
    for (int i = 0; i < 8; i++)
        room[i] = take(RING / 4);
    reserve_missed(reserve);
    assert_false(reserve_take(reserve, 256, &more));
    for (int i = 0; i < 4; i++)
        reserve_end(reserve, room[i].begin, room[i].end);
    assert_false(reserve_take(reserve, 256, &more)); /* a whole round is out */
    reserve_end(reserve, room[4].begin, room[4].end);
    for (int i = 0; i < 4; i++)
        assert_int_equal(take(RING / 16).needs, 0);
    assert_false(reserve_take(reserve, 256, &more));
    for (int i = 5; i < 8; i++)
        reserve_end(reserve, room[i].begin, room[i].end);
    for (int i = 0; i < 4; i++)
        more = take(RING / 4);
    assert_true(more.needs > 0);
}

/* Quarters of a round that are handed out beyond what is free, all of which end again. */
static int quarters_ahead(void)
{
    struct reserve_room room[4 * RESERVE_ROUNDS];
    int count = 0;
    while (count < 4 * RESERVE_ROUNDS && reserve_take(reserve, RING / 4, &room[count]))
        count++;
    for (int i = 0; i < count; i++)
        reserve_end(reserve, room[i].begin, room[i].end);
    return count - 4;
}

static void misses_bring_it_closer_and_rounds_without_one_further(void **state)
{
    (void)state;
    const int most = quarters_ahead();
    assert_int_equal(most, 4 * (RESERVE_ROUNDS - 1));
    struct reserve_room room = take(RING / 4);
    for (int again = 0; again < 5; again++) /* the same miss */
        reserve_missed(reserve);
    reserve_end(reserve, room.begin, room.end);
    int now = quarters_ahead(), before = now;
    assert_int_equal(now, most / 2);
    for (int i = 0; i < most && now < most; i++, before = now) {
        now = quarters_ahead();
        assert_true(now > before);
    }
    assert_int_equal(now, most);
}

static void nothing_is_handed_out_ahead_in_the_first_round(void **state)
{
    (void)state;
    struct reserve_room room[4], more;
    for (int i = 0; i < 4; i++)
        room[i] = take(RING / 4);
    assert_false(reserve_take(reserve, 256, &more));
    for (int i = 0; i < 3; i++)
        reserve_end(reserve, room[i].begin, room[i].end);
    for (int i = 0; i < 3; i++)
        assert_int_equal(take(RING / 4).needs, 0);
    assert_false(reserve_take(reserve, 256, &more));
    reserve_end(reserve, room[3].begin, room[3].end);
    for (int i = 0; i < 2; i++)
        more = take(RING / 4);
    assert_true(more.needs > 0);
}

static void the_tail_waits_for_the_oldest(void **state)
{
    (void)state;
    struct reserve_room a = take(256), b = take(512), c = take(256);
    reserve_end(reserve, c.begin, c.end);
    reserve_end(reserve, b.begin, b.end);
    assert_int_equal(tail, RING);
    reserve_end(reserve, a.begin, a.end);
    assert_int_equal(tail, c.end);
}

static void too_much_none_and_shut_are_refused(void **state)
{
    (void)state;
    struct reserve_room room;
    uint64_t other_tail = 0;
    struct reserve *none = reserve_create(0, &other_tail, OUT);
    assert_non_null(none);
    assert_false(reserve_take(none, 256, &room));
    assert_false(reserve_take(none, 0, &room));
    assert_false(reserve_is_short(none));
    reserve_destroy(none);
    assert_false(reserve_take(reserve, RING / 4 + 256, &room));
    assert_true(reserve_take(reserve, RING / 4, &room));
    reserve_shut(reserve);
    assert_false(reserve_take(reserve, 256, &room));
}

static void it_is_short_when_complete_snapshots_fill_it(void **state)
{
    (void)state;
    struct reserve_room a = take(RING / 8), b = take(RING / 8);
    assert_false(reserve_is_short(reserve)); /* handed out, not there yet */
    reserve_sealed(reserve, a.end);
    assert_false(reserve_is_short(reserve));
    reserve_sealed(reserve, b.end);
    reserve_sealed(reserve, a.end);
    assert_true(reserve_is_short(reserve));
    reserve_end(reserve, a.begin, a.end);
    assert_false(reserve_is_short(reserve));
}

int main(void)
{
#define WITH_ONE(test) cmocka_unit_test_setup_teardown(test, make, drop)
    const struct CMUnitTest tests[] = {
        WITH_ONE(room_in_use_is_nobody_elses),
        WITH_ONE(room_is_handed_out_some_rounds_ahead),
        WITH_ONE(after_a_miss_only_what_is_free_is_handed_out),
        WITH_ONE(misses_bring_it_closer_and_rounds_without_one_further),
        cmocka_unit_test_setup_teardown(nothing_is_handed_out_ahead_in_the_first_round, make_new,
                                        drop),
        WITH_ONE(the_tail_waits_for_the_oldest),
        WITH_ONE(too_much_none_and_shut_are_refused),
        WITH_ONE(it_is_short_when_complete_snapshots_fill_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
