/* seal.h - what the GPU has written of a submitted check. The collector's thread. */
#ifndef JUDGE_SEAL_H
#define JUDGE_SEAL_H

#include <stdbool.h>
#include "context/side.h"

/* Whether the copies are complete; then the check knows where they lie, and what the outlier gate
 * says of the launch, if it was asked. */
bool seal_seen(struct side *side, struct check *check);

#endif
