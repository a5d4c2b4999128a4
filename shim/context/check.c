#include "context/check.h"

void check_charge(const struct check *check, bool look, int64_t now, int64_t cost)
{
    if (look) {
        budget_add(check->budget, now, cost);
        budget_add(check->looks, now, cost);
    } else {
        budget_charge(check->budget, now, cost);
        budget_note(check->use, now, cost);
    }
}
