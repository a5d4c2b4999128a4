/*
 * candidates.h - the entries that may fit a kernel: references of the catalogue whose arrays and
 * scalars go with its parameters, with dims that go with what was written and allocated.
 */
#ifndef TOOLS_DISCOVER_CANDIDATES_H
#define TOOLS_DISCOVER_CANDIDATES_H

#include "tools/discover/search/entry.h"

/* True: go on. */
typedef bool (*candidates_fn)(void *user, const struct entry *entry, unsigned hint);

/* Whether it takes any element of a row as the right one where no two are equal. */
bool candidates_lenient(const struct ref_builtin *reference);

/* References in the order of how much of their name is in the kernel's (`hint`), then the simpler
 * ones first; a few entries of each without oddities (entry_oddities), in a second pass others and
 * more. Ends at `until` by clock_ns(). */
void candidates_each(const struct facts *facts, bool second, int64_t until, candidates_fn visit,
                     void *user);

#endif
