/*
 * paying.h - what a launch costs, charged to the budget's accounts (budget.h): read before,
 * estimated when a check or an outlier probe begins, corrected by the collector when it has ended
 * (ending.h). The program's thread, within one launch's two callbacks; no lock.
 */
#ifndef GATES_PAYING_H
#define GATES_PAYING_H

#include "pipeline/pipeline.h"

/* The launch has waited for a set-up since ticket->began. That is a cost of the process, once,
 * which no budget pays for. */
void paying_waited(const struct pipeline *pipeline, struct ticket *ticket);

/* Charges the hook's time for the launches of the signature that were passed over since the account
 * was last read. */
void paying_passed(const struct ticket *ticket);

/* Notes what the launch has cost so far, at the end of its ENTER: with the estimated cost of a
 * check or an outlier probe that begins, else as the price of deciding. */
void paying_begins(const struct pipeline *pipeline, const struct launch *launch,
                   struct ticket *ticket);

/* Takes back what was estimated for a check that came to nothing on the program's thread. */
void paying_back(const struct pipeline *pipeline, const struct check *check);

/* Notes time of the program's thread that belongs to no check's account: its cost is passed on. */
void paying_after(const struct pipeline *pipeline, const struct ticket *ticket, int64_t time);

/* Adds the time that the thread took behind the launch. */
void paying_thread(struct ticket *ticket, int64_t time);

#endif
