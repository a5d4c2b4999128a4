/*
 * reader.h - what the parts of the reader share: the module with its private side, and which part
 * reads what.
 *
 * The parts are: module.c (the outermost level), function.c (headers, parameters, prototypes),
 * variable.c and initial.c (variables and their values), location.c (.file, .loc, .debug_str),
 * body.c (scopes, labels, instructions), operand.c, call.c and word.c. A part reads from the cursor
 * and leaves it behind what it read. After an error the cursor is anywhere.
 */
#ifndef PTX_READER_H
#define PTX_READER_H

#include "ptx/text/lexer.h"
#include "ptx/names.h"
#include "ptx/ptx.h"
#include "ptx/store.h"

enum {
    PARAMS_MAX = 4096,       /* of a function */
    OPERANDS_MAX = 1024,     /* in one list */
    SCOPES_MAX = 128,        /* inside each other */
    REGISTERS_MAX = 1 << 20, /* of a function */
    FILES_MAX = 1 << 20,
    DIMENSIONS_MAX = 16,
    NESTED_MAX = 8, /* brackets of an operand */
};

/* Where a function's text begins, behind its '{'. */
struct body_place {
    const char *at;
    unsigned line;
};

struct reader {
    struct ptx_module module; /* first: what callers hold is a pointer to it */
    struct cursor cursor;
    char *text;
    struct store store;
    struct names names;
    struct list functions; /* struct ptx_function */
    struct list places;    /* struct body_place, one for each function */
    struct list variables; /* struct ptx_variable */
    struct list files;     /* const char *, by the number that .file gives */
    struct list aliases;   /* struct alias, module.c */
    struct list locations; /* const struct ptx_location *, in the order of the text */
    size_t initial_bytes;  /* of all initial values */
    const struct ptx_function **functions_by_name;
    const struct ptx_variable **variables_by_name;
    /* Room used again and again; empty between uses. */
    struct list bytes, relocations, operands, registers, locals, fixups, params;
};

/* variable.c: .align, type, vector and the like, up to the name. */
struct declaration {
    enum ptx_space space;
    enum ptx_type type;
    unsigned vector;
    size_t align; /* 0: natural */
    bool is_extern, is_visible, is_weak;
    unsigned line;
};
/* `space` is read already; the rest of `declaration` but space, flags and line is filled in. */
enum status declaration_read(struct reader *r, struct declaration *declaration);
/* One name with its dimensions and, at the module's level, its initial value. */
enum status variable_read(struct reader *r, const struct declaration *declaration,
                          bool may_have_value, struct ptx_variable *variable);

/* initial.c: the value behind '='. A first dimension of 0 is found out. Sets the
 * variable's bytes, data and relocations. */
enum status initial_read(struct reader *r, struct ptx_variable *variable,
                         const uint64_t *dimensions, unsigned dimension_count);

/* function.c: what stands behind .entry or .func up to '{' or ';'. The name is `name`. */
enum status function_header(struct reader *r, struct ptx_function *function, struct name **name);
/* .callprototype: (results) _ (params) */
enum status prototype_read(struct reader *r, struct ptx_prototype *prototype);

/* function.c: .pragma "A", "B"; which changes nothing here. */
enum status pragma_skip(struct reader *r);

/* location.c */
enum status location_file(struct reader *r);    /* .file */
enum status location_section(struct reader *r); /* .section */
/* .loc; gives the former location again where nothing changed. */
enum status location_line(struct reader *r, const struct ptx_location **location);

/* word.c: an instruction without its operands; the result lives as long as the module. */
enum status word_shape(struct reader *r, struct slice word, const struct ptx_instruction **shape);

/* Shared by the parts of a body. */
struct body {
    struct reader *r;
    struct ptx_function *function;
    struct ptx_instruction *instructions;
    unsigned count, room;
    const struct ptx_location *location;
    size_t scope_fixups[SCOPES_MAX + 1]; /* the first fixup of each scope */
    unsigned depth;
    unsigned nested; /* brackets that an operand is in */
};

/* Something that is to be set once the scope's labels (or the function's variables) are known. */
enum fixup_kind {
    FIXUP_LABEL,     /* operand: a PTX_LABEL whose name is known */
    FIXUP_LOCAL,     /* operand: a PTX_ADDRESS_OF; target is the variable's index */
    FIXUP_PROTOTYPE, /* instruction: a call; name is the prototype's */
};
struct fixup {
    enum fixup_kind kind;
    unsigned line;
    struct ptx_operand *operand;
    unsigned instruction;
    const struct name *name;
};

/* operand.c: reads operands up to `end` (';' or ')'), passes it, and appends them to r->operands.
 */
enum status operands_read(struct body *b, char end);
/* One operand, appended to r->operands. */
enum status operand_read(struct body *b);
/* A label's name, appended to r->operands. */
enum status operand_label(struct body *b);
/* Takes the operands from `first` on off r->operands into the module's memory. */
enum status operands_keep(struct body *b, size_t first, const struct ptx_operand **operands,
                          unsigned *count);

/* call.c: the operands of a call, up to and with ';'. */
enum status call_read(struct body *b, struct ptx_instruction *call);
/* What stands behind a label: .branchtargets, .callprototype, .calltargets; with ';'. */
enum status label_list_read(struct body *b, struct slice directive, struct name *label);

#endif
