/*
 * user_ref.h - the references that a registry brings along: texts in the dialect of refs/ref.h,
 * inline or in a file, and what each declares.
 *
 * All of it is read with the registry, without a compiler: binding uses only a reference's formals.
 * Immutable afterwards, owned by the registry's arena. compiler.h gets code for texts.
 */
#ifndef REGISTRY_USER_REF_H
#define REGISTRY_USER_REF_H

#include <stdbool.h>
#include "base/arena.h"
#include "system/yaml_doc.h"
#include "refs/abi/ref_list.h"
#include "lang/ref_text.h"

enum { USER_TEXTS = 64, USER_TEXT_BYTES = 1 << 20 };

/* One text; it is compiled as a whole, with all that it declares. */
struct user_text {
    const char *text;
    const char *where;   /* "inline kernels.yaml:12", "source softsign.cu" */
    const char *file;    /* that has the lines of the text */
    const char *path;    /* source: its real path; inline: NULL */
    unsigned first_line; /* of the text in the file; 0: the file folds them into others */
    unsigned yaml_line;  /* inline: of the value */
    unsigned number;     /* dense, from 0 */
    unsigned declared;
    const struct ref_declaration *declaration;
};

/* One reference that an entry uses. */
struct user_reference {
    struct ref_builtin as_builtin; /* its name has its origin: "softsign (inline k.yaml:3)" */
    const struct user_text *text;
    unsigned declaration; /* index */
    unsigned number;      /* dense, from 0 */
};

struct user_references {
    unsigned texts, references;
    struct user_text *text[USER_TEXTS];
    struct user_reference **reference; /* grows in the registry's arena */
};

/* Reads the mapping of `reference:`. A reference that another entry has from the same source is
 * shared. STATUS_INVALID with file and line; STATUS_NO_MEMORY. Blocks on files. */
enum status user_reference_read(struct user_references *users, struct arena *arena,
                                const struct yaml_node *node, const struct ref_builtin **out,
                                struct error *err);

/* Finds what the text declares; fills `declared` and `declaration`. STATUS_INVALID with the line of
 * the file; STATUS_NO_MEMORY. */
enum status user_text_scan(struct user_text *text, struct arena *arena, struct error *err);

/* "kernels.yaml:14", where line `line` of the text (from 1) stands. */
void user_text_place(const struct user_text *text, int line, char *out, size_t size);

#endif
