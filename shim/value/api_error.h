/*
 * api_error.h - an error of work that had been launched before, as a later call showed it. A value;
 * names are borrowed for the call that passes it on.
 */
#ifndef VALUE_API_ERROR_H
#define VALUE_API_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { API_ERROR_NAMES = 24 };

struct api_error {
    const char *api; /* the call that returned it: "cuStreamSynchronize"; NULL: found at the end */
    bool own;        /* the call's own error, not that of an earlier launch */
    int device;      /* of that */
    const char *error; /* "CUDA_ERROR_ILLEGAL_ADDRESS" */
    const char *at;    /* the launch that faulted, where each is waited for (CUVET_SYNC); or NULL */
    uint32_t grid[3], block[3];        /* of that */
    const char *name[API_ERROR_NAMES]; /* the kernels of that, where it is a CUDA graph; without
                                        * `at` the last launches by thread, the newest first, */
    size_t names;                      /* "" between threads */
};

#endif
