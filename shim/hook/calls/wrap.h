/*
 * wrap.h - the frame of a wrapper: it looks up the real function, passes the call to the core where
 * it may be checked, and runs the real function with the caller's own arguments. Where cuvet is off
 * nothing else happens.
 */
#ifndef HOOK_CALLS_WRAP_H
#define HOOK_CALLS_WRAP_H

#include <stdbool.h>
#include <string.h>
#include "core/core.h"
#include "hook/calls/gemm.h"
#include "hook/calls/library.h"

#define WRAP_EXPORT __attribute__((visibility("default")))

/*
 * Defines the exported NAME with the parameter list `parameters`. `begin` is an expression over the
 * parameters, `library` and `frame` that is true if the call was passed to the core; `arguments`
 * are those for the real function.
 */
#define WRAP(NAME, parameters, arguments, begin)                                                   \
    WRAP_EXPORT blas_status NAME parameters;                                                       \
    blas_status NAME parameters                                                                    \
    {                                                                                              \
        blas_status(*real) parameters;                                                             \
        struct library *library = library_find(LIBRARY_##NAME, __builtin_return_address(0));       \
        void *address = library ? library_function(library, LIBRARY_##NAME) : NULL;                \
        if (!address)                                                                              \
            return BLAS_NOT_SUPPORTED;                                                             \
        memcpy(&real, &address, sizeof real);                                                      \
        struct call_frame frame;                                                                   \
        bool seen = core_call_wanted();                                                            \
        if (seen) {                                                                                \
            frame.product = (struct product){.function = #NAME};                                   \
            seen = (begin);                                                                        \
        }                                                                                          \
        blas_status status = real arguments;                                                       \
        if (seen)                                                                                  \
            core_call_exit(status == BLAS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);            \
        return status;                                                                             \
    }

#endif
