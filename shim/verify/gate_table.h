/*
 * gate_table.h - the layout of the gate's table of signatures, for the one probe that the hook
 * makes of each launch of a registered kernel. Who is not on that path uses gate.h.
 *
 * The table is open-addressed and append-only. A signature's entry has, on one line, numbers that
 * threads have taken ahead, with how many of them are known to be passed over: so most launches
 * are, at the price of that line and without a locked instruction.
 */
#ifndef VERIFY_GATE_TABLE_H
#define VERIFY_GATE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "base/hot.h"
#include "verify/budget.h"
#include "verify/kernel_spec.h"
#include "verify/passing.h"

/* Bounded for a program of ever new shapes: 64 Ki signatures in 8 MiB. */
enum { GATE_TABLE = 1 << 16, GATE_LEASES = 3 };

/* What a launch's signature is made of beside its parameters: grid, block and dynamic shared
 * memory, in the order in which all launch APIs have them. */
enum { GATE_SHAPE_WORDS = 7 };

/* How launches of a kernel are told apart: its shape_params, in the fewest words. */
struct gate_recipe {
    uint64_t seed;
    /* Pointers come first, other parameters of 8 bytes then, those of 4 last. */
    uint8_t pointers, longs, items; /* ends of each */
    bool odd; /* has others: its launches are all asked about by gate_decide */
    struct gate_item {
        uint8_t index; /* of the parameter */
        uint8_t from;  /* number in shape_param */
        uint16_t offset;
    } item[SHAPE_PARAMS];
};

/*
 * Numbers of launches of a signature that one thread has taken ahead. Nobody else writes it once
 * `word` names the thread.
 *
 * `word` has the thread's number in the tallies (0: nobody's), how many launches from now on are
 * known to be passed over, and the next launch's number. `rest` numbers follow behind those.
 */
struct gate_lease {
    _Atomic(uint64_t) word;
    uint32_t rest;
    uint32_t stamp; /* gate_stamp() when it was found out how many are passed over */
};
enum { GATE_NUMBER_BITS = 40, GATE_LEFT_BITS = 16 };
enum { GATE_THREAD_SHIFT = GATE_NUMBER_BITS + GATE_LEFT_BITS };

/* One signature of one kernel. */
struct gate_turn {
    _Alignas(64) _Atomic(uint64_t) key; /* 0: free */
    _Atomic(uint32_t) returned;         /* counts turns that were given back */
    struct gate_lease lease[GATE_LEASES];
    _Alignas(
        64) _Atomic(uint64_t) taken; /* the generation, and in the lower half its turns taken */
    _Atomic(uint64_t) launches;      /* whose numbers are taken */
    struct budget_use use;
};

/* Changes with all that may make a launch due earlier than was thought, and never comes back. */
HOT_INLINE uint32_t gate_stamp(const struct gate_turn *turn)
{
    return (uint32_t)atomic_load_explicit(&passing.draws, memory_order_acquire) +
           atomic_load_explicit(&turn->returned, memory_order_acquire);
}

/* ---- signatures: the same in every run ---- */

#define GATE_ODD 0x9FB21C651E98DF25u

/* Each step is one to one in either argument, so two lists of words that differ in one place never
 * collide; others do as random numbers would. */
HOT_INLINE uint64_t gate_mix(uint64_t hash, uint64_t word)
{
    return (hash << 5 | hash >> 59) + word * GATE_ODD;
}

/* By halves, which is how they were written a moment ago. */
HOT_INLINE uint64_t gate_pair(const uint32_t *words)
{
    return (uint64_t)words[1] << 32 | words[0];
}

HOT_INLINE uint64_t gate_mix_shape(uint64_t hash, const uint32_t *shape)
{
    hash = gate_mix(hash, gate_pair(shape));
    hash = gate_mix(hash, gate_pair(shape + 2));
    hash = gate_mix(hash, gate_pair(shape + 4));
    return gate_mix(hash, shape[GATE_SHAPE_WORDS - 1]);
}

/* Class of a pointer: its alignment, whether it is null, and the first earlier pointer equal to it.
 */
HOT_INLINE uint64_t gate_pointer_class(const uint64_t *pointers, unsigned index)
{
    uint64_t pointer = pointers[index];
    unsigned alias = index;
    for (unsigned i = index; i-- > 0;)
        alias = pointers[i] == pointer ? i : alias;
    return (uint64_t)alias << 8 | (pointer & 15) << 1 | (pointer == 0);
}

/* 0 for one in 2^64, whose launches gate_passes does not find. */
HOT_INLINE uint64_t gate_key(uint64_t hash)
{
    hash = (hash ^ hash >> 32) * GATE_ODD;
    return hash ^ hash >> 29;
}

/* Not of a recipe that is odd. Little code, no tables, few branches: they are cold each time. */
HOT_INLINE uint64_t gate_signature(const struct gate_recipe *recipe, const uint32_t *shape,
                                   void *const *params)
{
    uint64_t pointers[SHAPE_PARAMS], hash = gate_mix_shape(recipe->seed, shape);
    const struct gate_item *item = recipe->item;
    unsigned i = 0;
    for (; i < recipe->pointers; i++, item++) {
        memcpy(&pointers[i], (const char *)params[item->index] + item->offset, sizeof(uint64_t));
        hash = gate_mix(hash, gate_pointer_class(pointers, i));
    }
    for (; i < recipe->items; i++, item++) {
        const char *at = (const char *)params[item->index] + item->offset;
        uint32_t half[2], wide = i < recipe->longs;
        memcpy(&half[0], at, sizeof(uint32_t));
        memcpy(&half[1], at + wide * sizeof(uint32_t), sizeof(uint32_t));
        hash = gate_mix(hash, (uint64_t)(half[1] & (0 - wide)) << 32 | half[0]);
    }
    return gate_key(hash);
}

/* Whether the next launch of a lease, the calling thread's own, is known to be passed over; then
 * its number is used up. */
HOT_INLINE bool gate_lease_passes(const struct gate_turn *turn, struct gate_lease *lease)
{
    uint64_t word = atomic_load_explicit(&lease->word, memory_order_relaxed);
    if (UNUSUAL(!(word >> GATE_NUMBER_BITS & UINT16_MAX)) ||
        UNUSUAL(lease->stamp != gate_stamp(turn)))
        return false;
    word += 1 - ((uint64_t)1 << GATE_NUMBER_BITS);
    atomic_store_explicit(&lease->word, word, memory_order_relaxed);
    return true;
}

HOT_INLINE uint64_t gate_lease_thread(const struct gate_lease *lease)
{
    return atomic_load_explicit(&lease->word, memory_order_relaxed) >> GATE_THREAD_SHIFT;
}

/*
 * Whether it is known that neither gate of gate.h takes the launch; it is then numbered, too.
 * False: gate_decide says; nothing has happened. `thread` is the calling one's own_thread.passes,
 * not 0.
 */
HOT_INLINE bool gate_passes(struct gate_turn *table, const struct gate_recipe *recipe,
                            uint32_t thread, const uint32_t *shape, void *const *params)
{
    uint64_t key = gate_signature(recipe, shape, params);
    struct gate_turn *turn = &table[key % GATE_TABLE];
    struct gate_lease *lease = turn->lease;
    if (UNUSUAL(atomic_load_explicit(&turn->key, memory_order_relaxed) != key))
        return false;
    while (UNUSUAL(gate_lease_thread(lease) != thread))
        if (++lease == turn->lease + GATE_LEASES)
            return false;
    return gate_lease_passes(turn, lease);
}

#endif
