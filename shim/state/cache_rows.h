/*
 * cache_rows.h - hashes of the rows that an append left in its caches, for CUVET_DIGEST: so that
 * two runs are held against each other by what their caches hold, whatever launches wrote it.
 * Collector thread only.
 */
#ifndef STATE_CACHE_ROWS_H
#define STATE_CACHE_ROWS_H

#include "state/rules.h"

struct cache_rows;

struct cache_rows *cache_rows_create(void);
void cache_rows_destroy(struct cache_rows *slots); /* NULL is fine */

/* The rows of an append, valid until the next call; NULL: they were not copied. Caches are numbered
 * in the order in which they were first appended to. */
const struct state_slots *cache_rows_hash(struct cache_rows *slots, const struct state_case *of);

#endif
