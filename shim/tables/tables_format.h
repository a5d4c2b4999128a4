/*
 * tables_format.h - how the build puts tables of kernels into the library: entries as trees that
 * are parsed, with aliases followed, beside the words that their kernels' names must hold.
 *
 * Written by tools/dev/tablegen.c, read by tables.c; both belong to one build. Nothing in it is an
 * address, so that the loader changes none of it and only pages that are used are read. Each list
 * is aligned to 8 bytes; places are bytes from the header on.
 */
#ifndef TABLES_TABLES_FORMAT_H
#define TABLES_TABLES_FORMAT_H

#include <stdint.h>
#include "names/name_need.h"

struct tables_list {
    uint32_t at, count;
};

struct tables_header {
    struct tables_list entries;    /* struct tables_entry: a later one wins */
    struct tables_list words;      /* struct tables_word */
    struct tables_list nodes;      /* struct tables_node */
    struct tables_list sections;   /* struct tables_section, in the order of the files */
    struct tables_list references; /* uint32_t: texts, the names of all that entries use */
    struct tables_list texts;      /* bytes; each text ends with a NUL */
};

enum {
    TABLES_CALL = 1,     /* of library calls */
    TABLES_AT_START = 2, /* has keys that must be known before its kernel is */
    TABLES_WHOLE = 4,    /* of a word: a whole identifier */
};

struct tables_entry {
    uint32_t node;
    uint32_t file, pattern; /* texts */
    uint16_t flags;
    uint16_t words; /* 0: nothing is known of the names */
    uint16_t word[NAME_WORDS];
};

struct tables_word {
    uint32_t text, flags;
};

/* Children stand one behind the other: items; or key, value, key, value. */
struct tables_node {
    uint32_t line;
    uint16_t column;
    uint8_t kind, style;
    uint32_t count; /* items, pairs */
    uint32_t value; /* a scalar's text; else the number of the first child */
};

enum { TABLES_QUOTED = 1, TABLES_LITERAL = 2 }; /* style */

enum tables_part { TABLES_BUILT_IN_TOLERANCES, TABLES_TOLERANCES, TABLES_PARITY };

/* The value of one of a file's other keys. */
struct tables_section {
    uint32_t node, file, part;
};

#endif
