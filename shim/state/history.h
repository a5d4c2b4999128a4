/*
 * history.h - rules for two consecutive launches. The collector's.
 *
 *   stale   the same place is written again, with other data: the position does not advance
 *   step    the position goes on by another number than that of the entry
 *   fresh   a reader leaves out what the append before it wrote
 *   ...     and those of owned.h and flows.h
 *
 * Two checks are of launches in a row only where that is known: state_moment counts the appends to
 * the cache, and the replays of graphs that hold any. Checks come in no order, so the last four of
 * each cache are kept.
 */
#ifndef STATE_HISTORY_H
#define STATE_HISTORY_H

#include "state/rules.h"

struct history;

struct history *history_create(void);
void history_destroy(struct history *history); /* NULL is fine */

/* Hashes of the rows of an append, valid until the next call; NULL: none. */
const struct state_slots *history_slots(struct history *history, const struct state_case *of);

/* Holds a launch that writes a cache, or has a position, against the one before, and keeps it. */
bool history_rules(struct history *history, const struct state_case *of,
                   struct state_report *report);

#endif
