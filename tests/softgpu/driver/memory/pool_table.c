/* pool_table.c - which pools there are, and which address is whose. */
#include "driver/memory/pool_table.h"

#include <pthread.h>
#include <stdlib.h>
#include "driver/context/device.h"
#include "driver/base/handles.h"
#include "driver/memory/memory.h"

enum {
    MAX_DEVICES = 8,
    BUCKETS = 1024,
    SWITCHES =
        CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES + 1, /* attributes that are an int */
};

struct pool {
    struct pool *next;
    CUmemoryPool handle;
    CUdevice device;
    bool own; /* the device's default pool */
    int switches[SWITCHES];
    uint64_t threshold, used, used_high, reserved_high;
    size_t max_bytes;
    unsigned peers; /* devices that may write, one bit each */
};

struct graph_memory {
    unsigned refs;
    bool live; /* as the calls that were made have it, whether they have run or not */
    CUdeviceptr address;
    struct context *context; /* NULL once that has ended, and the memory with it */
};

/* One living allocation. */
struct row {
    struct row *next;
    CUdeviceptr address;
    size_t bytes;
    struct context *context;
    struct pool *pool;          /* NULL: a graph's */
    struct graph_memory *graph; /* NULL: a pool's */
    bool freeing;
};

/* Guards everything here. Nothing of memory.h is called under it: memory.c calls pool_at() under
 * its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handles handles = HANDLES_INITIALIZER;
static struct pool *pools; /* all that ever were */
static struct pool *own_pools[MAX_DEVICES], *current_pools[MAX_DEVICES];
static struct row *buckets[BUCKETS];

/* --- pools --- */

static struct pool *create_locked(CUdevice device, size_t max_bytes)
{
    struct pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return NULL;
    pool->handle = handles_add(&handles, pool);
    if (!pool->handle) {
        free(pool);
        return NULL;
    }
    pool->device = device;
    pool->max_bytes = max_bytes;
    pool->peers = 1u << device;
    for (unsigned i = 0; i < SWITCHES; i++)
        pool->switches[i] = 1;
    pool->next = pools;
    return pools = pool;
}

struct pool *pool_create(CUdevice device, size_t max_bytes)
{
    pthread_mutex_lock(&lock);
    struct pool *pool = create_locked(device, max_bytes);
    pthread_mutex_unlock(&lock);
    return pool;
}

static struct pool *own_locked(CUdevice device)
{
    if (device < 0 || device >= MAX_DEVICES || !device_at(device))
        return NULL;
    if (!own_pools[device] && (own_pools[device] = create_locked(device, 0)))
        own_pools[device]->own = true;
    return own_pools[device];
}

struct pool *pool_default(CUdevice device)
{
    pthread_mutex_lock(&lock);
    struct pool *pool = own_locked(device);
    pthread_mutex_unlock(&lock);
    return pool;
}

struct pool *pool_current(CUdevice device)
{
    pthread_mutex_lock(&lock);
    struct pool *pool = own_locked(device);
    if (pool && current_pools[device])
        pool = current_pools[device];
    pthread_mutex_unlock(&lock);
    return pool;
}

void pool_set_current(CUdevice device, struct pool *pool)
{
    pthread_mutex_lock(&lock);
    current_pools[device] = pool;
    pthread_mutex_unlock(&lock);
}

struct pool *pool_from_handle(CUmemoryPool handle)
{
    return handles_find(&handles, handle, NULL);
}

CUmemoryPool pool_handle(const struct pool *pool)
{
    return pool->handle;
}

CUdevice pool_device(const struct pool *pool)
{
    return pool->device;
}

bool pool_destroy(struct pool *pool)
{
    if (pool->own)
        return false;
    pthread_mutex_lock(&lock);
    handles_remove(&handles, pool->handle);
    for (unsigned i = 0; i < MAX_DEVICES; i++)
        if (current_pools[i] == pool)
            current_pools[i] = NULL;
    pthread_mutex_unlock(&lock);
    return true;
}

/* The attributes that are a uint64_t; NULL for the others. */
static uint64_t *number_locked(struct pool *pool, CUmemPool_attribute attribute)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        return &pool->threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: /* nothing is kept back */
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return &pool->used;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return &pool->reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return &pool->used_high;
    default:
        return NULL;
    }
}

CUresult pool_get(struct pool *pool, CUmemPool_attribute attribute, void *value)
{
    CUresult error = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    uint64_t *number = number_locked(pool, attribute);
    if (number)
        *(cuuint64_t *)value = *number;
    else if ((unsigned)attribute > 0 && (unsigned)attribute < SWITCHES)
        *(int *)value = pool->switches[attribute];
    else
        error = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&lock);
    return error;
}

static CUresult set_locked(struct pool *pool, CUmemPool_attribute attribute, const void *value)
{
    if ((unsigned)attribute > 0 && (unsigned)attribute < SWITCHES) {
        pool->switches[attribute] = *(const int *)value != 0;
        return CUDA_SUCCESS;
    }
    uint64_t number = *(const cuuint64_t *)value;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool->threshold = number;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (number != 0)
            return CUDA_ERROR_INVALID_VALUE;
        *number_locked(pool, attribute) = pool->used;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult pool_set(struct pool *pool, CUmemPool_attribute attribute, const void *value)
{
    pthread_mutex_lock(&lock);
    CUresult error = set_locked(pool, attribute, value);
    pthread_mutex_unlock(&lock);
    return error;
}

void pool_set_access(struct pool *pool, CUdevice device, CUmemAccess_flags flags)
{
    pthread_mutex_lock(&lock);
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        pool->peers |= 1u << device;
    else
        pool->peers &= ~(1u << device);
    pthread_mutex_unlock(&lock);
}

CUmemAccess_flags pool_access(const struct pool *pool, CUdevice device)
{
    pthread_mutex_lock(&lock);
    bool open = pool->peers >> device & 1;
    pthread_mutex_unlock(&lock);
    return open ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

/* --- allocations --- */

static struct row **find_locked(CUdeviceptr address)
{
    struct row **at = &buckets[(address >> 9) % BUCKETS];
    while (*at && (*at)->address != address)
        at = &(*at)->next;
    return at;
}

/* A new row, with its memory, in no table yet. */
static CUresult make_row(struct context *context, size_t bytes, struct row **made)
{
    struct row *row = calloc(1, sizeof(*row));
    if (!row)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult error = memory_allocate(context, MEMORY_POOL, bytes, false, &row->address);
    if (error != CUDA_SUCCESS) {
        free(row);
        return error;
    }
    row->bytes = bytes;
    row->context = context;
    *made = row;
    return CUDA_SUCCESS;
}

static void add_locked(struct row *row)
{
    struct row **at = find_locked(row->address);
    row->next = *at;
    *at = row;
}

static struct row *take_locked(struct row **at)
{
    struct row *row = *at;
    *at = row->next;
    if (row->pool)
        row->pool->used -= row->bytes;
    return row;
}

/* Of rows that were taken out; NULL is none. */
static CUresult free_row(struct row *row)
{
    if (!row)
        return CUDA_SUCCESS;
    CUresult error = memory_release(row->context, MEMORY_POOL, row->address);
    free(row);
    return error;
}

static bool charge(struct pool *pool, size_t bytes)
{
    pthread_mutex_lock(&lock);
    bool fits =
        !pool->max_bytes || (bytes <= pool->max_bytes && pool->used <= pool->max_bytes - bytes);
    if (fits)
        pool->used += bytes;
    pthread_mutex_unlock(&lock);
    return fits;
}

CUresult pool_allocate(struct pool *pool, struct context *context, size_t bytes,
                       CUdeviceptr *address)
{
    if (!charge(pool, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct row *row = NULL;
    CUresult error = make_row(context, bytes, &row);
    pthread_mutex_lock(&lock);
    if (error == CUDA_SUCCESS) {
        row->pool = pool;
        if (pool->used > pool->used_high)
            pool->used_high = pool->used;
        if (pool->used > pool->reserved_high)
            pool->reserved_high = pool->used;
        add_locked(row);
        *address = row->address;
    } else {
        pool->used -= bytes;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

struct pool *pool_at(CUdeviceptr address)
{
    pthread_mutex_lock(&lock);
    const struct row *row = *find_locked(address);
    struct pool *pool = row ? row->pool : NULL;
    pthread_mutex_unlock(&lock);
    return pool;
}

bool pool_begin_free(CUdeviceptr address, bool back)
{
    pthread_mutex_lock(&lock);
    struct row *row = *find_locked(address);
    bool found = false;
    if (row && row->graph) {
        found = row->graph->live != back;
        row->graph->live = back;
    } else if (row) {
        found = row->freeing == back;
        row->freeing = !back;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

CUresult pool_finish_free(CUdeviceptr address)
{
    pthread_mutex_lock(&lock);
    struct row **at = find_locked(address), *row = NULL;
    bool found = *at != NULL;
    if (found && !(*at)->graph) /* a graph keeps its memory for the next launch */
        row = take_locked(at);
    pthread_mutex_unlock(&lock);
    return found ? free_row(row) : CUDA_ERROR_INVALID_VALUE;
}

static struct row *take_of_context(const struct context *context)
{
    struct row *row = NULL;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < BUCKETS && !row; i++) {
        struct row **at = &buckets[i];
        while (*at && (*at)->context != context)
            at = &(*at)->next;
        if (*at)
            row = take_locked(at);
    }
    if (row && row->graph)
        row->graph->context = NULL;
    pthread_mutex_unlock(&lock);
    return row;
}

void pools_end(struct context *context)
{
    for (struct row *row; (row = take_of_context(context));)
        free_row(row);
}

/* --- graphs --- */

struct graph_memory *graph_memory_create(struct context *context, size_t bytes, CUresult *error)
{
    struct graph_memory *memory = calloc(1, sizeof(*memory));
    if (!memory) {
        *error = CUDA_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    struct row *row;
    *error = make_row(context, bytes, &row);
    if (*error != CUDA_SUCCESS) {
        free(memory);
        return NULL;
    }
    row->graph = memory;
    memory->refs = 1;
    memory->address = row->address;
    memory->context = context;
    pthread_mutex_lock(&lock);
    add_locked(row);
    pthread_mutex_unlock(&lock);
    return memory;
}

struct graph_memory *graph_memory_hold(struct graph_memory *memory)
{
    pthread_mutex_lock(&lock);
    memory->refs++;
    pthread_mutex_unlock(&lock);
    return memory;
}

void graph_memory_drop(struct graph_memory *memory)
{
    pthread_mutex_lock(&lock);
    bool last = --memory->refs == 0;
    struct row *row = NULL;
    if (last && memory->context)
        row = take_locked(find_locked(memory->address));
    pthread_mutex_unlock(&lock);
    free_row(row);
    if (last)
        free(memory);
}

CUdeviceptr graph_memory_address(const struct graph_memory *memory)
{
    return memory->address;
}

bool graph_memory_is_live(const struct graph_memory *memory)
{
    pthread_mutex_lock(&lock);
    bool live = memory->live;
    pthread_mutex_unlock(&lock);
    return live;
}

void graph_memory_set_live(struct graph_memory *memory)
{
    pthread_mutex_lock(&lock);
    memory->live = true;
    pthread_mutex_unlock(&lock);
}

void graph_memory_end_at(CUdeviceptr address)
{
    pthread_mutex_lock(&lock);
    struct row *row = *find_locked(address);
    if (row && row->graph)
        row->graph->live = false;
    pthread_mutex_unlock(&lock);
}

bool graph_memory_is_at(CUdeviceptr address)
{
    pthread_mutex_lock(&lock);
    struct row *row = *find_locked(address);
    bool is = row && row->graph;
    pthread_mutex_unlock(&lock);
    return is;
}
