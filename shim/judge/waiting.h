/*
 * waiting.h - sealed checks that wait for their reference, sorted into groups: those that one
 * launch can take together (ref_batch), and when it is time to start one.
 *
 * Each launch between the program's kernels costs it some microseconds, whatever the launch does,
 * so a check waits a little for others that need the same kernel. A collection is made anew in each
 * of the collector's rounds, from the checks that wait then.
 */
#ifndef JUDGE_WAITING_H
#define JUDGE_WAITING_H

#include <stdbool.h>
#include "refs/abi/ref_abi.h"
#include "context/check.h"

enum { WAITING_GROUPS = 16 };

/* A group is no larger than this: it holds the GPU for some tens of microseconds at most. */
#define WAITING_BYTES (18ull << 20)
/* No check is held back for longer. */
#define WAITING_HOLD_NS 20000000ll

struct group {
    const struct side_reference *reference; /* the kernel that all of them need */
    struct check *check[REF_BATCH];         /* in the order in which they were added */
    int count;
    uint64_t bytes; /* of their snapshots */
    int64_t since;  /* when the first of them was sealed */
    bool full;      /* no check can be added: there is nothing to wait for */
    bool alone;     /* none may be added: among such ones the first launch comes first */
};

struct waiting {
    struct group group[WAITING_GROUPS];
    int groups;
    uint32_t checks; /* added */
    bool overflow;   /* there are more than fit in here */
};

void waiting_clear(struct waiting *waiting);

/* Adds a sealed check whose kernel is known (check.reference). `alone`: in a group of its own. */
void waiting_add(struct waiting *waiting, struct check *check, bool alone);

/* Of the groups that are due the one that waits longest, of those of one check that is to be alone
 * the one that was launched first, or NULL. Due are full groups, those that waited for
 * WAITING_HOLD_NS, and all groups with `hurry` or an overflow. */
const struct group *waiting_due(const struct waiting *waiting, int64_t now, bool hurry);

#endif
