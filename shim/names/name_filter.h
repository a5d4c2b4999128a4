/*
 * name_filter.h - which symbols cannot be named by any of many patterns, found out without
 * demangling them.
 *
 * An identifier of a demangled name stands letter for letter in the mangled one. So most patterns
 * have a word that each symbol which they name must hold: a whole identifier of an exact name, a
 * part of one of a glob or regex. The filter errs on one side alone: a symbol that it refuses is
 * named by no pattern.
 *
 * Life: a zeroed struct is empty; name_filter_add for each pattern, then immutable, any thread.
 */
#ifndef NAMES_NAME_FILTER_H
#define NAMES_NAME_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"

struct name_filter {
    struct arena arena;
    uint64_t *word; /* hashes of whole identifiers: open addressing, a power of two; 0: free */
    size_t words, room;
    size_t shortest, longest; /* of them */
    const char **part;
    size_t parts, part_room;
    bool any; /* a pattern without such a word: nothing can be refused */
};

/* What each symbol that a pattern names must hold. */
enum name_need { NEED_NOTHING, NEED_WORD, NEED_PART };

/* `text`: a pattern as pattern.h has them. *word is a text of the arena. */
enum name_need name_need(struct arena *arena, const char *text, const char **word);

/* Words of a regex, the longest first, that each symbol which it names holds, as many as there are;
 * 0 of other patterns. They are the arena's. */
enum { NAME_WORDS = 4 };
unsigned name_words(struct arena *arena, const char *text, const char *word[NAME_WORDS]);

/* False: no memory. */
bool name_filter_add(struct name_filter *filter, const char *pattern);
void name_filter_release(struct name_filter *filter);

/* False: no pattern names the symbol, in any of its forms. No lock, no allocation. */
bool name_filter_may(const struct name_filter *filter, const char *symbol);

#endif
