/*
 * pairs.h - contracts of `parity` under sampling: behind a checked launch, the next launches of the
 * contract's other configurations (function, grid, block) are checked, too, because they may have
 * the same items.
 *
 * Any thread, no lock, no allocation. A launch that is passed over costs nothing.
 */
#ifndef STATE_PAIRS_H
#define STATE_PAIRS_H

#include <stdbool.h>
#include "value/kernel_spec.h"
#include "value/launch.h"

struct pairs;

struct pairs *pairs_create(void);
void pairs_destroy(struct pairs *pairs); /* NULL is fine */

/* A launch of a kernel with a contract, before it runs; `build`: kernels_build() of it. True: it is
 * to be checked, because one of another configuration was. */
bool pairs_launch(struct pairs *pairs, const struct kernel_spec *spec, const struct launch *launch,
                  uint32_t build);

/* A check of the launch begins, which a gate picked. */
void pairs_picked(struct pairs *pairs, const struct kernel_spec *spec, const struct launch *launch,
                  uint32_t build);

/* Called after these. True: launches of the contract are due, so none may be passed over by the
 * hook. */
bool pairs_settle(struct pairs *pairs, const struct kernel_spec *spec);

/* Two launches of the contract had an item in common. Where that does not come, fewer and fewer
 * checks make others. */
void pairs_met(struct pairs *pairs, const struct contract *contract);

#endif
