/*
 * names.h - the names of a module, each stored once, and what they mean in the scope at hand.
 *
 * A name points to its innermost symbol, a symbol to the one that it hides. Symbols of depth 0 are
 * the module's and stay; names_leave() removes those of deeper scopes.
 */
#ifndef PTX_NAMES_H
#define PTX_NAMES_H

#include "ptx/text/lexer.h"
#include "ptx/ptx.h"
#include "ptx/store.h"

enum symbol_kind {
    SYMBOL_VARIABLE,  /* of the module: value is its index */
    SYMBOL_FUNCTION,  /* value is its index */
    SYMBOL_STRING,    /* of .debug_str; data: its text, value: the bytes up to the end of all */
    SYMBOL_SPECIAL,   /* a special register that the machine has */
    SYMBOL_PARAM,     /* data: struct ptx_variable, of the function */
    SYMBOL_REGISTER,  /* value: index in the function */
    SYMBOL_LOCAL,     /* value: index among the function's variables */
    SYMBOL_LABEL,     /* value: index of an instruction */
    SYMBOL_TARGETS,   /* .branchtargets; data: struct ptx_operand, a vector of labels */
    SYMBOL_PROTOTYPE, /* .callprototype, .calltargets; data: struct ptx_prototype */
};

struct name {
    uint32_t hash;
    uint32_t length;
    uint32_t symbol;                     /* the innermost; 0: none */
    const struct ptx_instruction *shape; /* what the name means as an instruction's word */
    char text[];
};

struct symbol {
    enum symbol_kind kind;
    unsigned depth;
    uint32_t value;
    uint32_t hidden; /* the symbol of the same name in an outer scope; 0: none */
    struct name *name;
    const void *data;
};

struct names {
    struct name **table;
    size_t count, room;  /* room is a power of two */
    struct list symbols; /* struct symbol; the first is unused */
    unsigned depth;
};

enum status names_init(struct names *names, struct store *store, struct cursor *c);
void names_release(struct names *names);

/* The name, new where need be; NULL: no memory. */
struct name *names_put(struct names *names, struct store *store, struct slice text);
/* NULL where nothing has that name. */
struct name *names_find(const struct names *names, struct slice text);
/* The name whose text is `text` (not a copy). */
struct name *name_of(const char *text);

/* The innermost symbol of a name (which may be NULL), or NULL. Valid until the next declaration. */
struct symbol *names_symbol(const struct names *names, const struct name *name);
/* Fails where the scope at hand has the name already. */
enum status names_declare(struct names *names, struct cursor *c, struct name *name,
                          enum symbol_kind kind, uint32_t value, const void *data);
/* What a symbol of this kind is called: "a register". */
const char *symbol_kind_text(enum symbol_kind kind);

void names_enter(struct names *names);
void names_leave(struct names *names);

#endif
