/* fetch.h - bytes of a snapshot in host memory. Rare, so it may wait; bounded, so it cannot hang.
 * Collector thread only, context current. */
#ifndef EXTRA_FETCH_H
#define EXTRA_FETCH_H

#include "context/side.h"

/* At most STAGING_BYTES, to side->staging_host, which stands until the next fetch. */
enum status fetch(struct side *side, CUdeviceptr from, size_t bytes);

/* The same in two steps: any number of copies to offset `at` of staging_host, and the wait. */
enum status fetch_begin(struct side *side, CUdeviceptr from, size_t bytes, size_t at);
enum status fetch_end(struct side *side);

#endif
