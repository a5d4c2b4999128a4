#include "gate/budget.h"

#include <math.h>

static const double ln_2 = 0.6931471805599453;

void budget_open(struct budget *budget, double share)
{
    budget->share = share;
    atomic_store(&budget->paid_until, 0);
    atomic_store(&budget->unit, BUDGET_UNIT_NS);
}

/* ns of use that still count at `now`. */
static double used(const struct budget_use *use, int64_t now)
{
    double before = (double)atomic_load_explicit(&use->used, memory_order_relaxed);
    int64_t age = now - atomic_load_explicit(&use->when, memory_order_relaxed);
    return age <= 0 ? before : before * exp2(-(double)age / (double)BUDGET_HALF_NS);
}

/* How far a signature may overdraw the account, in units. A steady use of u ns a ns adds up to
 * u * BUDGET_HALF_NS / ln 2. */
static double units_ahead(const struct budget *budget, const struct budget_use *use, int64_t now)
{
    double level = used(use, now) * ln_2 / (double)BUDGET_HALF_NS / budget->share;
    double units = level > 0 ? -log2(level) : BUDGET_DEBT_UNITS;
    return units < 0 ? 0 : units < BUDGET_DEBT_UNITS ? units : BUDGET_DEBT_UNITS;
}

static int64_t debt_wait(const struct budget *budget, double units, int64_t debt)
{
    double unit = (double)atomic_load_explicit(&budget->unit, memory_order_relaxed);
    double wait = (double)debt - units * unit;
    return wait > 0 ? (int64_t)wait + 1 : 0;
}

int64_t budget_wait(const struct budget *budget, const struct budget_use *use, int64_t now)
{
    int64_t debt = atomic_load_explicit(&budget->paid_until, memory_order_relaxed) - now;
    if (budget->share <= 0 || debt <= 0)
        return 0;
    return debt_wait(budget, use ? units_ahead(budget, use, now) : 0, debt);
}

int64_t budget_wait_dear(const struct budget *budget, const struct budget_use *use, int64_t now)
{
    int64_t debt = atomic_load_explicit(&budget->paid_until, memory_order_relaxed) - now;
    const int64_t unit = BUDGET_UNIT_NS;
    double ahead = units_ahead(budget, use, now) * (double)unit;
    return budget->share <= 0 || (double)debt <= ahead ? 0 : debt - (int64_t)ahead;
}

int64_t budget_wait_end(const struct budget *budget, int64_t now)
{
    int64_t debt = atomic_load_explicit(&budget->paid_until, memory_order_relaxed) - now;
    return budget->share > 0 ? debt_wait(budget, BUDGET_DEBT_UNITS, debt) : 0;
}

void budget_add(struct budget *budget, int64_t now, int64_t cost)
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

void budget_charge(struct budget *budget, int64_t now, int64_t cost)
{
    if (budget->share <= 0)
        return;
    int64_t unit = atomic_load_explicit(&budget->unit, memory_order_relaxed);
    int64_t step = (int64_t)((double)cost / budget->share);
    budget_add(budget, now, cost);
    unit = step > unit ? step : unit - (unit - BUDGET_UNIT_NS) / 64;
    atomic_store_explicit(&budget->unit, unit, memory_order_relaxed);
}

void budget_note(struct budget_use *use, int64_t now, int64_t cost)
{
    if (!use)
        return;
    double sum = used(use, now) + (double)cost;
    atomic_store_explicit(&use->when, now, memory_order_relaxed);
    atomic_store_explicit(&use->used, sum > 0 ? (float)sum : 0, memory_order_relaxed);
}
