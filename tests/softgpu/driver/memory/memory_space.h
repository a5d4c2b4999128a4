/*
 * memory_space.h - the record of what is allocated, for the parts of the driver that look into it
 * or add to it.
 */
#ifndef SOFTGPU_MEMORY_SPACE_H
#define SOFTGPU_MEMORY_SPACE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "driver/memory/address_table.h"
#include "driver/memory/memory.h"

enum { MEMORY_PAGE = 4096, MEMORY_MAX_DEVICES = 8 };
enum { MEMORY_MAPPED = MEMORY_MODULE + 1, MEMORY_KINDS }; /* of the virtual memory API */

struct allocation {
    struct piece piece; /* first: the table's */
    enum memory_kind kind;
    struct context *context; /* NULL: belongs to the device (pools, mappings) */
    struct device *device;   /* where it lies, or whose context made it */
    uint8_t *host;
    bool writable;
    bool sync_memops;
    unsigned flags; /* CU_MEMHOSTALLOC_*, CU_MEMHOSTREGISTER_*, CU_MEM_ATTACH_* */
    uint64_t id;    /* never given twice */
    /* Of mappings and pools: the access of each device, as CUmemAccess_flags. */
    unsigned char access[MEMORY_MAX_DEVICES];
    struct piece reserved; /* of mappings: the reservation they lie in */
    const void *owner;     /* of mappings: the physical memory */
};

/* Reserves the ranges of addresses; called once, before all else here. */
CUresult memory_start(void);

/* A copy of the allocation that holds the address. Any thread, as all of this. */
bool memory_lookup(uint64_t address, struct allocation *found);
/* Changes it in place; false: there is none. `change` runs under the lock and calls nothing of
 * ours. */
bool memory_change(uint64_t address, void (*change)(struct allocation *found, const void *user),
                   const void *user);

/* Adds one whose place its owner has found; `kind` MAPPED or REGISTERED. An overlap is
 * CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED or CUDA_ERROR_INVALID_VALUE. */
CUresult memory_insert(const struct allocation *allocation);
/* Takes the one that begins at `begin` away; false where there is none of that kind. */
bool memory_remove(uint64_t begin, enum memory_kind kind, struct allocation *removed);

/* Takes bytes from what the device has; CUDA_ERROR_OUT_OF_MEMORY. */
CUresult memory_charge(const struct device *device, size_t bytes);
void memory_refund(const struct device *device, size_t bytes);
void memory_info(const struct device *device, size_t *free, size_t *total);

/* CUmemAccess_flags that kernels of `context` have on it. */
unsigned memory_access(const struct context *context, const struct allocation *allocation);

/* The range that reservations of the virtual memory API are made in. */
struct space *memory_virtual_space(void);

/* What the driver pinned or allocated at a host address, device memory included. */
bool memory_in_our_ranges(uint64_t address);

/* Peers: the memory of `owner` becomes visible to kernels of `context`. */
CUresult memory_add_peer(struct context *context, struct context *owner);
CUresult memory_remove_peer(struct context *context, struct context *owner);

#endif
