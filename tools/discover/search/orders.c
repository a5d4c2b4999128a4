/*
 * orders.c - orders of dims in memory. One of them is usual for attention; of a copy all are held
 * against some elements of the recorded arrays, which leaves one or few.
 */
#include "tools/discover/search/orders.h"

#include <string.h>
#include "lang/dtype.h"

enum { DIMS = ENTRY_ORDER, COMPARED = 64, PRIME = 7919 };

static const uint8_t plain[DIMS] = {0, 1, 2, 3}, heads_first[DIMS] = {0, 2, 1, 3};

static bool has_heads(const struct search *s)
{
    for (int i = 0; i < s->formals.count; i++) {
        if (s->entry.bound[i] >= 0 && entry_has_heads(&s->entry, &s->formals.formal[i]))
            return true;
    }
    return false;
}

/* The dims of an array in a launch. */
static void dims_of(const struct search *s, const struct formal *formal, unsigned launch,
                    int64_t dim[DIMS])
{
    for (int d = 0; d < DIMS; d++) {
        int size = formal->dim[d].size;
        dim[d] = size < 0 ? formal->dim[d].literal : s->extents->value[s->chosen[size]][launch];
    }
}

/* What the formal's array held, before or after the launch; NULL: so much was not recorded. */
static const uint8_t *bytes_of(const struct search *s, int formal, unsigned launch, bool after,
                               uint64_t bytes)
{
    const struct facts *facts = s->entry.facts;
    const struct seen_sample *sample = facts->kernel->sample[launch];
    const struct seen_pointer *pointer =
        seen_pointer_at(sample, facts->fact[s->entry.bound[formal]].offset);
    const struct seen_region *region = pointer ? seen_memory(sample, pointer->address) : NULL;
    uint64_t at = region ? pointer->address - region->address : 0;
    if (!region || bytes > region->bytes - at)
        return NULL;
    return (after ? region->after : region->before) + at;
}

/* Where element `i` of the dense array lies by the entry's order. */
static int64_t place_of(const struct search *s, const int64_t dim[DIMS], int64_t i)
{
    int64_t index[DIMS], place = 0;
    for (int d = DIMS - 1; d >= 0; d--) {
        index[d] = i % dim[d];
        i /= dim[d];
    }
    for (int k = 0; k < DIMS; k++)
        place = place * dim[s->entry.order[k]] + index[s->entry.order[k]];
    return place;
}

static bool copies(const struct search *s, int in, int out, unsigned launch)
{
    const struct facts *facts = s->entry.facts;
    unsigned size = dtype_bytes(facts->fact[s->entry.bound[out]].dtype);
    int64_t dim[DIMS], count = 1;
    dims_of(s, &s->formals.formal[out], launch, dim);
    for (int d = 0; d < DIMS; d++) {
        if (__builtin_mul_overflow(count, dim[d], &count))
            return false;
    }
    const uint8_t *from = bytes_of(s, in, launch, false, (uint64_t)count * size);
    const uint8_t *to = bytes_of(s, out, launch, true, (uint64_t)count * size);
    for (int64_t k = 0; from && to && k < COMPARED && k < count; k++) {
        int64_t i = count <= COMPARED ? k : k * PRIME % count;
        if (memcmp(to + i * size, from + place_of(s, dim, i) * size, size) != 0)
            return false;
    }
    return from && to;
}

/* Whether the compared elements are those of the input, in each launch whose memory was recorded.
 */
static bool copy_fits(const struct search *s)
{
    const struct facts *facts = s->entry.facts;
    int in = -1, out = -1, some = 0;
    for (int i = 0; i < s->formals.count; i++) {
        in = s->formals.formal[i].kind == FORMAL_IN ? i : in;
        out = s->formals.formal[i].kind == FORMAL_OUT ? i : out;
    }
    if (in < 0 || out < 0)
        return false;
    if (facts->fact[s->entry.bound[in]].dtype != facts->fact[s->entry.bound[out]].dtype)
        return false;
    for (unsigned i = 0; i < facts->kernel->samples; i++) {
        if (!facts->kernel->sample[i]->regions)
            continue;
        if (!copies(s, in, out, i))
            return false;
        some++;
    }
    return some > 0;
}

/* The orders in which the first `placed` dims are those of entry.order. */
static void permute(struct search *s, int placed, void (*visit)(struct search *search))
{
    uint8_t *order = s->entry.order;
    if (placed == DIMS) {
        if (memcmp(order, plain, sizeof plain) != 0 && copy_fits(s))
            visit(s);
        return;
    }
    for (int i = placed; i < DIMS && !search_is_over(s); i++) {
        uint8_t kept = order[placed];
        order[placed] = order[i];
        order[i] = kept;
        permute(s, placed + 1, visit);
        order[i] = order[placed];
        order[placed] = kept;
    }
}

void orders_each(struct search *s, void (*visit)(struct search *search))
{
    if (entry_copies(s->entry.reference->name)) {
        permute(s, 0, visit);
    } else if (has_heads(s)) {
        memcpy(s->entry.order, heads_first, sizeof heads_first);
        visit(s);
    }
    memcpy(s->entry.order, plain, sizeof plain);
}
