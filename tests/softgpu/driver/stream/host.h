/* host.h - host functions, as works of the ordering engine. */
#ifndef SOFTGPU_HOST_H
#define SOFTGPU_HOST_H

#include <stdbool.h>
#include "driver/stream/stream.h"

/* Callbacks of cuStreamAddCallback are called with the error of the context, where all else is
 * dropped. */
bool host_wants_errors(const struct work_type *type);

#endif
