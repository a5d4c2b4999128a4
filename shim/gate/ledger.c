#include "gate/ledger.h"

enum { PROBE_GUESS_NS = 5000 /* of a kernel's first ones */ };

void ledger_pass_failed(const struct sink *sink, const struct kernel_spec *spec, enum skip from)
{
    unsigned which = tally_own();
    struct tally *own = tally_at(sink->tallies(sink->user, spec), which);
    tally_add(&own->skip[from], which, (uint64_t)-1);
    tally_add(&own->skip[SKIP_LAUNCH_FAILED], which, 1);
}

/* `probe`: the cost is a probe's; else a check's, which is large enough to change the unit of
 * debt. That of a dear check does not: others would overdraw the budget by many times its cost. */
static void charge(const struct account *account, bool probe, int64_t now, int64_t cost)
{
    if (probe) {
        budget_add(account->budget, now, cost);
        budget_add(account->probes, now, cost);
    } else {
        (account->dear ? budget_add : budget_charge)(account->budget, now, cost);
        budget_note(account->use, now, cost);
    }
}

void ledger_add(struct budget *budget, int64_t now, int64_t cost)
{
    budget_add(budget, now, cost);
}

void ledger_time(const struct sink *sink, const struct account *account, int64_t now, int64_t cost)
{
    const struct check_cost spent = {.thread = (uint64_t)cost};
    if (account && account->budget)
        budget_add(account->budget, now, cost);
    if (account && account->probes)
        budget_add(account->probes, now, cost);
    if (sink->spent)
        sink->spent(sink->user, NULL, &spent);
}

void ledger_begin_check(struct account *account, const struct known_kernel *kernel, uint64_t bytes,
                        int64_t now, int64_t thread)
{
    const int64_t estimate = costs_estimate(&kernel->costs, bytes);
    account->charged = thread + (estimate ? estimate : kernel->spec->guess);
    charge(account, false, now, account->charged);
}

void ledger_begin_probe(struct account *account, const struct known_kernel *kernel, int64_t now,
                        int64_t thread)
{
    int64_t probe = atomic_load_explicit(&kernel->probe, memory_order_relaxed);
    account->charged = thread + (probe ? probe : PROBE_GUESS_NS);
    charge(account, true, now, account->charged);
}

void ledger_take_back(const struct sink *sink, const struct account *account, int64_t now,
                      int64_t thread)
{
    charge(account, account->probes, now, -account->charged);
    ledger_time(sink, account, now, thread);
}

/* Where the host was ahead its time is hidden behind the GPU's work, else the GPU's behind the
 * host's. */
void ledger_settle(const struct sink *sink, const struct account *account,
                   struct known_kernel *kernel, uint64_t bytes, int64_t now,
                   struct check_cost *cost)
{
    int64_t gpu = (int64_t)(cost->copy + cost->reference), probe = (int64_t)cost->probe;
    int64_t correction = (int64_t)cost->thread + gpu + probe - account->charged;
    bool probed_only = account->probes && probe; /* an outlier probe that selected nothing */
    if (!cost->overlap)
        cost->overlap =
            cost->thread < (uint64_t)(gpu + probe) ? cost->thread : (uint64_t)(gpu + probe);
    charge(account, probed_only, now, correction);
    if (probed_only)
        cost_note(&kernel->probe, probe);
    if (cost->reference && !account->probes)
        costs_note(&kernel->costs, bytes, gpu);
    sink->spent(sink->user, kernel->spec, cost);
}
