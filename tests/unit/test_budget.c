/* The budget: what is spent must be waited for, what is not spent is forgotten after a while. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "verify/budget.h"

enum { MS = 1000000 };
static const int64_t start = 5000ll * MS;

static void a_cost_is_waited_for(void **state)
{
    (void)state;
    struct budget budget;
    budget_open(&budget, 0.05);
    assert_true(budget_allows(&budget, start));
    budget_charge(&budget, start, 11 * MS); /* 220 ms at 5 %, and 200 ms were free */
    assert_false(budget_allows(&budget, start + 1));
    assert_false(budget_allows(&budget, start + 19 * MS));
    assert_true(budget_allows(&budget, start + 21 * MS));
}

static void an_estimate_is_corrected(void **state)
{
    (void)state;
    struct budget budget;
    budget_open(&budget, 0.5);
    budget_charge(&budget, start, 110 * MS);
    budget_charge(&budget, start + MS, -9 * MS);
    assert_false(budget_allows(&budget, start + MS));
    assert_true(budget_allows(&budget, start + 3 * MS));
}

static void credit_has_an_end(void **state)
{
    (void)state;
    struct budget budget;
    int64_t later = start + 3600ll * 1000 * MS, spent = 0;
    budget_open(&budget, 0.1);
    while (budget_allows(&budget, later)) {
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
        if (budget_allows(&budget, now)) {
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
    assert_true(budget_allows(&budget, start));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cost_is_waited_for),
        cmocka_unit_test(an_estimate_is_corrected),
        cmocka_unit_test(credit_has_an_end),
        cmocka_unit_test(the_share_holds_in_the_long_run),
        cmocka_unit_test(without_a_share_all_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
