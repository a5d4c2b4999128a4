/*
 * name_need.h - words that each symbol which a pattern names must hold.
 *
 * An identifier of a demangled name stands letter for letter in the mangled one. So most patterns
 * have words that no symbol which they name lacks: a whole identifier of an exact name, parts of
 * identifiers of a glob or regex.
 */
#ifndef NAMES_NAME_NEED_H
#define NAMES_NAME_NEED_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"

enum { NAME_WORDS = 6 };

struct name_need {
    unsigned words; /* 0: nothing is known of the symbols */
    struct {
        const char *text;
        bool whole;     /* a whole identifier; else a part of one */
    } word[NAME_WORDS]; /* the longest first */
};

/* `pattern` is a text as pattern.h has them; words are the arena's. Without memory they are fewer.
 */
void name_need_find(struct name_need *out, struct arena *arena, const char *pattern);

/* How many letters, digits, _ and $ the text begins with. */
size_t name_run(const char *text);

#endif
