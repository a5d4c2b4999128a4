/* search.h - for candidates.c and dims.c: the search for the entries of one kernel. */
#ifndef TOOLS_DISCOVER_SEARCH_H
#define TOOLS_DISCOVER_SEARCH_H

#include "tools/discover/search/candidates.h"
#include "tools/discover/search/extents.h"

enum { FIRST_PASS = 12, SECOND_PASS = 48 }; /* entries of one reference */

struct search {
    struct entry entry;
    struct formals formals;
    const struct extents *extents;
    candidates_fn visit;
    void *user;
    unsigned hint, visited, steps, all_steps, calls; /* calls: of assign_next, for the reference */
    unsigned chosen[REF_MAX_SIZES];                  /* the extents of entry.size */
    int16_t named[REF_MAX_SIZES]; /* the extent whose name is the dim's; -1: there is none */
    bool by_name;                 /* dims with a name of their own have that extent */
    bool second;                  /* pass */
    int64_t until;                /* when it ends, by clock_ns() */
    unsigned plain;               /* entries of a reference without oddities */
    bool stop;
};

/* Of one reference. */
static inline bool search_is_over(const struct search *search)
{
    return search->stop || search->visited >= (search->second ? SECOND_PASS : FIRST_PASS);
}

/* Each formal is bound, or will not be: finds dims for the arrays, and visits each entry. */
void dims_find(struct search *search);

#endif
