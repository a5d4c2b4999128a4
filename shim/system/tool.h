/* tool.h - where the program `cuvet` is, which the library starts beside the host program. */
#ifndef SYSTEM_TOOL_H
#define SYSTEM_TOOL_H

#include <limits.h>
#include "base/error.h"

/* `given` (CUVET_TOOL), or beside `library` as built or in ../bin as installed. `what_for` ends the
 * sentence of a failure: "runs plugins". */
enum status tool_find(const char *given, const char *library, const char *what_for,
                      char out[PATH_MAX], struct error *err);

/* The file that this code lies in, the library in a host program; "" where it is unknown. */
const char *tool_own_path(void);

#endif
