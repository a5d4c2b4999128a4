/*
 * fault.h - the failures that SOFTGPU_FAIL requests.
 */
#ifndef SOFTGPU_FAULT_H
#define SOFTGPU_FAULT_H

#include <cuda.h>

/* Counts one call of the exported function `name`, made by the code at `from`: CUDA_SUCCESS, or the
 * error that it shall give without being run. Any thread. */
CUresult fault_take(const char *name, const void *from);

/* The mapped file that holds `address`; "?" where none does. Lives as long as the file is mapped.
 */
const char *file_of(const void *address);

#endif
