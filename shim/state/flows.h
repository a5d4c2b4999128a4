/*
 * flows.h - rules for the arrays of a chain of kernels, by the entries' `flow`, and for positions
 * that have a name. The collector's.
 *
 *   stage     the array is at another stage than the launch expects: a kernel of the chain was left
 *             out, or came twice
 *   altered   it does not hold what the launch that left it at that stage has written
 *   apart     the last place of a sequence that is read is not the position that the launch before
 * had
 *
 * Two launches are in a row at an array where their turns are (caches.h). Checks come in no order,
 * so the last few of each array are kept, and a launch is held against the one before and the one
 * behind.
 */
#ifndef STATE_FLOWS_H
#define STATE_FLOWS_H

#include "state/rules.h"

struct flows;

struct flows *flows_create(void);
void flows_destroy(struct flows *flows); /* NULL is fine */

/* The first rule that the launch breaks, or the launch behind it, is in the report; false: none.
 * The launch is kept. `flows` NULL: nothing is found. */
bool flows_rules(struct flows *flows, const struct state_case *of, struct state_report *report);

#endif
