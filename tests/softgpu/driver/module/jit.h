/*
 * jit.h - the options of a load: the buffers that get the sentence of an error. All that steers a
 * compiler is taken and has no effect.
 */
#ifndef SOFTGPU_JIT_H
#define SOFTGPU_JIT_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include "base/error.h"

struct jit_log {
    char *text;
    size_t room;
    void **filled; /* where the number of bytes goes; may be NULL */
};

struct jit {
    struct jit_log error, info;
    void **wall_time; /* gets a float, in milliseconds */
};

/* CUDA_ERROR_INVALID_VALUE for an option that is none. The arrays are the program's, and stay. */
CUresult jit_read(unsigned count, const CUjit_option *options, void **values, struct jit *jit);

struct jit_clock {
    struct timespec start;
};
struct jit_clock jit_start(void);

/* At the end of a load: the sentence goes to the error log, or, where the program gave none, to
 * standard error. */
void jit_finish(const struct jit *jit, CUresult result, const struct error *err,
                struct jit_clock clock);

#endif
