/*
 * places.h - addresses, and whether a load of shared memory meets the bytes of a store.
 *
 * Functions of an immutable flow: any thread.
 */
#ifndef LINT_PLACES_H
#define LINT_PLACES_H

#include "tools/lint/kernel.h"

enum { LINT_TERMS = 16 };

/* An address taken apart: variable, constant, and what is added. */
struct lint_place {
    const struct ptx_variable *variable;
    int64_t offset;
    uint32_t term[LINT_TERMS];
    unsigned terms;
    bool whole; /* nothing was too deep */
};

/* The bytes from one thread's address to the next one's; 0: not known. */
uint64_t lint_stride(const struct flow *flow, const struct lint_place *p);

/* Adds to a place that is {.whole = true}; depth 0. */
void lint_take_apart(const struct flow *flow, uint32_t value, struct lint_place *p, int depth);
bool lint_same_terms(const struct flow *flow, const struct lint_place *a,
                     const struct lint_place *b);
/* Whether both begin at the same part of dynamic shared memory. */
bool lint_same_bases(const struct flow *flow, const struct lint_place *a,
                     const struct lint_place *b);

/* Takes both addresses apart: whether they are known as places of one shared variable with the same
 * bases, so that their offsets can be compared. */
bool lint_one_variable(const struct flow *flow, const struct lint_access *store,
                       const struct lint_access *load, struct lint_place *s, struct lint_place *l);
/* Whether the load may read bytes that another thread stored. */
bool lint_may_meet(const struct flow *flow, const struct lint_access *store,
                   const struct lint_access *load);
/* Whether the same thread runs both, or reads what it stored. */
bool lint_same_thread(const struct flow *flow, const struct lint_access *store,
                      const struct lint_access *load);

#endif
