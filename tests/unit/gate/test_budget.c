/* The budget: what is spent must be waited for, what is not spent lapses after a while. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gate/budget.h"

enum { MS = 1000000 };
static const int64_t start = 5000ll * MS;

static void a_cost_is_waited_for(void **state)
{
    (void)state;
    struct budget budget;
    budget_open(&budget, 0.05);
    assert_true(budget_allows(&budget, NULL, start));
    budget_charge(&budget, start, 11 * MS); /* 220 ms at 5 %, and 200 ms were free */
    assert_false(budget_allows(&budget, NULL, start + 1));
    assert_false(budget_allows(&budget, NULL, start + 19 * MS));
    assert_true(budget_allows(&budget, NULL, start + 21 * MS));
}

static void an_estimate_is_corrected(void **state)
{
    (void)state;
    struct budget budget;
    budget_open(&budget, 0.5);
    budget_charge(&budget, start, 110 * MS);
    budget_charge(&budget, start + MS, -9 * MS);
    assert_false(budget_allows(&budget, NULL, start + MS));
    assert_true(budget_allows(&budget, NULL, start + 3 * MS));
}

/* An unused signature may overdraw by twenty units; of a dear check these are small ones. */
static void a_dear_check_overdraws_little(void **state)
{
    (void)state;
    struct budget budget;
    const struct budget_use use = {0};
    budget_open(&budget, 0.05);
    budget_charge(&budget, start, 500 * MS); /* a step of 10 s: a debt of 9.8 s */
    assert_true(budget_allows(&budget, &use, start));
    assert_in_range(budget_wait_dear(&budget, &use, start), 9599ll * MS, 9601ll * MS);
    assert_int_equal(budget_wait_dear(&budget, &use, start + 9610ll * MS), 0);
    budget_open(&budget, 0);
    assert_int_equal(budget_wait_dear(&budget, &use, start), 0);
}

static void credit_has_an_end(void **state)
{
    (void)state;
    struct budget budget;
    int64_t later = start + 3600ll * 1000 * MS, spent = 0;
    budget_open(&budget, 0.1);
    while (budget_allows(&budget, NULL, later)) {
        budget_charge(&budget, later, MS);
        spent += MS;
    }
    assert_in_range(spent, BUDGET_WINDOW_NS / 10, BUDGET_WINDOW_NS / 10 + MS);
}

/* Over a long time the share is met, whatever the single costs are. */
static void the_share_holds_in_the_long_run(void **state)
{
    (void)state;
    struct budget budget;
    int64_t spent = 0, length = 100000ll * MS;
    budget_open(&budget, 0.02);
    for (int64_t now = start; now < start + length; now += MS) {
        if (budget_allows(&budget, NULL, now)) {
            int64_t cost = (now / MS % 7 + 1) * MS / 10;
            budget_charge(&budget, now, cost);
            spent += cost;
        }
    }
    assert_in_range(spent, length * 19 / 1000, length * 2 / 100 + BUDGET_WINDOW_NS / 50 + MS);
}

static void without_a_share_all_is_allowed(void **state)
{
    (void)state;
    struct budget budget;
    budget_open(&budget, 0);
    budget_charge(&budget, start, 1000000ll * MS);
    assert_true(budget_allows(&budget, NULL, start));
}

/* In checks of half a millisecond, whose step at 5 % is the unit of debt. */
static void charge_bit_by_bit(struct budget *budget, int64_t now, int64_t cost)
{
    for (; cost > 0; cost -= MS / 2)
        budget_charge(budget, now, MS / 2);
}

/* Of an overdrawn account, who used little may still take, the less the further. */
static void a_debt_stops_those_who_used_most(void **state)
{
    (void)state;
    struct budget budget;
    struct budget_use much = {0}, little = {0}, none = {0};
    budget_open(&budget, 0.05);
    charge_bit_by_bit(&budget, start, 12 * MS); /* past its credit by 40 ms, 4 units */
    budget_note(&much, start, 40 * MS);
    budget_note(&little, start, 8 * MS);
    assert_false(budget_allows(&budget, NULL, start));
    assert_false(budget_allows(&budget, &much, start));
    assert_true(budget_allows(&budget, &little, start));
    charge_bit_by_bit(&budget, start, 3 * MS); /* 10 units */
    assert_false(budget_allows(&budget, &little, start));
    assert_true(budget_allows(&budget, &none, start));
    assert_true(budget_allows(&budget, &much, start + 100 * MS)); /* paid */
    charge_bit_by_bit(&budget, start, 6 * MS);
    assert_false(budget_allows(&budget, &none, start)); /* the debt has an end */
}

/* One dear check must not keep the others from their turn until it is paid. */
static void the_unit_is_that_of_dear_checks(void **state)
{
    (void)state;
    struct budget budget;
    struct budget_use dear = {0}, none = {0};
    budget_open(&budget, 0.05);
    budget_charge(&budget, start, 100 * MS); /* two seconds */
    budget_note(&dear, start, 400 * MS);
    assert_false(budget_allows(&budget, &dear, start));
    assert_true(budget_allows(&budget, &none, start));
    for (int i = 0; i < 1000; i++) /* long ago, and all since were cheap */
        budget_charge(&budget, start, 1000);
    assert_false(budget_allows(&budget, &none, start));
}

static void use_is_forgotten_and_corrected(void **state)
{
    (void)state;
    struct budget budget;
    struct budget_use use = {0}, corrected = {0};
    int64_t later = start + 8 * BUDGET_HALF_NS;
    budget_open(&budget, 0.05);
    budget_note(&use, start, 160 * MS);
    budget_note(&corrected, start, 160 * MS);
    budget_note(&corrected, start, -156 * MS);
    charge_bit_by_bit(&budget, start, 12 * MS);
    assert_false(budget_allows(&budget, &use, start));
    assert_true(budget_allows(&budget, &corrected, start));
    charge_bit_by_bit(&budget, later, 12 * MS);
    assert_true(budget_allows(&budget, &use, later));
    budget_note(NULL, start, MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cost_is_waited_for),
        cmocka_unit_test(an_estimate_is_corrected),
        cmocka_unit_test(credit_has_an_end),
        cmocka_unit_test(the_share_holds_in_the_long_run),
        cmocka_unit_test(without_a_share_all_is_allowed),
        cmocka_unit_test(a_debt_stops_those_who_used_most),
        cmocka_unit_test(the_unit_is_that_of_dear_checks),
        cmocka_unit_test(a_dear_check_overdraws_little),
        cmocka_unit_test(use_is_forgotten_and_corrected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
