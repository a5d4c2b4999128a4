/*
 * paying.h - what a launch costs, noted with the accounts that pay for it (budget.h): asked before,
 * estimated when a check or a look begins, corrected by the collector when it has ended (ending.h).
 * The program's thread, within one launch's two callbacks; no lock.
 */
#ifndef VERIFY_PAYING_H
#define VERIFY_PAYING_H

#include "verify/pipeline.h"

/* The launch has waited for a set-up since ticket->began. That is a cost of the process, once,
 * which no budget pays for. */
void paying_waited(const struct pipeline *pipeline, struct ticket *ticket);

/* Whether the accounts allow what the gate decided. SKIP_NONE: a check, or a look where
 * ticket->gate is GATE_OUTLIER then. */
enum skip paying_ask(struct pipeline *pipeline, struct ticket *ticket);

/* Notes the estimated cost of a check that begins, or what a launch that is not checked has cost.
 */
void paying_begins(struct ticket *ticket);

/* Takes back what was noted for a check that came to nothing on the program's thread. */
void paying_back(const struct ticket *ticket);

/* Adds the time that the thread took behind the launch. */
void paying_thread(struct ticket *ticket, int64_t time);

#endif
