/* The gate: first launches of each signature always, then a seeded draw. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "verify/gate.h"

/* A kernel of one pointer (parameter 0), one size (1) and one float (2), which decides no shape. */
static const struct kernel_spec spec = {
    .sample = -1,
    .first = -1,
    .shape_params = 2,
    .shape_param = {{.index = 0, .size = 8, .pointer = true}, {.index = 1, .size = 4, .start = 8}},
};

static enum gate_result ask(struct gate *gate, const struct kernel_spec *of, uint64_t number,
                            uint64_t pointer, int32_t size, float eps)
{
    void *params[] = {&pointer, &size, &eps};
    struct launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .params = params};
    struct gate_turn *turn;
    return gate_decide(gate, of, 77, number, &launch, &turn);
}

static struct gate *make(double sample, uint64_t first, uint64_t seed)
{
    struct gate_settings settings = {sample, first, seed};
    struct gate *gate = gate_create(&settings);
    assert_non_null(gate);
    return gate;
}

static void first_launches_of_a_signature_are_checked(void **state)
{
    (void)state;
    struct gate *gate = make(0, 2, 0);
    assert_int_equal(ask(gate, &spec, 0, 0x1000, 10, 1), GATE_FIRST);
    assert_int_equal(ask(gate, &spec, 1, 0x1000, 10, 2), GATE_FIRST);
    assert_int_equal(ask(gate, &spec, 2, 0x1000, 10, 3), GATE_NO);
    assert_int_equal(ask(gate, &spec, 3, 0x2000, 10, 3), GATE_NO);    /* same class of pointer */
    assert_int_equal(ask(gate, &spec, 4, 0x2002, 10, 3), GATE_FIRST); /* another alignment */
    assert_int_equal(ask(gate, &spec, 5, 0x2000, 11, 3), GATE_FIRST); /* another shape */
    gate_destroy(gate);
}

static void a_returned_turn_is_given_again(void **state)
{
    (void)state;
    struct gate *gate = make(0, 1, 0);
    uint64_t pointer = 0x1000;
    int32_t size = 10;
    float eps = 0;
    void *params[] = {&pointer, &size, &eps};
    struct launch launch = {.params = params};
    struct gate_turn *turn;
    assert_int_equal(gate_decide(gate, &spec, 1, 0, &launch, &turn), GATE_FIRST);
    gate_return(turn);
    assert_int_equal(gate_decide(gate, &spec, 1, 1, &launch, &turn), GATE_FIRST);
    assert_int_equal(gate_decide(gate, &spec, 1, 2, &launch, &turn), GATE_NO);
    assert_null(turn);
    gate_return(turn);
    gate_destroy(gate);
}

static void a_reset_makes_every_signature_new(void **state)
{
    (void)state;
    struct gate *gate = make(0, 1, 0);
    assert_int_equal(ask(gate, &spec, 0, 0x1000, 10, 0), GATE_FIRST);
    assert_int_equal(ask(gate, &spec, 1, 0x1000, 11, 0), GATE_FIRST);
    gate_reset(gate);
    assert_int_equal(ask(gate, &spec, 2, 0x1000, 10, 0), GATE_FIRST);
    assert_int_equal(ask(gate, &spec, 3, 0x1000, 10, 0), GATE_NO);
    assert_int_equal(ask(gate, &spec, 4, 0x1000, 11, 0), GATE_FIRST);
    gate_destroy(gate);
}

static void a_turn_from_before_a_reset_may_be_returned(void **state)
{
    (void)state;
    struct gate *gate = make(0, 1, 0);
    uint64_t pointer = 0x1000;
    int32_t size = 10;
    float eps = 0;
    void *params[] = {&pointer, &size, &eps};
    struct launch launch = {.params = params};
    struct gate_turn *old, *turn;
    assert_int_equal(gate_decide(gate, &spec, 1, 0, &launch, &old), GATE_FIRST);
    gate_reset(gate);
    gate_return(old);
    gate_return(old); /* never below none */
    assert_int_equal(gate_decide(gate, &spec, 1, 1, &launch, &turn), GATE_FIRST);
    assert_int_equal(gate_decide(gate, &spec, 1, 2, &launch, &turn), GATE_NO);
    gate_return(old);
    assert_int_equal(gate_decide(gate, &spec, 1, 3, &launch, &turn), GATE_FIRST); /* one more */
    assert_int_equal(gate_decide(gate, &spec, 1, 4, &launch, &turn), GATE_NO);
    gate_destroy(gate);
}

static void the_probability_can_be_changed(void **state)
{
    (void)state;
    struct gate *gate = make(0, 0, 0);
    struct kernel_spec own = spec;
    own.sample = 1;
    assert_int_equal(ask(gate, &spec, 0, 0x1000, 1, 0), GATE_NO);
    gate_set_sample(gate, 1);
    assert_true(gate_sample(gate) == 1);
    assert_int_equal(ask(gate, &spec, 0, 0x1000, 1, 0), GATE_RANDOM);
    gate_set_sample(gate, 0);
    assert_int_equal(ask(gate, &own, 0, 0x1000, 1, 0), GATE_RANDOM); /* the entry's word stays */
    gate_destroy(gate);
}

enum { DRAWS = 100000 };

static int sampled(struct gate *gate, const struct kernel_spec *of, unsigned char *set)
{
    int count = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        set[i] = ask(gate, of, i, 0x1000, 1, 0) == GATE_RANDOM;
        count += set[i];
    }
    return count;
}

static void the_draw_has_its_probability_and_repeats(void **state)
{
    (void)state;
    static unsigned char once[DRAWS], again[DRAWS], other[DRAWS];
    struct gate *a = make(0.1, 0, 5), *b = make(0.1, 0, 5), *c = make(0.1, 0, 6);
    int count = sampled(a, &spec, once);
    assert_in_range(count, 9500, 10500); /* five standard deviations */
    sampled(b, &spec, again);
    assert_memory_equal(once, again, DRAWS);
    sampled(c, &spec, other);
    assert_memory_not_equal(once, other, DRAWS);
    gate_destroy(a);
    gate_destroy(b);
    gate_destroy(c);
}

static void an_entry_overrides_the_settings(void **state)
{
    (void)state;
    static unsigned char set[DRAWS];
    struct kernel_spec always = spec, never = spec;
    struct gate *gate = make(0.5, 3, 1);
    always.sample = 1;
    always.first = 0;
    never.sample = 0;
    never.first = 0;
    assert_int_equal(sampled(gate, &always, set), DRAWS);
    assert_int_equal(sampled(gate, &never, set), 0);
    gate_destroy(gate);
}

static void ever_new_signatures_stay_bounded_and_are_counted(void **state)
{
    (void)state;
    struct gate *gate = make(0, 1, 0);
    for (int32_t i = 0; i < 200000; i++)
        ask(gate, &spec, (uint64_t)i, 0x1000, i, 0);
    assert_true(gate_overflow(gate) > 100000);
    gate_destroy(gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_launches_of_a_signature_are_checked),
        cmocka_unit_test(a_returned_turn_is_given_again),
        cmocka_unit_test(a_reset_makes_every_signature_new),
        cmocka_unit_test(a_turn_from_before_a_reset_may_be_returned),
        cmocka_unit_test(the_probability_can_be_changed),
        cmocka_unit_test(the_draw_has_its_probability_and_repeats),
        cmocka_unit_test(an_entry_overrides_the_settings),
        cmocka_unit_test(ever_new_signatures_stay_bounded_and_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
