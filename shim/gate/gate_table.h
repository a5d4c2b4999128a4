/*
 * gate_table.h - the layout of the gate's tables, for the one probe that the hook makes of each
 * launch of a registered kernel. Code that is not on that path includes gate.h.
 *
 * Each thread has a table of notes, one for each signature that it launches: how many of the next
 * launches are known to be passed over, and as what they are counted. A launch that is passed over
 * reads and writes that one line, without a locked instruction.
 */
#ifndef GATE_GATE_TABLE_H
#define GATE_GATE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "base/hot.h"
#include "gate/budget.h"
#include "value/kernel_spec.h"
#include "gate/passing.h"
#include "value/skip.h"

/* GATE_TABLE: signatures, of a program that has ever new shapes, 4 MiB. GATE_NOTES: of each thread,
 * in sets of GATE_WAYS neighbours, 256 KiB. */
enum { GATE_TABLE = 1 << 16, GATE_NOTES = 1 << 12, GATE_WAYS = 2 };

/* What a launch's signature is made of beside its parameters: grid, block and dynamic shared
 * memory, in the order in which all launch APIs have them. */
enum { GATE_SHAPE_WORDS = 7 };

/* Scalars that decide whether others are present, and the values of one that differ in that. */
enum { GATE_GUARDS = 2, GATE_GUARD_VALUES = 16 };

/* How launches of a kernel are distinguished: its shape_params, in the fewest words. */
struct gate_recipe {
    uint64_t seed;
    /* Pointers come first, other parameters of 8 bytes, of 4, of 1, and those under guards. */
    uint8_t pointers, longs, words, items; /* ends of each but the last */
    uint8_t guards;
    bool odd; /* has others: all its launches go to gate_decide */
    struct gate_guard {
        uint8_t index; /* of its parameter */
        uint8_t begin; /* of the items under it */
        uint16_t offset;
        uint8_t end[GATE_GUARD_VALUES]; /* of those that are present, by its value, the last and
                                         * larger ones alike */
    } guard[GATE_GUARDS];
    struct gate_item {
        uint8_t index; /* of the parameter */
        uint8_t from;  /* number in shape_param */
        uint16_t offset;
    } item[SHAPE_PARAMS];
};

struct gate_note;

/* One signature of one kernel. */
struct gate_turn {
    _Alignas(64) _Atomic(uint64_t) key; /* 0: free */
    _Atomic(uint64_t) taken;            /* the generation, and in the lower half its turns taken */
    _Atomic(uint64_t) launches;         /* whose numbers are taken */
    struct budget_use use;
    _Atomic(struct gate_note *) notes; /* of all threads; where a turn was taken */
};

/* One thread's record of a signature. Only that thread writes it, but for `stamp`, which becomes 0
 * where another thread returns a turn. */
struct gate_note {
    _Alignas(64) _Atomic(uint64_t) key; /* 0: free */
    _Atomic(uint32_t) stamp;            /* gate_stamp() when `left` and `next` were computed */
    uint32_t left;                      /* launches from now on that are passed over ... */
    uint32_t skip;                      /* ... and are counted as this */
    uint32_t rest;                      /* numbers taken ahead that follow behind those */
    uint64_t number;                    /* of the launch behind those `left` */
    uint64_t next;                      /* the first number that the random gate may take */
    int64_t read_at;                    /* clock_ns() when the accounts were last read */
    uint32_t paused;                    /* launches that were passed over since */
    bool blind;                         /* the outlier gate cannot probe its launches */
};

/* Never 0; changes with all that may make any launch due earlier than computed before. */
HOT_INLINE uint32_t gate_stamp(void)
{
    return (uint32_t)atomic_load_explicit(&passing.draws, memory_order_acquire) | 1;
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
    unsigned alias = 0;
    while (pointers[alias] != pointer)
        alias++;
    return (uint64_t)alias << 8 | (pointer & 15) << 1 | (pointer == 0);
}

/* 0 for one in 2^64, whose launches gate_passes does not find. */
HOT_INLINE uint64_t gate_key(uint64_t hash)
{
    hash = (hash ^ hash >> 32) * GATE_ODD;
    return hash ^ hash >> 29;
}

/* Where the launch has what an item of its recipe names. */
HOT_INLINE const void *gate_item_at(const struct gate_item *item, void *const *params)
{
    return (const char *)params[item->index] + item->offset;
}

/* Goes on with the items under a guard. */
HOT_INLINE uint64_t gate_guarded(uint64_t hash, const struct gate_recipe *recipe,
                                 const struct gate_guard *guard, void *const *params)
{
    int32_t value;
    memcpy(&value, (const char *)params[guard->index] + guard->offset, sizeof(value));
    value = value < 0 ? 0 : value < GATE_GUARD_VALUES ? value : GATE_GUARD_VALUES - 1;
    for (unsigned i = guard->begin; i < guard->end[value]; i++) {
        uint32_t word;
        memcpy(&word, gate_item_at(&recipe->item[i], params), sizeof(word));
        hash = gate_mix(hash, word);
    }
    return hash;
}

/* Not of a recipe that is odd. Little code, no tables, few branches: they are cold each time. */
HOT_INLINE uint64_t gate_signature(const struct gate_recipe *recipe, const uint32_t *shape,
                                   void *const *params)
{
    uint64_t pointers[SHAPE_PARAMS], hash = gate_mix_shape(recipe->seed, shape);
    unsigned i = 0;
    for (; i < recipe->pointers; i++) {
        memcpy(&pointers[i], gate_item_at(&recipe->item[i], params), sizeof(uint64_t));
        hash = gate_mix(hash, gate_pointer_class(pointers, i));
    }
    for (; i < recipe->longs; i++) {
        uint64_t value;
        memcpy(&value, gate_item_at(&recipe->item[i], params), sizeof(value));
        hash = gate_mix(hash, value);
    }
    for (; i < recipe->words; i++) {
        uint32_t value;
        memcpy(&value, gate_item_at(&recipe->item[i], params), sizeof(value));
        hash = gate_mix(hash, value);
    }
    for (; i < recipe->items; i++)
        hash = gate_mix(hash, *(const uint8_t *)gate_item_at(&recipe->item[i], params));
    for (i = 0; UNUSUAL(i < recipe->guards); i++)
        hash = gate_guarded(hash, recipe, &recipe->guard[i], params);
    return gate_key(hash);
}

/* What the next launch of a signature is counted as, where it is known to be passed over; then its
 * number is used up. Else SKIP_NONE. `stamp`: gate_stamp(). */
HOT_INLINE enum skip gate_note_passes(struct gate_note *note, uint32_t stamp)
{
    uint32_t left = note->left;
    if (UNUSUAL(!left) ||
        UNUSUAL(atomic_load_explicit(&note->stamp, memory_order_relaxed) != stamp))
        return SKIP_NONE;
    note->left = left - 1;
    return (enum skip)note->skip;
}

/* The first note of a key's set. */
HOT_INLINE struct gate_note *gate_notes_of(struct gate_note *notes, uint64_t key)
{
    return &notes[key % GATE_NOTES / GATE_WAYS * GATE_WAYS];
}

/*
 * The bucket of a launch that is neither checked nor probed; it has its number then. SKIP_NONE:
 * gate_decide has to decide; nothing was changed. `notes` are the calling thread's, gate_notes();
 * `stamp` is gate_stamp().
 */
HOT_INLINE enum skip gate_passes(struct gate_note *notes, const struct gate_recipe *recipe,
                                 const uint32_t *shape, void *const *params, uint32_t stamp)
{
    uint64_t key = gate_signature(recipe, shape, params);
    struct gate_note *note = gate_notes_of(notes, key), *end = note + GATE_WAYS;
    while (UNUSUAL(atomic_load_explicit(&note->key, memory_order_relaxed) != key))
        if (++note == end)
            return SKIP_NONE;
    return gate_note_passes(note, stamp);
}

/* Of the thread whose number in the tallies, own_thread.passes, is `passes`; not 0. */
HOT_INLINE struct gate_note *gate_notes(struct gate_note *all, uint32_t passes)
{
    return &all[(uint64_t)(passes - 1) * GATE_NOTES];
}

#endif
