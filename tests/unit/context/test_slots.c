/* Slots and the arena's tail: bounded, never given out twice, free again in the right order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include "context/reclaim.h"
#include "context/slots.h"

static void slots_run_out_and_come_back(void **state)
{
    (void)state;
    struct slots *slots = slots_create(70);
    for (int i = 0; i < 70; i++)
        assert_int_equal(slots_claim(slots), i);
    assert_int_equal(slots_claim(slots), -1);
    assert_int_equal(slots_in_use(slots), 70);
    slots_release(slots, 65);
    assert_int_equal(slots_claim(slots), 65);
    assert_int_equal(slots_claim(slots), -1);
    slots_destroy(slots);
}

enum { THREADS = 4, ROUNDS = 50000, COUNT = 3 };

static struct {
    struct slots *slots;
    atomic_int holders[COUNT];
    atomic_int doubles;
} shared;

static void *claim_and_release(void *user)
{
    (void)user;
    for (int i = 0; i < ROUNDS; i++) {
        int slot = slots_claim(shared.slots);
        if (slot < 0)
            continue;
        if (atomic_fetch_add(&shared.holders[slot], 1))
            atomic_fetch_add(&shared.doubles, 1);
        atomic_fetch_sub(&shared.holders[slot], 1);
        slots_release(shared.slots, slot);
    }
    return NULL;
}

static void a_slot_has_one_holder(void **state)
{
    pthread_t thread[THREADS];
    (void)state;
    shared.slots = slots_create(COUNT);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, claim_and_release, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(atomic_load(&shared.doubles), 0);
    assert_int_equal(slots_in_use(shared.slots), 0);
    slots_destroy(shared.slots);
}

static void the_tail_waits_for_the_oldest(void **state)
{
    (void)state;
    struct reclaim *reclaim = reclaim_create(4);
    assert_int_equal(reclaim_end(reclaim, 100, 200), 0);
    assert_int_equal(reclaim_end(reclaim, 300, 400), 0);
    assert_int_equal(reclaim_end(reclaim, 0, 100), 200);
    assert_int_equal(reclaim_end(reclaim, 200, 300), 400);
    assert_int_equal(reclaim_end(reclaim, 400, 500), 500);
    reclaim_destroy(reclaim);
}

/* Two are out all the time, the others in turn: those that have ended are far more than may be out.
 */
static void many_end_while_one_is_out(void **state)
{
    (void)state;
    enum { ALL = 1000, OUT = 500 };
    struct reclaim *reclaim = reclaim_create(4);
    for (uint64_t i = 1; i + 1 < ALL; i += 2) {
        if (i + 1 != OUT)
            assert_int_equal(reclaim_end(reclaim, i + 1, i + 2), 0);
        assert_int_equal(reclaim_end(reclaim, i, i + 1), 0);
    }
    assert_int_equal(reclaim_end(reclaim, 0, 1), OUT);
    assert_int_equal(reclaim_end(reclaim, OUT, OUT + 1), ALL - 1);
    reclaim_destroy(reclaim);
}

static void an_empty_range_changes_nothing(void **state)
{
    (void)state;
    struct reclaim *reclaim = reclaim_create(1);
    assert_int_equal(reclaim_end(reclaim, 0, 0), 0);
    assert_int_equal(reclaim_end(reclaim, 0, 256), 256);
    reclaim_destroy(reclaim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_run_out_and_come_back),
        cmocka_unit_test(a_slot_has_one_holder),
        cmocka_unit_test(the_tail_waits_for_the_oldest),
        cmocka_unit_test(many_end_while_one_is_out),
        cmocka_unit_test(an_empty_range_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
