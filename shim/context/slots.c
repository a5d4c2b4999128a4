#include "context/slots.h"

#include <stdatomic.h>
#include <stdlib.h>

struct slots {
    uint32_t words;
    uint32_t spare; /* bits past the count, set for ever */
    _Atomic(uint64_t) used[];
};

struct slots *slots_create(uint32_t count)
{
    uint32_t words = (count + 63) / 64;
    struct slots *slots = calloc(1, sizeof(*slots) + words * sizeof(slots->used[0]));
    if (!slots)
        return NULL;
    slots->words = words;
    slots->spare = words * 64 - count;
    if (count % 64)
        atomic_init(&slots->used[words - 1], ~(uint64_t)0 << count % 64);
    return slots;
}

void slots_destroy(struct slots *slots)
{
    free(slots);
}

int slots_claim(struct slots *slots)
{
    for (uint32_t word = 0; word < slots->words; word++) {
        uint64_t used = atomic_load_explicit(&slots->used[word], memory_order_relaxed);
        while (~used) {
            int bit = __builtin_ctzll(~used);
            if (atomic_compare_exchange_weak_explicit(&slots->used[word], &used,
                                                      used | (uint64_t)1 << bit,
                                                      memory_order_acquire, memory_order_relaxed))
                return (int)word * 64 + bit;
        }
    }
    return -1;
}

void slots_release(struct slots *slots, int slot)
{
    atomic_fetch_and_explicit(&slots->used[slot / 64], ~((uint64_t)1 << slot % 64),
                              memory_order_release);
}

uint32_t slots_in_use(const struct slots *slots)
{
    uint32_t used = 0;
    for (uint32_t word = 0; word < slots->words; word++)
        used += (uint32_t)__builtin_popcountll(atomic_load(&slots->used[word]));
    return used - slots->spare;
}
