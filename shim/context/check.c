#include "context/check.h"

void check_charge(const struct check *check, bool probe, int64_t now, int64_t cost)
{
    if (probe) {
        budget_add(check->budget, now, cost);
        budget_add(check->probes, now, cost);
    } else {
        budget_charge(check->budget, now, cost);
        budget_note(check->use, now, cost);
    }
}
