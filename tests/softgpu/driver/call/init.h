/*
 * init.h - the life of the library: before cuInit, ready, and after the end.
 */
#ifndef SOFTGPU_INIT_H
#define SOFTGPU_INIT_H

#include <cuda.h>
#include <stdbool.h>

/* CUDA_SUCCESS between cuInit and exit(); CUDA_ERROR_NOT_INITIALIZED before it and in a child that
 * was forked after it; CUDA_ERROR_DEINITIALIZED once exit() has run our handler. Any thread. */
CUresult driver_state(void);

/* This process was forked from one that had called cuInit: it has no threads of ours. */
bool driver_is_forked(void);

#endif
