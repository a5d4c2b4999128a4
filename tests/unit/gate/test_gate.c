/* The gate: first launches of each signature always, then a seeded draw for each by itself; and the
 * budget behind it, under which the rare signatures are not starved. */
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/gate_fixture.h"
#include "extra/outlier.h"

static void first_launches_of_a_signature_are_checked(void **state)
{
    (void)state;
    struct gate *gate = make(0, 2, 0);
    assert_int_equal(ask(gate, &spec, 0x1000, 10, 1), GATE_FIRST);
    assert_int_equal(ask(gate, &spec, 0x1000, 10, 2), GATE_FIRST);
    assert_int_equal(ask(gate, &spec, 0x1000, 10, 3), GATE_NO);
    assert_int_equal(ask(gate, &spec, 0x2000, 10, 3), GATE_NO);    /* same class of pointer */
    assert_int_equal(ask(gate, &spec, 0x2002, 10, 3), GATE_FIRST); /* another alignment */
    assert_int_equal(ask(gate, &spec, 0x2000, 11, 3), GATE_FIRST); /* another shape */
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
    struct gate_answer answer = decide(gate, &spec, 1, &launch);
    assert_int_equal(answer.result, GATE_FIRST);
    gate_return(answer.turn);
    assert_int_equal(decide(gate, &spec, 1, &launch).result, GATE_FIRST);
    answer = decide(gate, &spec, 1, &launch);
    assert_int_equal(answer.result, GATE_NO);
    assert_null(answer.turn);
    gate_return(answer.turn);
    gate_destroy(gate);
}

static void a_reset_makes_every_signature_new(void **state)
{
    (void)state;
    struct gate *gate = make(0, 1, 0);
    assert_int_equal(ask(gate, &spec, 0x1000, 10, 0), GATE_FIRST);
    assert_int_equal(ask(gate, &spec, 0x1000, 11, 0), GATE_FIRST);
    gate_reset(gate);
    assert_int_equal(ask(gate, &spec, 0x1000, 10, 0), GATE_FIRST);
    assert_int_equal(ask(gate, &spec, 0x1000, 10, 0), GATE_NO);
    assert_int_equal(ask(gate, &spec, 0x1000, 11, 0), GATE_FIRST);
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
    struct gate_answer answer = decide(gate, &spec, 1, &launch);
    struct gate_turn *old = answer.turn;
    assert_int_equal(answer.result, GATE_FIRST);
    gate_reset(gate);
    gate_return(old);
    gate_return(old); /* never below none */
    assert_int_equal(decide(gate, &spec, 1, &launch).result, GATE_FIRST);
    assert_int_equal(decide(gate, &spec, 1, &launch).result, GATE_NO);
    gate_return(old);
    assert_int_equal(decide(gate, &spec, 1, &launch).result, GATE_FIRST); /* one more */
    assert_int_equal(decide(gate, &spec, 1, &launch).result, GATE_NO);
    gate_destroy(gate);
}

static void the_probability_can_be_changed(void **state)
{
    (void)state;
    struct gate *gate = make(0, 0, 0);
    struct kernel_spec own = spec;
    own.sample = 1;
    assert_int_equal(ask(gate, &spec, 0x1000, 1, 0), GATE_NO);
    gate_set_sample(gate, 1);
    assert_true(gate_sample(gate) == 1);
    assert_int_equal(ask(gate, &spec, 0x1000, 1, 0), GATE_RANDOM);
    gate_set_sample(gate, 0);
    assert_int_equal(ask(gate, &own, 0x1000, 1, 0), GATE_RANDOM); /* the entry's word stays */
    gate_destroy(gate);
}

enum { DRAWS = 100000 };

static int sampled(struct gate *gate, const struct kernel_spec *of, unsigned char *set)
{
    int count = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        set[i] = ask(gate, of, 0x1000, 1, 0) == GATE_RANDOM;
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

/* Whatever the probability, each launch has it, and no stretch of 2 / p launches goes unchecked. */
static void the_draw_is_spread_evenly(void **state)
{
    (void)state;
    static const double rows[] = {0.01, 0.05, 0.07, 0.3, 0.5, 0.7, 0.9};
    static unsigned char set[DRAWS];
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        double p = rows[row], whole = 1 / p;
        struct gate *gate = make(p, 0, 3);
        int count = sampled(gate, &spec, set), gap = 0, longest = 0;
        int by_place[2] = {0}; /* in strata of 20: the first half against the second */
        for (int i = 0; i < DRAWS; i++) {
            gap = set[i] ? 0 : gap + 1;
            longest = gap > longest ? gap : longest;
            by_place[i % 20 >= 10] += set[i];
        }
        assert_true(count > DRAWS * p * 0.97 && count < DRAWS * p * 1.03);
        assert_true(abs(by_place[0] - by_place[1]) < 5 * sqrt(DRAWS * p));
        if (whole == floor(whole))
            assert_true(longest < 2 * whole);
        gate_destroy(gate);
    }
}

/* A rare shape is drawn by its own launches, wherever they stand among those of a common one. */
static void a_rare_signature_is_drawn_by_itself(void **state)
{
    (void)state;
    struct gate *gate = make(0.25, 0, 0);
    int rare = 0, common = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        bool is_rare = i % 1000 == 0;
        bool taken = ask(gate, &spec, 0x1000, is_rare ? 77 : 10, 0) == GATE_RANDOM;
        *(is_rare ? &rare : &common) += taken;
    }
    assert_int_equal(rare, DRAWS / 1000 / 4); /* one of each four */
    assert_in_range(common, (DRAWS - DRAWS / 1000) / 4, (DRAWS - DRAWS / 1000) / 4 + 1);
    gate_destroy(gate);
}

/* The other way round: another order of the signatures leaves each one's draw as it was. */
static void signatures_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct gate *mixed = make(0.1, 0, 4), *alone = make(0.1, 0, 4);
    for (uint64_t i = 0; i < 10000; i++) {
        ask(mixed, &spec, 0x1000, 11, 0);
        assert_int_equal(ask(mixed, &spec, 0x1000, 10, 0), ask(alone, &spec, 0x1000, 10, 0));
    }
    gate_destroy(mixed);
    gate_destroy(alone);
}

/* Ranks of one job see the same launches and check different ones; a rank repeats itself. */
static void ranks_sample_different_launches(void **state)
{
    (void)state;
    enum { RANKS = 8 };
    static unsigned char set[RANKS][DRAWS], again[DRAWS];
    struct gate *gate;
    int covered = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        gate = make_ranked(0.1, 0, 5, rank);
        sampled(gate, &spec, set[rank]);
        gate_destroy(gate);
    }
    for (int i = 0; i < DRAWS; i++) {
        int any = 0;
        for (int rank = 0; rank < RANKS; rank++)
            any |= set[rank][i];
        covered += any;
    }
    double expected = DRAWS * (1 - pow(0.9, RANKS)); /* of independent draws */
    assert_true(covered > expected * 0.97 && covered < expected * 1.03);
    gate = make_ranked(0.1, 0, 5, 3);
    sampled(gate, &spec, again);
    assert_memory_equal(again, set[3], DRAWS);
    gate_destroy(gate);
}

/* ---- the gate and a tight budget, in simulated time ---- */

enum { SHAPES = 64, NS_US = 1000 };

struct simulation {
    double sample, share;
    uint64_t first;
    int common;                  /* shapes that take turns */
    uint64_t every;              /* each so manieth launch has the rare shape; 0: none */
    int64_t launch_us, check_us; /* between two launches; that a check costs */
    int64_t seconds;
    uint64_t launches[SHAPES], checked[SHAPES]; /* out; the rare shape is the last */
    double cost;                                /* out: share of the time */
};

static void simulate(struct simulation *s)
{
    struct gate *gate = make(s->sample, s->first, 9);
    struct budget budget;
    int64_t now = (int64_t)1 << 40, end = now + s->seconds * 1000000000, spent = 0;
    budget_open(&budget, s->share);
    for (uint64_t i = 0; now < end; i++, now += s->launch_us * NS_US) {
        int shape =
            s->every && i % s->every == s->every - 1 ? SHAPES - 1 : (int)(i % (uint64_t)s->common);
        uint64_t pointer = 0x1000;
        float eps = 0;
        void *params[] = {&pointer, &shape, &eps};
        struct launch launch = {.params = params};
        struct gate_answer answer = decide(gate, &spec, 1, &launch);
        int64_t cost = s->check_us * NS_US;
        s->launches[shape]++;
        if (answer.result == GATE_NO ||
            (answer.result == GATE_RANDOM && !budget_allows(&budget, answer.use, now)))
            continue;
        s->checked[shape]++;
        budget_charge(&budget, now, cost);
        if (answer.result == GATE_RANDOM)
            budget_note(answer.use, now, cost);
        spent += cost;
    }
    s->cost = (double)spent / (double)(s->seconds * 1000000000);
    gate_destroy(gate);
}

static double rate(const struct simulation *s, int shape)
{
    return (double)s->checked[shape] / (double)s->launches[shape];
}

/* The budget allows a hundredth of the launches; the rare shape is checked as often as it is drawn.
 */
static void a_rare_signature_is_not_starved(void **state)
{
    (void)state;
    static const struct simulation rows[] = {
        {.common = 1, .share = 0.02, .check_us = 100, .every = 1000, .seconds = 60},
        {.common = 24, .share = 0.02, .check_us = 100, .every = 1000, .seconds = 60},
        {.common = 24, .share = 0.05, .check_us = 500, .every = 1000, .seconds = 60, .first = 2},
        {.common = 50, .share = 0.01, .check_us = 100, .every = 5000, .seconds = 300, .first = 2},
        /* dearer than the window: one check takes 600 ms to pay for */
        {.common = 3, .share = 0.05, .check_us = 30000, .every = 100000, .seconds = 2000},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct simulation s = rows[i];
        s.sample = 0.5;
        s.launch_us = 200;
        simulate(&s);
        if (rate(&s, SHAPES - 1) < 0.9 * s.sample || rate(&s, SHAPES - 1) > 1.1 * s.sample)
            fail_msg("row %zu: the rare shape at %g", i, rate(&s, SHAPES - 1));
        if (rate(&s, 0) > 0.2 * s.sample)
            fail_msg("row %zu: the common shape at %g: the budget is not tight", i, rate(&s, 0));
        if (s.cost > s.share * 1.05 || s.cost < s.share * 0.9)
            fail_msg("row %zu: costs %g of %g", i, s.cost, s.share);
    }
}

/* Where no signature is rare, none is preferred, and where the budget is wide, none yields. */
static void equal_signatures_share_evenly(void **state)
{
    (void)state;
    struct simulation s = {
        .sample = 0.5, .share = 0.02, .common = 7, .launch_us = 50, .check_us = 100, .seconds = 60};
    simulate(&s);
    for (int i = 1; i < s.common; i++)
        assert_true(fabs(rate(&s, i) / rate(&s, 0) - 1) < 0.1);
    assert_true(s.cost > 0.95 * s.share && s.cost < 1.05 * s.share);

    struct simulation wide = {
        .sample = 0.5, .share = 0.5, .common = 7, .launch_us = 500, .check_us = 100, .seconds = 20};
    simulate(&wide);
    for (int i = 0; i < wide.common; i++)
        assert_true(fabs(rate(&wide, i) - 0.5) < 0.01);
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
        ask(gate, &spec, 0x1000, i, 0);
    assert_true(gate_overflow(gate) > 100000);
    gate_destroy(gate);
}

static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Every signature keeps its turns and its draw to the end, none has spilt over, and not a byte was
 * allocated on the way. What a launch costs is in tests/bench ("gate"). */
static void a_million_launches_of_a_thousand_signatures_take_no_memory(void **state)
{
    enum { LAUNCHES = 1000000, SIGNATURES = 1000 };
    (void)state;
    struct gate *gate = make(0.01, 2, 3);
    struct outliers *outliers = outliers_create(OUTLIER_FINGERPRINT);
    static unsigned first[SIGNATURES], drawn[SIGNATURES];
    static int index[SIGNATURES];
    size_t before = in_use();
    for (unsigned i = 0; i < LAUNCHES; i++) {
        uint64_t pointer = 0x1000;
        int32_t size = (int32_t)(i % SIGNATURES);
        float eps = 0;
        void *params[] = {&pointer, &size, &eps};
        struct launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .params = params};
        struct gate_answer answer = decide(gate, &spec, 77, &launch);
        int claimed = outliers_index(outliers, answer.signature, OUTLIER_FINGERPRINT, 1);
        first[size] += answer.result == GATE_FIRST;
        drawn[size] += answer.result == GATE_RANDOM;
        if (i < SIGNATURES)
            index[size] = claimed;
        assert_true(claimed >= 0 && claimed == index[size]);
    }
    assert_int_equal(in_use(), before);
    assert_int_equal(gate_overflow(gate), 0);
    assert_int_equal(outliers_overflow(outliers), 0);
    for (int i = 0; i < SIGNATURES; i++) {
        assert_int_equal(first[i], 2);
        /* One in each 100 of its 1000 launches, but for one that is a first launch. */
        assert_true(drawn[i] >= 9 && drawn[i] <= 10);
    }
    outliers_destroy(outliers);
    gate_destroy(gate);
}

/* Which launch is next is noted with the signature: what makes the note void must be seen. */
static void a_note_ends_with_what_it_was_made_of(void **state)
{
    struct gate *gate = make(0, 1, 5);
    struct launch launch = {.grid = {4, 1, 1}};
    (void)state;
    struct gate_answer answer = decide(gate, &spec, 1, &launch);
    assert_int_equal(answer.result, GATE_FIRST);
    for (int i = 1; i < 10; i++)
        assert_int_equal(decide(gate, &spec, 1, &launch).result, GATE_NO);
    gate_return(answer.turn);
    assert_int_equal(decide(gate, &spec, 1, &launch).result, GATE_FIRST);
    assert_int_equal(decide(gate, &spec, 1, &launch).result, GATE_NO);
    gate_set_sample(gate, 1);
    assert_int_equal(decide(gate, &spec, 1, &launch).result, GATE_RANDOM);
    gate_set_sample(gate, 0);
    assert_int_equal(decide(gate, &spec, 1, &launch).result, GATE_NO);
    gate_reset(gate);
    assert_int_equal(decide(gate, &spec, 1, &launch).result, GATE_FIRST);
    assert_int_equal(decide(gate, &spec, 1, &launch).result, GATE_NO);
    gate_destroy(gate);
}

/* A seed takes the same launches, from the first on or begun anew in between. */
static void a_note_takes_what_a_draw_takes(void **state)
{
    enum { LAUNCHES = 20000 };
    static const double rates[] = {0.3, 0.07, 0.01, 0.001};
    struct launch launch = {.grid = {4, 1, 1}};
    (void)state;
    for (size_t r = 0; r < sizeof(rates) / sizeof(*rates); r++) {
        struct gate *noted = make(rates[r], 0, 5), *drawn = make(rates[r], 0, 5);
        int taken = 0;
        for (uint64_t i = 0; i < LAUNCHES; i++) {
            gate_set_sample(drawn, rates[r]); /* voids the note */
            enum gate_result result = decide(noted, &spec, 1, &launch).result;
            assert_int_equal(decide(drawn, &spec, 1, &launch).result, result);
            taken += result == GATE_RANDOM;
        }
        assert_in_range(taken, (int)(LAUNCHES * rates[r] * 0.6), (int)(LAUNCHES * rates[r] * 1.4));
        gate_destroy(noted);
        gate_destroy(drawn);
    }
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
        cmocka_unit_test(the_draw_is_spread_evenly),
        cmocka_unit_test(a_rare_signature_is_drawn_by_itself),
        cmocka_unit_test(signatures_do_not_disturb_each_other),
        cmocka_unit_test(ranks_sample_different_launches),
        cmocka_unit_test(a_rare_signature_is_not_starved),
        cmocka_unit_test(equal_signatures_share_evenly),
        cmocka_unit_test(an_entry_overrides_the_settings),
        cmocka_unit_test(ever_new_signatures_stay_bounded_and_are_counted),
        cmocka_unit_test(a_million_launches_of_a_thousand_signatures_take_no_memory),
        cmocka_unit_test(a_note_ends_with_what_it_was_made_of),
        cmocka_unit_test(a_note_takes_what_a_draw_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
