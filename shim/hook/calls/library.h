/*
 * library.h - the real libraries behind the wrappers. A process may have several copies of one, so
 * what is taken is the copy that the caller itself would have reached.
 */
#ifndef HOOK_CALLS_LIBRARY_H
#define HOOK_CALLS_LIBRARY_H

#include <stdatomic.h>
#include <stddef.h>
#include "hook/calls/blas_types.h"
#include "hook/calls/cudnn_types.h"

enum library_function {
#define BLAS_FUNCTION(name) LIBRARY_##name,
#define LT_FUNCTION(name)   LIBRARY_##name,
#define DNN_FUNCTION(name)  LIBRARY_##name,
#include "hook/calls/functions.def"
#undef BLAS_FUNCTION
#undef LT_FUNCTION
#undef DNN_FUNCTION
    LIBRARY_FUNCTIONS
};

/* Further functions that the wrappers call; each is NULL where the library does not have it. */
struct library_queries {
    blas_status (*get_stream)(void *handle, void **stream);
    blas_status (*get_pointer_mode)(void *handle, int *mode);
    blas_status (*get_math_mode)(void *handle, int *mode);
    blas_status (*desc_get)(const void *desc, int attribute, void *out, size_t size,
                            size_t *written);
    blas_status (*algorithm_get)(const void *algorithm, int attribute, void *out, size_t size,
                                 size_t *written);
    blas_status (*layout_get)(const void *layout, int attribute, void *out, size_t size,
                              size_t *written);
    dnn_status (*dnn_get_stream)(void *handle, void **stream);
    dnn_status (*tensor_get)(const void *desc, int most, int *type, int *rank, int *dims,
                             int *strides);
    dnn_status (*filter_get)(const void *desc, int most, int *type, int *format, int *rank,
                             int *dims);
    dnn_status (*window_get)(const void *desc, int most, int *rank, int *pads, int *steps,
                             int *dilations, int *mode, int *compute);
    dnn_status (*window_math)(const void *desc, int *math);
    dnn_status (*activation_get)(const void *desc, int *mode, int *nan, double *most);
};

/* One loaded copy; it stays loaded. */
struct library {
    void *handle; /* dlopen's */
    struct library_queries query;
    int64_t version; /* of cublasLt, which cublas brings along; 0: unknown */
    _Atomic(void *) function[LIBRARY_FUNCTIONS];
    struct library *next;
};

/* The copy that a call of this function from the place `site` leads to; NULL: none is loaded. One
 * probe of a table for a place seen before; else it takes a lock and the loader's. */
struct library *library_find(enum library_function function, const void *site);

/* The context of a call that begins; NULL: there is none, or the driver cannot give it, which is
 * reported once. */
const void *library_context(void);

/* The real function; NULL: that copy has none. */
void *library_function(struct library *library, enum library_function function);

#endif
