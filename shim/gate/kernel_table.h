/*
 * kernel_table.h - the layout of the table of kernel handles, for the one probe that the hook makes
 * of every launch. Code that is not on that path uses kernels.h.
 *
 * The table is open-addressed and append-only: a reader follows at most KERNEL_PROBES entries, each
 * a handle with the record it was resolved to. Its generation is passing.handles; an entry
 * resolved in an older one is confirmed under the lock before use. An entry lies on one cache line.
 */
#ifndef GATE_KERNEL_TABLE_H
#define GATE_KERNEL_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/hot.h"
#include "gate/passing.h"

enum { KERNEL_TABLE_BITS = 14, KERNEL_TABLE = 1 << KERNEL_TABLE_BITS, KERNEL_PROBES = 32 };

/* In the lowest bit of an entry's record: no registry entry names the kernel, in no role. */
enum { KERNEL_PASSED = 1 };

struct kernel_entry {
    _Alignas(32) _Atomic(const void *) function;
    _Atomic(const char *) symbol; /* the module's string: a second witness of identity */
    _Atomic(uint64_t) generation;
    _Atomic(uintptr_t) kernel; /* a struct known_kernel, and KERNEL_PASSED */
};

struct kernel_table {
    _Alignas(64) struct kernel_entry entry[KERNEL_TABLE];
};

/* Where the probes for a handle begin. Handles lie apart by multiples of a few strides, which the
 * product's upper bits spread evenly. */
static inline uint64_t kernel_place(const void *function)
{
    return (uint64_t)(uintptr_t)function * 0x9E3779B97F4A7C15u >> (64 - KERNEL_TABLE_BITS);
}

/*
 * Whether an entry is of this handle and current, with its record.
 *
 * A writer (kernels.c) takes `symbol` away, writes the record, the generation, and then the symbol
 * again: so a reader that finds the current generation finds the record that belongs to it, and a
 * late reader finds no symbol, or another.
 */
static inline bool kernel_entry_is(const struct kernel_entry *entry, uint64_t generation,
                                   const void *function, const char *symbol, uintptr_t *kernel)
{
    if (UNUSUAL(atomic_load_explicit(&entry->function, memory_order_acquire) != function) ||
        UNUSUAL(atomic_load_explicit(&entry->generation, memory_order_acquire) != generation))
        return false;
    *kernel = atomic_load_explicit(&entry->kernel, memory_order_acquire);
    return USUAL(atomic_load_explicit(&entry->symbol, memory_order_acquire) == symbol);
}

/* The first probe alone, which finds most handles: the record, and KERNEL_PASSED. Else 0. */
static inline uintptr_t kernel_table_first(const struct kernel_table *table, const void *function,
                                           const char *symbol)
{
    uint64_t now = atomic_load_explicit(&passing.handles, memory_order_acquire);
    uintptr_t kernel;
    return kernel_entry_is(&table->entry[kernel_place(function)], now, function, symbol, &kernel)
               ? kernel
               : 0;
}

#endif
