/* seal.h - what the GPU has written of a submitted check. The collector's thread. */
#ifndef JUDGE_SEAL_H
#define JUDGE_SEAL_H

#include <stdbool.h>
#include "context/side.h"

/* Whether the copies are complete; then the check has their addresses, and the outlier gate's
 * decision on the launch, if it probed it. */
bool seal_seen(struct side *side, struct check *check);

#endif
