/*
 * quota.h - the bytes that one process may still write into the report folder (CUVET_QUOTA),
 * shared by its journal and its bundles. Any thread, no lock.
 */
#ifndef REPORT_QUOTA_H
#define REPORT_QUOTA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct quota {
    _Atomic uint64_t left;
};

static inline void quota_init(struct quota *quota, uint64_t bytes)
{
    atomic_init(&quota->left, bytes);
}

/* Takes all of `bytes`, or nothing and returns false. */
static inline bool quota_take(struct quota *quota, uint64_t bytes)
{
    uint64_t left = atomic_load_explicit(&quota->left, memory_order_relaxed);

    do {
        if (left < bytes)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&quota->left, &left, left - bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

static inline uint64_t quota_left(const struct quota *quota)
{
    return atomic_load_explicit(&quota->left, memory_order_relaxed);
}

/* Of bytes that were taken and not written after all. */
static inline void quota_give_back(struct quota *quota, uint64_t bytes)
{
    atomic_fetch_add_explicit(&quota->left, bytes, memory_order_relaxed);
}

#endif
