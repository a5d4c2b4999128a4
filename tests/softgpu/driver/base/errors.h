/*
 * errors.h - the names of CUresult.
 */
#ifndef SOFTGPU_ERRORS_H
#define SOFTGPU_ERRORS_H

#include <cuda.h>
#include <stdbool.h>

/* NULL where cuda.h has no such code. */
const char *error_name(CUresult code);
const char *error_text(CUresult code);
bool error_by_name(const char *name, CUresult *code);

#endif
