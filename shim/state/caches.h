/*
 * caches.h - the caches of the program, and the arrays of its chains of kernels, by address, in the
 * order of its threads: so that the collector can determine which launches follow each other, and
 * so that launches after a checked one are checked.
 *
 * Any thread, no lock, no allocation. A launch that is passed over costs nothing: it is not
 * recorded.
 */
#ifndef STATE_CACHES_H
#define STATE_CACHES_H

#include <stdbool.h>
#include "context/check.h"
#include "value/check_report.h"
#include "value/launch.h"

struct caches;

struct caches *caches_create(void);
void caches_destroy(struct caches *caches); /* NULL is fine */

/*
 * A launch of a kernel whose entry has `state` or `flow`, before it runs. `out` is its place among
 * the appends to its cache, and among the launches with its arrays, all zeros where it has none.
 * True: the launch before it was checked, and this one is to be.
 */
bool caches_launch(struct caches *caches, const struct kernel_spec *spec,
                   const struct launch *launch, struct state_moment *out);

/* A check of the launch begins: the next append to its cache, its next reader, and the next launch
 * with an array of its `flow` are to follow. */
void caches_picked(struct caches *caches, const struct kernel_spec *spec,
                   const struct state_moment *moment);

/* Called after these. True: launches after a checked one are due, so none may be passed over by the
 * hook. False: none are due, or they did not come; until the next is picked no launch is counted,
 * and no two checks are of launches in a row. */
bool caches_settle(struct caches *caches);

/* A node of a graph that is checked in the replay under way. */
void caches_node(struct caches *caches, const struct kernel_spec *spec, const struct launch *launch,
                 struct state_moment *out);

/* A graph with such kernels is replayed, or a launch goes by uncounted. */
void caches_replay(struct caches *caches);

/* A check found rows that sequences have. The collector's. */
void caches_found(struct caches *caches, const struct state_live *found);

/* `count` of the last that were found of the cache, -1 where there are none; `seed` draws. */
void caches_draw(struct caches *caches, uint64_t address, uint64_t seed, int count, int64_t *row);

#endif
