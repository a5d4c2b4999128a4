/* Turns for snapshots that found no room: they are admitted once the ring has drained, smaller ones
 * go on where they leave room for them, and none waits for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "context/refused.h"

enum { RING = 1024, LARGE = 700, SMALL = 64 };
enum { LARGE_ONE = 7, OTHER_ONE = 8, SMALL_ONE = 9 };
#define MS 1000000ll

static struct refused_ring ring_of(uint64_t head, uint64_t tail)
{
    return (struct refused_ring){.bytes = RING, .lap = RING, .head = head, .tail = tail};
}

static bool admits(struct refused *refused, uint64_t head, uint64_t tail, uint64_t signature,
                   uint64_t bytes)
{
    const struct refused_ring ring = ring_of(head, tail);
    return refused_admits(refused, &ring, signature, bytes, 10 * MS);
}

/* Both large ones were refused, and the first of them has its turn. */
static struct refused in_line(void)
{
    struct refused refused = {.waiting = 0};
    refused_step(&refused, 1 * MS);
    assert_false(refused_any(&refused));
    refused_add(&refused, LARGE_ONE, LARGE);
    refused_add(&refused, OTHER_ONE, LARGE);
    refused_add(&refused, LARGE_ONE, LARGE);
    assert_int_equal(refused.waiting, 2);
    refused_step(&refused, 2 * MS);
    assert_true(refused_any(&refused));
    return refused;
}

static void small_ones_leave_room_for_the_one_whose_turn_it_is(void **state)
{
    (void)state;
    struct refused refused = in_line();
    assert_true(admits(&refused, 0, 0, SMALL_ONE, SMALL)); /* LARGE fits behind it */
    assert_true(admits(&refused, 256, 0, SMALL_ONE, SMALL));
    assert_false(admits(&refused, 512, 0, SMALL_ONE, SMALL));
    assert_false(admits(&refused, 512, 0, LARGE_ONE, LARGE)); /* not yet */
    assert_false(admits(&refused, 0, 0, OTHER_ONE, LARGE));
    assert_true(refused_any(&refused));
    assert_true(admits(&refused, 512, 512, LARGE_ONE, LARGE)); /* all is free */
    assert_false(refused_any(&refused));
    assert_true(admits(&refused, 512, 0, SMALL_ONE, SMALL));
}

static void turns_go_round_and_leave_half_of_the_time(void **state)
{
    (void)state;
    struct refused refused = in_line();
    assert_true(admits(&refused, 0, 0, LARGE_ONE, LARGE));
    refused_step(&refused, 12 * MS); /* it took 10 */
    assert_false(refused_any(&refused));
    refused_step(&refused, 21 * MS);
    assert_false(refused_any(&refused));
    refused_step(&refused, 22 * MS);
    assert_int_equal(refused.turn, OTHER_ONE);
    refused_served(&refused, OTHER_ONE); /* one that was enqueued before */
    refused_step(&refused, 23 * MS);
    assert_false(refused_any(&refused));
    refused_step(&refused, 24 * MS);
    assert_int_equal(refused.turn, LARGE_ONE); /* it found no room after all */
    refused_served(&refused, LARGE_ONE);
    refused_step(&refused, 25 * MS);
    refused_step(&refused, 60000 * MS);
    assert_false(refused_any(&refused));
}

static void a_turn_that_nobody_takes_ends(void **state)
{
    (void)state;
    struct refused refused = {.waiting = 0};
    int64_t now = 1, held = 0, began = now;
    refused_add(&refused, LARGE_ONE, RING);
    for (; refused.waiting; now += MS) {
        refused_step(&refused, now);
        held += refused_any(&refused) ? MS : 0;
        assert_true(now < 60000 * MS);
    }
    assert_true(held > REFUSED_MOST_HOLD_NS);
    assert_true(held < 3 * REFUSED_MOST_HOLD_NS);
    assert_true(now - began > held * 4 / 3);
    /* The collector may sleep meanwhile: the turn's time is over for the program's threads, too. */
    refused_add(&refused, LARGE_ONE, RING);
    refused_step(&refused, now += 60000 * MS);
    const struct refused_ring ring = ring_of(SMALL, 0);
    assert_false(refused_admits(&refused, &ring, SMALL_ONE, SMALL, now));
    assert_true(refused_admits(&refused, &ring, SMALL_ONE, SMALL, now + REFUSED_HOLD_NS));
}

static void the_line_is_bounded(void **state)
{
    (void)state;
    struct refused refused = {.waiting = 0};
    for (uint64_t i = 1; i <= 2 * REFUSED_MOST; i++)
        refused_add(&refused, i, LARGE);
    assert_int_equal(refused.waiting, REFUSED_MOST);
    for (uint64_t i = 1; i <= 2 * REFUSED_MOST; i++)
        refused_served(&refused, i);
    assert_int_equal(refused.waiting, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ones_leave_room_for_the_one_whose_turn_it_is),
        cmocka_unit_test(turns_go_round_and_leave_half_of_the_time),
        cmocka_unit_test(a_turn_that_nobody_takes_ends),
        cmocka_unit_test(the_line_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
