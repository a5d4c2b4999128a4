/*
 * heap.c - the heap behind malloc() and free() of device code: 8 MiB for the process, as a device
 * has by default, in a range of addresses of its own.
 *
 * First fit over blocks with a header of 16 bytes; kernels on several threads share a lock.
 */
#include <stdlib.h>
#include "exec/run/state.h"

enum { HEAP_BYTES = 8 << 20, HEADER = 16, USED = 1 };

static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t *heap; /* each block begins with its bytes, header included, and USED */

static uint64_t *block_at(size_t offset)
{
    return heap + offset / sizeof *heap;
}

static bool heap_ready(void)
{
    if (!heap) {
        heap = aligned_alloc(128, HEAP_BYTES);
        if (heap) {
            memset(heap, 0, HEAP_BYTES);
            heap[0] = HEAP_BYTES;
        }
    }
    return heap != NULL;
}

/* Free neighbours become one. */
static void join(size_t offset)
{
    uint64_t *block = block_at(offset);
    while (offset + *block < HEAP_BYTES && !(*block_at(offset + *block) & USED))
        *block += *block_at(offset + *block);
}

uint64_t heap_take(uint64_t bytes)
{
    uint64_t found = 0;
    if (bytes > HEAP_BYTES)
        return 0;
    const uint64_t need = (bytes + HEADER + 15) / 16 * 16;
    pthread_mutex_lock(&heap_lock);
    for (size_t at = 0; heap_ready() && at < HEAP_BYTES && !found;
         at += *block_at(at) & ~(uint64_t)USED) {
        uint64_t *block = block_at(at);
        if (*block & USED)
            continue;
        join(at);
        if (*block < need)
            continue;
        if (*block > need)
            *block_at(at + need) = *block - need;
        *block = need | USED;
        found = HEAP_BASE + at + HEADER;
    }
    pthread_mutex_unlock(&heap_lock);
    return found;
}

bool heap_give(uint64_t address)
{
    bool found = false;
    pthread_mutex_lock(&heap_lock);
    for (size_t at = 0; heap && at < HEAP_BYTES; at += *block_at(at) & ~(uint64_t)USED) {
        if (HEAP_BASE + at + HEADER != address)
            continue;
        found = *block_at(at) & USED;
        *block_at(at) &= ~(uint64_t)USED;
        break;
    }
    pthread_mutex_unlock(&heap_lock);
    return found;
}

bool heap_range(uint64_t address, struct exec_range *range)
{
    if (address - HEAP_BASE >= HEAP_BYTES)
        return false;
    pthread_mutex_lock(&heap_lock);
    bool there = heap != NULL;
    *range = (struct exec_range){HEAP_BASE, HEAP_BYTES, (uint8_t *)heap, true};
    pthread_mutex_unlock(&heap_lock);
    return there;
}
