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
 */
#ifndef VERIFY_BUDGET_H
#define VERIFY_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BUDGET_WINDOW_NS 200000000ll

struct budget {
    double share;                /* 0: no limit */
    _Atomic(int64_t) paid_until; /* clock_ns() */
};

/* With the credit of one window. */
void budget_open(struct budget *budget, double share);
/* Whether a check may start at `now`. Any thread, no lock. */
bool budget_allows(const struct budget *budget, int64_t now);
/* Notes a cost; a negative one corrects an estimate that was noted before. Any thread, no lock. */
void budget_charge(struct budget *budget, int64_t now, int64_t cost);

#endif
