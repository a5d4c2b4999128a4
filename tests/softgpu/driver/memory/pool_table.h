/*
 * pool_table.h - memory pools and what was allocated from them, for pool.c and the works of graphs.
 *
 * A pool keeps no memory back: what is freed in stream order is gone, so a late use of it is a
 * fault. Any thread.
 */
#ifndef SOFTGPU_POOL_TABLE_H
#define SOFTGPU_POOL_TABLE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include "driver/stream/stream.h"

struct pool;
struct graph_memory; /* what an alloc node gives */

/* A device's own; NULL: no such device, or no memory. */
struct pool *pool_default(CUdevice device);
struct pool *pool_current(CUdevice device);
void pool_set_current(CUdevice device, struct pool *pool);
/* Pools are never freed: a pointer stays good. NULL: not a living pool. */
struct pool *pool_from_handle(CUmemoryPool handle);
CUmemoryPool pool_handle(const struct pool *pool);
CUdevice pool_device(const struct pool *pool);
struct pool *pool_create(CUdevice device, size_t max_bytes);
bool pool_destroy(struct pool *pool); /* false for a device's own */
CUresult pool_get(struct pool *pool, CUmemPool_attribute attribute, void *value);
CUresult pool_set(struct pool *pool, CUmemPool_attribute attribute, const void *value);
void pool_set_access(struct pool *pool, CUdevice device, CUmemAccess_flags flags);
CUmemAccess_flags pool_access(const struct pool *pool, CUdevice device);

CUresult pool_allocate(struct pool *pool, struct context *context, size_t bytes,
                       CUdeviceptr *address);
/* From here on a second free is refused; `back` undoes it. False: nothing living of that address.
 */
bool pool_begin_free(CUdeviceptr address, bool back);
/* Frees what pool_begin_free() marked. */
CUresult pool_finish_free(CUdeviceptr address);
/* The pool that the allocation at `address` came from; NULL: none (a graph's memory has no pool).
 */
struct pool *pool_at(CUdeviceptr address);
/* At the end of a context: frees what it still has. */
void pools_end(struct context *context);

/* Memory of a graph stays until the last alloc work that shares it is dropped. "Live" is what the
 * program may free: from the call of a launch that leaves it allocated to the call that frees it,
 * pool_begin_free() or the launch of another graph, whenever the streams run them. */
struct graph_memory *graph_memory_create(struct context *context, size_t bytes, CUresult *error);
struct graph_memory *graph_memory_hold(struct graph_memory *memory);
void graph_memory_drop(struct graph_memory *memory);
CUdeviceptr graph_memory_address(const struct graph_memory *memory);
bool graph_memory_is_live(const struct graph_memory *memory);
void graph_memory_set_live(struct graph_memory *memory);
void graph_memory_end_at(CUdeviceptr address); /* of a graph's memory; others are left alone */
bool graph_memory_is_at(CUdeviceptr address);  /* live or not */

#endif
