/*
 * items.h - hashes of single items of a checked launch, such as its rows: what each read and what
 * it wrote, by the formals of its reference. So rows of two kernels with different parameter lists
 * can be compared.
 *
 * Items are those of a dim that the reference declares independent (`each`), so a row's result
 * depends neither on its place nor on the others. Collector thread only.
 */
#ifndef EXTRA_ITEMS_H
#define EXTRA_ITEMS_H

#include "context/side.h"

struct items {
    int64_t total;  /* of the launch, or of the part that is checked */
    uint32_t count; /* that are hashed; 0: the contract's dim is none of the reference's */
    int size;       /* the dim in ref_call.size, and the one that goes with it; -1: none */
    int with;
    int8_t axis[REF_MAX_TENSORS]; /* of each tensor; -1: all items read all of it */
    int64_t share;                /* entries of the dim that goes with it in each item */
    bool linked[REF_MAX_TENSORS]; /* the axis is that dim's */
};

/* The items of a check whose kernel has a contract. */
void items_find(const struct check *check, struct items *items);

/* Enqueues the hashes; `call` has the addresses in the snapshot (replay.c). lane->items is how many
 * there are, 0 where a tensor reaches outside its snapshot. */
enum status items_start(struct side *side, struct lane *lane, const struct ref_call *call,
                        struct error *err);

/* Which items of the launch they are: number `i` of those that are hashed. */
static inline int64_t items_place(const struct items *items, uint32_t i)
{
    return (int64_t)(i * (uint64_t)items->total / items->count);
}

/* What makes the results of two items the same: contract, reference, types, shapes of an item, all
 * numbers, and the bytes that it read. */
uint64_t items_key(const struct check *check, const struct items *items,
                   const struct digest_sums *sums, uint32_t i);

/* The output tensor of one item as the device lays it out; what digests and comparisons walk over.
 * False: the tensor is not bound, is not written, or has no elements. */
bool items_output(const struct ref_call *call, const struct items *items, int tensor,
                  struct digest_items_call *out, uint64_t *elements);

#endif
