/*
 * budget.h - the share of time that checking may cost, and what a check has cost.
 *
 * Cost is what cuvet adds: time of the program's thread in our callbacks of a checked launch, of
 * the copies in the program's stream, and of the references beside it, in nanoseconds, added up
 * although they may overlap: the program is never slowed by more.
 *
 * A budget of share s is a clock that runs ahead: a check of cost c moves `paid_until` by c / s,
 * and the next may start once the time has caught up (the generic cell rate algorithm of ITU-T
 * I.371). What was not spent in the last BUDGET_WINDOW_NS may be spent at once; older credit is
 * lost, so that a program that was idle for an hour is not slowed for minutes.
 *
 * Fairness: with an account alone a common launch signature would take all of it, and a rare one
 * would find it overdrawn nearly always. So each signature's recent use is kept too, and a
 * signature may overdraw the account the further the less it used: at a debt of d it must have used
 * less than share * 2^-(d / unit) of the time. The debt then settles where the common signatures
 * yield, log2 of their number in units, and the rare ones are let through; each gets what it needs
 * or an equal part, whichever is less. Later checks pay what is overdrawn, so the share holds in
 * the long run. The unit is the step of the most expensive recent checks, at least BUDGET_UNIT_NS;
 * the debt ends at BUDGET_DEBT_UNITS for all.
 */
#ifndef GATE_BUDGET_H
#define GATE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BUDGET_WINDOW_NS 200000000ll
#define BUDGET_UNIT_NS   (BUDGET_WINDOW_NS / BUDGET_DEBT_UNITS)
#define BUDGET_HALF_NS   4000000000ll /* a signature's use counts half after so long */
enum { BUDGET_DEBT_UNITS = 20 };

/* The part of a budget that the outlier gate's probes may use; the checks get what it leaves. Most
 * of it, because a probe of a launch costs a tenth to a thirtieth of checking it. */
#define BUDGET_PROBES 0.75

/* The part of the program's budget that is kept for fixed costs, whether a launch is checked or
 * not: CUPTI's own time around the callbacks, which cuvet cannot measure. With kernels of tens of
 * microseconds it is about a hundredth of the time, a fifth of the usual budget. */
#define BUDGET_HOOKS 0.2

struct budget {
    double share;                /* 0: no limit */
    _Atomic(int64_t) paid_until; /* clock_ns() */
    _Atomic(int64_t) unit;       /* of debt, ns */
};

/* What one signature used of late. Of threads that write at the same time one may lose its update:
 * this decides only the order, the account holds the cost. All zeros: nothing. */
struct budget_use {
    _Atomic(int64_t) when; /* `used` is right at this time */
    _Atomic(float) used;   /* ns, each halved every BUDGET_HALF_NS */
};

/* With the credit of one window. */
void budget_open(struct budget *budget, double share);
/* ns from `now` until a check may start, if nothing else is noted meanwhile; 0: it may start now.
 * `use` is its signature's; NULL: only from an account that is not overdrawn. Any thread, no lock.
 */
int64_t budget_wait(const struct budget *budget, const struct budget_use *use, int64_t now);
/* The same for a kernel whose checks are dear (kernel_spec.guess): its signature may overdraw the
 * account by BUDGET_WINDOW_NS at most, whatever the unit is. */
int64_t budget_wait_dear(const struct budget *budget, const struct budget_use *use, int64_t now);
/* Whether it may start now. */
static inline bool budget_allows(const struct budget *budget, const struct budget_use *use,
                                 int64_t now)
{
    return budget_wait(budget, use, now) == 0;
}
/* Notes a cost; a negative one corrects an estimate that was noted before. Any thread, no lock. */
void budget_charge(struct budget *budget, int64_t now, int64_t cost);
/* The same for a cost that is small beside a check, and so does not change the unit. */
void budget_add(struct budget *budget, int64_t now, int64_t cost);
/* ns until the debt is below its end, at which no check may start at all; 0: it is. Any thread, no
 * lock. */
int64_t budget_wait_end(const struct budget *budget, int64_t now);
/* Notes the same cost, or its correction, for the signature; NULL notes nothing. */
void budget_note(struct budget_use *use, int64_t now, int64_t cost);

#endif
