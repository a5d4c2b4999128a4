/*
 * memory.h - the memory of devices and the pinned memory of the host.
 *
 * Device memory lies in one reserved range of addresses for each device that the program itself
 * cannot touch (a host access faults, as on the real machine); the same pages are mapped a second
 * time for the stand-in's own use. Pinned memory has one address for both. Allocations are aligned
 * to 512 bytes (the real one guarantees 256) and end at the byte that was requested: an access
 * behind it is a fault, while on a real device up to 2 MiB more may be accessible.
 */
#ifndef SOFTGPU_MEMORY_H
#define SOFTGPU_MEMORY_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "exec/exec.h"

struct context;
struct device;

enum memory_kind {
    MEMORY_DEVICE,
    MEMORY_PINNED,     /* cuMemHostAlloc, cuMemAllocHost: the driver's pages */
    MEMORY_REGISTERED, /* cuMemHostRegister: the program's pages */
    MEMORY_MANAGED,
    MEMORY_POOL,   /* stream-ordered */
    MEMORY_MODULE, /* a module's variable */
};

/* Zero-filled only where `zero` is set. Errors: CUDA_ERROR_OUT_OF_MEMORY,
 * CUDA_ERROR_INVALID_VALUE. */
CUresult memory_allocate(struct context *context, enum memory_kind kind, size_t bytes, bool zero,
                         CUdeviceptr *address);
/* CUDA_ERROR_INVALID_VALUE where `address` does not begin a living allocation of that kind. */
CUresult memory_release(struct context *context, enum memory_kind kind, CUdeviceptr address);

/* The part of exec_host: what kernels of `context` may touch (`user` is the context). */
bool memory_find(void *context, uint64_t address, struct exec_range *range);

/* For copies and memsets: the host's view of [address, address + bytes), which must lie in one
 * living allocation (or, for a host address, anywhere: unpinned memory is taken as it is). NULL: no
 * such range. `pinned`, where not NULL: whether the memory is the driver's. */
uint8_t *memory_view(struct context *context, CUdeviceptr address, size_t bytes);
bool memory_is_device(CUdeviceptr address);
bool memory_is_pinned(const void *address, size_t bytes);

#endif
