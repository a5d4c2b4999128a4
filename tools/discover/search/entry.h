/*
 * entry.h - a registry entry as it is guessed: which formal each array and scalar stands for, and
 * an expression for each dim. A value; entry_print writes it in the registry's language.
 */
#ifndef TOOLS_DISCOVER_ENTRY_H
#define TOOLS_DISCOVER_ENTRY_H

#include "lang/formals.h"
#include "refs/abi/ref_list.h"
#include "text/textbuf.h"
#include "tools/discover/facts/facts.h"

/* An integer of a launch: one, or two that are combined. */
enum extent_atom {
    ATOM_NUMBER, /* `number` */
    ATOM_FACT,   /* the integer parameter `number` */
    ATOM_GRID,   /* grid.x, .y, .z by `number` */
    ATOM_BLOCK,
};
struct extent_part {
    enum extent_atom atom;
    int64_t number;
};
struct extent {
    struct extent_part part[2];
    char operation; /* 0: the first part alone; '*' or '/' */
};

/* Its value in a launch; -1: it has none (a division with a rest, an overflow, less than 1). */
int64_t extent_value(const struct extent *extent, const struct facts *facts,
                     const struct seen_sample *sample);

enum { ENTRY_UNBOUND = -1, ENTRY_CONSTANT = -2, ENTRY_ORDER = 4 /* dims */ };

struct entry {
    const struct facts *facts;
    const struct ref_builtin *reference;
    const struct formals *formals;
    /* By formal: the parameter, ENTRY_UNBOUND, or ENTRY_CONSTANT: a number of the code's own. */
    int16_t bound[FORMALS_MAX];
    const char *constant[FORMALS_MAX]; /* that number */
    bool rounded[FORMALS_MAX];         /* of a place where a kernel may round: to 16 bits */
    int16_t pitch[FORMALS_MAX]; /* the integer that is the distance between rows, of two dims */
    struct extent size[REF_MAX_SIZES]; /* by size name */
    bool sized[REF_MAX_SIZES];         /* that an array has */
    /* The dims of laid-out arrays (entry_is_laid) in their order in memory. */
    uint8_t order[ENTRY_ORDER];
};

/* "version: 1 ... kernels:" is not part of it. `indent` stands before each line ("", or "# "). */
void entry_print(const struct entry *entry, const char *indent, struct textbuf *out);

/* The entry of a kernel for which nothing fits, as far as it is known. */
void entry_print_unknown(const struct facts *facts, const char *indent, struct textbuf *out);

/* Whether it is an integer that no dim, no formal and no array uses. */
bool entry_is_idle(const struct entry *entry, unsigned fact);

/* The 16-bit type of an output, to which the kernel may round on the way; DTYPE_NONE: none is. */
enum dtype entry_half(const struct entry *entry);

/* Whether it is an array [a][time][heads][b], which may lie with the heads in front of the time. */
bool entry_has_heads(const struct entry *entry, const struct formal *formal);

/* Of a dim whose items another formal names: that clause; NULL: it is none. */
const struct formal_touch *entry_touch(const struct formals *formals, int size);

/* Whether the reference copies its input, of four dims, in the order that strides give. */
bool entry_copies(const char *reference);

/* Whether it is an array that the kernel writes and no formal stands for: it is not judged. */
bool entry_leaves(const struct entry *entry, unsigned fact);

/* Its oddities: integer parameters that no dim and no formal uses, arrays that the code does not
 * read although the reference does, places where it rounds, outputs that are not judged. */
unsigned entry_oddities(const struct entry *entry);

/* How many of its dims are products or quotients. */
unsigned entry_combined(const struct entry *entry);

#endif
