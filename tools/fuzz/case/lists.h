/*
 * lists.h - a struct that lists arrays, of which each block of a launch does a part: key `lists` of
 * a `fuzz` mapping. What a case has of them: how many arrays, their lengths, and the two tables by
 * which a block finds its array and its part. One thread.
 */
#ifndef TOOLS_FUZZ_LISTS_H
#define TOOLS_FUZZ_LISTS_H

#include "tools/fuzz/case/case.h"

/* Draws lengths and writes lengths and tables into the parameters; gives lists.blocks its value.
 * Nothing where the rule has no lists. STATUS_INVALID: they do not fit the struct. */
enum status fuzz_lists_make(struct fuzz_case *c, struct error *err);

/* The extent of the arrays that one field lists: rows of one length, far enough apart for guards.
 */
void fuzz_lists_shape(const struct fuzz_case *c, struct fuzz_extent *out);

/* Whether element `index` of the extent lies within its array's length; of other extents all do. */
bool fuzz_lists_has(const struct fuzz_case *c, const struct fuzz_extent *array, int64_t index);

/* Addresses of a field, one for each array; 1 of one that is no list. */
unsigned fuzz_lists_addresses(const struct fuzz_case *c, const struct signature_item *item);

/* Bytes from the extent's address to that of array `number`. */
uint64_t fuzz_lists_at(const struct fuzz_extent *array, unsigned number);

#endif
