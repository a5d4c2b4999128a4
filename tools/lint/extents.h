/*
 * extents.h - stores at a thread's number in the grid against the arrays of cases that the entry's
 * `fuzz` mapping makes.
 *
 * One thread. The first call of lint_extent_of() that needs the cases draws them;
 * lint_extents_free() frees them.
 */
#ifndef LINT_EXTENTS_H
#define LINT_EXTENTS_H

#include "tools/lint/kernel.h"

struct fuzz_case;

struct lint_extents {
    const struct lint_kernel *k;
    struct arena arena;
    struct fuzz_case *cases;
    unsigned count;
    bool made;
};

enum lint_extent {
    LINT_EXTENT_UNKNOWN, /* or kept within the array */
    LINT_EXTENT_OPEN,    /* nothing holds it within a size that a parameter gives */
    LINT_EXTENT_PASSED,  /* it passes the end of the array in a case */
};

/* What is known of the store; of one that passes the end `text` has the case. */
enum lint_extent lint_extent_of(struct lint_extents *e, const struct lint_access *store, char *text,
                                size_t room);
void lint_extents_free(struct lint_extents *e);

#endif
