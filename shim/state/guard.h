/*
 * guard.h - rows of a cache that an append must leave alone: they join the snapshot of its check,
 * before the launch and after it, as arrays without a formal (bound_array.guard).
 *
 * Of a cache with touched rows ([@slots]): the row behind each row that is written, the first one,
 * the one in front of it, where that lies in the same memory, and, where the entry gives the number
 * of rows, the last one, some that sequences have, and some at random. Program's thread; queries of
 * the driver alone.
 */
#ifndef STATE_GUARD_H
#define STATE_GUARD_H

#include "value/bound.h"

enum { GUARD_LIVE = 4 };

struct guard_request {
    int64_t rows;        /* of the cache; 0: not known */
    uint64_t seed;       /* draws */
    const int64_t *live; /* GUARD_LIVE rows that sequences have, -1: none; or NULL */
    int device;
};

/* Adds to the binding what there is room for. */
struct binding_plan;
void guard_add(const struct binding_plan *plan, struct binding *binding,
               const struct guard_request *request);

/* The row that element `col` of row `at` of the guard's copy is of. For those behind written rows
 * `at` is the index of the written row in the array that names it. */
static inline int64_t guard_row(const struct binding *binding, const struct bound_array *guard,
                                int64_t at, int64_t col)
{
    const struct bound_rows *rows = &binding->array[guard->guard - 1].rows;
    bool is_run = rows->runs > 1 || guard->ndim == 1;
    return guard->first + (is_run ? col / rows->run : at);
}

#endif
