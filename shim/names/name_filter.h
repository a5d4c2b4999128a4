/*
 * name_filter.h - which of many patterns may name a symbol, found out in one pass over it, without
 * demangling it.
 *
 * A pattern is left out where the symbol lacks one of the words that it needs (name_need.h). The
 * filter errs on one side alone: a pattern that is left out does not name the symbol.
 *
 * Life: a zeroed struct is empty; name_filter_add for each pattern, then immutable, any thread.
 */
#ifndef NAMES_NAME_FILTER_H
#define NAMES_NAME_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "names/name_need.h"

/* Words past so many are not searched for: patterns that need them are tried on more symbols. */
enum { NAME_FILTER_WORDS = 16384 };

struct filter_word {
    const char *text;
    uint64_t hash;
    uint32_t length;
    uint32_t first,
        patterns;  /* that are listed under it: the number behind the last, and how many */
    uint16_t next; /* with a beginning of the same place; 0: none */
};

struct filter_pattern {
    uint16_t word[NAME_WORDS]; /* numbers; 0 is the word that all symbols have */
    uint32_t owner;
    uint32_t next; /* under the same word, as word.first; 0: none */
};

struct name_filter {
    struct arena arena; /* words of patterns that were read from texts */
    struct filter_word *word;
    size_t words, word_room;
    struct filter_pattern *pattern;
    size_t patterns, pattern_room;
    uint16_t *place; /* of each word by its hash: open addressing, a power of two; 0: free */
    uint16_t *begin; /* the first of the parts whose beginnings have this place; as large */
    size_t places;
    size_t shortest, longest; /* of whole words; 0: none */
};

/* `owner` is the caller's. Patterns keep the order in which they are added. False: no memory. */
bool name_filter_add(struct name_filter *filter, const char *pattern, uint32_t owner);

/* The same in two steps, where words are known. A word (its text stays the caller's, as long as the
 * filter) has one number however often it is added; 0: it is one too many, which may stand in
 * `number` as well. Words past NAME_WORDS do not count. */
bool name_filter_word(struct name_filter *filter, const char *text, bool whole, uint16_t *number);
bool name_filter_pattern(struct name_filter *filter, const uint16_t *number, size_t numbers,
                         uint32_t owner);

void name_filter_release(struct name_filter *filter);

/* The words that a symbol holds. */
struct name_found {
    uint64_t bit[NAME_FILTER_WORDS / 64];
};

/* No lock, no allocation. */
void name_filter_look(const struct name_filter *filter, const char *symbol,
                      struct name_found *found);

/* The last pattern before *at that may name the symbol: *owner, and *at is its place. False: there
 * is none. Begin with *at = filter->patterns. */
bool name_filter_before(const struct name_filter *filter, const struct name_found *found,
                        size_t *at, uint32_t *owner);

/* False: no pattern names the symbol, in any of its forms. As name_filter_look(). */
bool name_filter_may(const struct name_filter *filter, const char *symbol);

#endif
