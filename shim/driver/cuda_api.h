/*
 * cuda_api.h - the CUDA driver, opened at run time and never linked.
 *
 * `cuda.cuMemAlloc(...)` calls the driver. The table is filled once by cuda_api_load, before any
 * other thread of ours exists, and read-only afterwards. Optional entry points may be NULL.
 */
#ifndef DRIVER_CUDA_API_H
#define DRIVER_CUDA_API_H

#include <cuda.h>
#include "base/error.h"

struct cuda_api {
#define CUDA_API(name)          __typeof__(name) *name;
#define CUDA_API_OPTIONAL(name) __typeof__(name) *name;
#include "driver/cuda_api.def"
#undef CUDA_API
#undef CUDA_API_OPTIONAL
};
extern struct cuda_api cuda;

/* Finds libcuda.so.1, which the program must have loaded already. STATUS_NOT_FOUND otherwise, or
 * when the driver lacks a required entry point (the error names it). */
enum status cuda_api_load(struct error *err);

/* STATUS_OK for CUDA_SUCCESS; else STATUS_DRIVER and "WHAT: CUDA_ERROR_...". */
enum status cuda_check(struct error *err, CUresult result, const char *what);

/* "CUDA_ERROR_INVALID_VALUE", never NULL. */
const char *cuda_error_name(CUresult result);

#endif
