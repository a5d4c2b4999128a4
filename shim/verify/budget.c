#include "verify/budget.h"

void budget_open(struct budget *budget, double share)
{
    budget->share = share;
    atomic_store(&budget->paid_until, 0);
}

bool budget_allows(const struct budget *budget, int64_t now)
{
    return budget->share <= 0 ||
           atomic_load_explicit(&budget->paid_until, memory_order_relaxed) <= now;
}

void budget_charge(struct budget *budget, int64_t now, int64_t cost)
{
    if (budget->share <= 0)
        return;
    int64_t until = atomic_load_explicit(&budget->paid_until, memory_order_relaxed);
    int64_t step = (int64_t)((double)cost / budget->share), oldest = now - BUDGET_WINDOW_NS, next;
    do {
        next = (until < oldest ? oldest : until) + step;
    } while (!atomic_compare_exchange_weak_explicit(&budget->paid_until, &until, next,
                                                    memory_order_relaxed, memory_order_relaxed));
}
