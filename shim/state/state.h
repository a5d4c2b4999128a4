/*
 * state.h - the judge of what holds between launches: all rules of a check, in order. The
 * collector's.
 */
#ifndef STATE_STATE_H
#define STATE_STATE_H

#include "context/side.h"

struct history;

/* Whether the entry of the check has rules. */
bool state_wanted(const struct check *check);

/* True: the launch breaks one, which the report names. *history is made when it is needed. */
bool state_judge(struct history **history, const struct lane *lane, struct state_report *report);

#endif
