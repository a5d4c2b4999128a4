/* bundle_lists.h - arrays whose rows lie at addresses in device memory, placed anew. */
#ifndef TOOLS_BUNDLE_BUNDLE_LISTS_H
#define TOOLS_BUNDLE_BUNDLE_LISTS_H

#include "tools/bundle/bundle_file.h"

/* Gives each such array whose addresses the bundle holds a place of its own: one row behind the
 * other, beyond all addresses of the program. `placed` is set, the strides are those of that place,
 * and the list's stored addresses lead there. Rows that shared memory in the program no longer do.
 * Once for a bundle, which nothing else reads meanwhile. */
void bundle_place_lists(struct bundle *bundle);

#endif
