/* cudnn.h - the frame of cuDNN's wrappers. */
#ifndef HOOK_CALLS_CUDNN_H
#define HOOK_CALLS_CUDNN_H

#include <stdbool.h>
#include <string.h>
#include "call/dnn.h"
#include "core/core.h"
#include "hook/calls/cudnn_types.h"
#include "hook/calls/library.h"

#define DNN_EXPORT __attribute__((visibility("default")))

/* What lives in the wrapper's frame while the real function runs. */
struct dnn_frame {
    struct dnn call;
    void *params[DNN_ARGUMENTS];
};

/* Hands the frame's call to the core, right before the real function; `handle` is cuDNN's. Whether
 * it is seen: then core_call_exit follows. */
bool dnn_begin(struct dnn_frame *frame, const struct library *library, void *handle);

/* Sets `real` and `library`, or leaves the wrapper. */
#define DNN_REAL(NAME, parameters)                                                                 \
    dnn_status(*real) parameters;                                                                  \
    struct library *library = library_find(LIBRARY_##NAME, __builtin_return_address(0));           \
    void *address = library ? library_function(library, LIBRARY_##NAME) : NULL;                    \
    if (!address)                                                                                  \
        return DNN_NOT_SUPPORTED;                                                                  \
    memcpy(&real, &address, sizeof real)

/* Defines the exported NAME. `fill` is an expression over the parameters, `library` and `frame`
 * that fills in frame.call, and is true if it did. */
#define DNN_CALL(NAME, parameters, arguments, fill)                                                \
    DNN_EXPORT dnn_status NAME parameters;                                                         \
    dnn_status NAME parameters                                                                     \
    {                                                                                              \
        DNN_REAL(NAME, parameters);                                                                \
        struct dnn_frame frame;                                                                    \
        bool seen = core_call_wanted() && (fill) && dnn_begin(&frame, library, handle);            \
        dnn_status status = real arguments;                                                        \
        if (seen)                                                                                  \
            core_call_exit(status == DNN_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);             \
        return status;                                                                             \
    }

/* Defines the exported NAME, which launches nothing; `note` runs after success. */
#define DNN_NOTED(NAME, parameters, arguments, note)                                               \
    DNN_EXPORT dnn_status NAME parameters;                                                         \
    dnn_status NAME parameters                                                                     \
    {                                                                                              \
        DNN_REAL(NAME, parameters);                                                                \
        dnn_status status = real arguments;                                                        \
        if (status == DNN_SUCCESS && core_call_wanted())                                           \
            note;                                                                                  \
        return status;                                                                             \
    }

#endif
