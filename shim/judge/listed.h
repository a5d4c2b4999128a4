/*
 * listed.h - what a check that did not go well makes of its lists of addresses (bound_rows).
 * Collector thread only; it waits for the copies of the lists, like the reports of a mismatch.
 */
#ifndef JUDGE_LISTED_H
#define JUDGE_LISTED_H

#include "context/side.h"

/*
 * For a check whose copy did not follow an address: its memory was not known yet (ranges.h), or is
 * none. Reads the lists and adds the ranges that they lead to. SKIP_NEW_MEMORY: all of it may be
 * followed from now on; *again: no other range was dropped for it, so the next launch can be
 * checked. Or SKIP_ADDRESS and a sentence with the address that may not, or SKIP_DRIVER and one.
 */
enum skip listed_read(struct side *side, struct check *check, bool *again, struct error *why);

/*
 * For a check that found a mismatch: SKIP_SHAPE and a sentence where two addresses of an array that
 * the kernel writes are one. A reference writes to each by itself, so it cannot judge that.
 */
enum skip listed_twice(struct side *side, struct check *check, struct error *why);

/*
 * For a check that found a mismatch: SKIP_ADDRESS and a sentence where a row that may end with its
 * memory was copied as far as its range went, and the memory goes on behind that.
 */
enum skip listed_cut(struct side *side, struct check *check, struct error *why);

#endif
