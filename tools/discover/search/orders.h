/* orders.h - arrays of four dims whose dims lie in another order in memory: attention with the
 * heads in front of the time, transposed and permuted copies. */
#ifndef TOOLS_DISCOVER_ORDERS_H
#define TOOLS_DISCOVER_ORDERS_H

#include "tools/discover/search/search.h"

/* All dims are chosen: calls `visit` with each order of entry.order that goes with what the memory
 * held, but for that of the dims themselves. */
void orders_each(struct search *search, void (*visit)(struct search *search));

#endif
