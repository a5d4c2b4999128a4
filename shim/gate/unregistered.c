/* unregistered.c - open addressing by a hash of the name; a row is claimed by its hash, and is read
 * once its name is complete. */
#include "gate/unregistered.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "gate/kernels.h"

enum { SHORTEST = 256, EAGER = 64, PROBES = 32 };

static struct {
    _Atomic uint64_t samples, launches;
    struct row {
        _Atomic uint64_t hash, launches; /* hash 0: free */
        atomic_bool complete;
        struct gpu_time time;
        char name[UNREGISTERED_NAME];
    } row[UNREGISTERED_KERNELS];
} unregistered_table;

static struct row *hash_row(uint64_t hash, bool *fresh)
{
    for (uint64_t i = hash, tries = 0; tries < PROBES; i++, tries++) {
        struct row *row = &unregistered_table.row[i % UNREGISTERED_KERNELS];
        uint64_t held = 0;
        *fresh = atomic_compare_exchange_strong(&row->hash, &held, hash);
        if (*fresh || held == hash)
            return row;
    }
    return NULL;
}

/* The row of a name, made on first use; NULL: there is no room. */
static struct row *row_named(const char *symbol, uint64_t *hash)
{
    size_t length = strnlen(symbol, UNREGISTERED_NAME - 1);
    bool fresh;
    *hash = XXH3_64bits(symbol, length) | 1;
    struct row *row = hash_row(*hash, &fresh);
    if (row && fresh) {
        memcpy(row->name, symbol, length);
        row->name[length] = '\0';
        atomic_store_explicit(&row->complete, true, memory_order_release);
    }
    return row;
}

/* Launches up to the next sample, this one included. An interval that differs from sample to sample
 * meets no period of the program's. */
static uint32_t interval(uint64_t number, uint64_t hash)
{
    uint32_t shortest = number < (uint64_t)EAGER * SHORTEST ? (uint32_t)(number / EAGER) : SHORTEST;
    uint64_t random = (number + hash) * 0x9e3779b97f4a7c15u >> 32;
    return shortest ? shortest + (uint32_t)(random * shortest >> 32) : 1;
}

struct gpu_time *unregistered_record(const void *handle, const char *symbol)
{
    uint64_t hash;
    if (!symbol)
        symbol = kernels_symbol(&(struct launch){.function = handle});
    if (!*symbol)
        symbol = "unknown kernel";
    struct row *row = row_named(symbol, &hash);
    uint64_t number =
        atomic_fetch_add_explicit(&unregistered_table.samples, 1, memory_order_relaxed);
    uint32_t launches = interval(number, hash);
    own_thread.until_sample = launches - 1;
    atomic_fetch_add_explicit(&unregistered_table.launches, launches, memory_order_relaxed);
    if (!row)
        return NULL;
    atomic_fetch_add_explicit(&row->launches, launches, memory_order_relaxed);
    return &row->time;
}

struct gpu_time *unregistered_time(const char *symbol)
{
    uint64_t hash;
    struct row *row = row_named(*symbol ? symbol : "unknown kernel", &hash);
    return row ? &row->time : NULL;
}

size_t unregistered_read(struct unregistered_row *out, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < UNREGISTERED_KERNELS; i++) {
        const struct row *row = &unregistered_table.row[i];
        if (!atomic_load_explicit(&row->complete, memory_order_acquire))
            continue;
        struct unregistered_row one = {row->name, atomic_load(&row->launches), &row->time};
        size_t at = count;
        for (; at > 0 && out[at - 1].launches < one.launches; at--) {
            if (at < most)
                out[at] = out[at - 1];
        }
        if (at < most)
            out[at] = one;
        count += count < most;
    }
    return count;
}

uint64_t unregistered_launches(void)
{
    return atomic_load(&unregistered_table.launches);
}

void unregistered_clear(void)
{
    memset(&unregistered_table, 0, sizeof unregistered_table);
    own_thread.until_sample = 0;
}
