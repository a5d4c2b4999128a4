/*
 * owned.h - a page belongs to one sequence until that one ends, or with `shared: prefix` to several
 * until the last of them ends: rules for a reader, the reader before it and what was appended in
 * between. The collector's.
 *
 *   freed    a place that another sequence, or one that ended, had, and that was not appended since
 *   reused   a place that a sequence goes on to read was appended again
 *   ahead    a sequence goes on to a place that was not appended
 *
 * A sequence is known by its first page, without a table by its number, or where pages are shared
 * by all of them. Silent where not all appends in between were checked.
 */
#ifndef STATE_OWNED_H
#define STATE_OWNED_H

#include "state/rules.h"

struct owned;

struct owned *owned_create(void);
void owned_destroy(struct owned *owned); /* NULL is fine */

/* Keeps an append or a reader. True: the reader breaks a rule, which is in the report. */
bool owned_rules(struct owned *owned, const struct state_case *of, struct state_report *report);

#endif
