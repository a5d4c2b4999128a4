/* session_lifts.h - what compiles the kernels that are held against their own PTX. */
#ifndef SESSION_LIFTS_H
#define SESSION_LIFTS_H

#include "base/options.h"
#include "compile/ptx_compiler.h"

/* Lives as long as the process. Without the program cuvet it compiles nothing. NULL: no memory. */
struct ptx_compiler *session_lifts_compiler(const struct options *options, char *const *env);

#endif
