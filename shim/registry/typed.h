/*
 * typed.h - types that a launch's parameters hold: an entry's `types`.
 *
 *     types:
 *       T: {word: kind, is: [u8, i8, none, i32]}
 *
 * The integer `kind` of the parameter list is 0 where T is u8, 1 where it is i8, and so on;
 * launches with `none`, or beyond the list, are not checked. Until a launch is seen T is the first
 * type of the list, which serves for all that does not depend on it.
 *
 *       T: {of: x}
 *
 * T is what the kernel's code reads or writes behind the array `x`; a kernel whose code does not
 * show it has no such entry.
 */
#ifndef REGISTRY_TYPED_H
#define REGISTRY_TYPED_H

#include "base/arena.h"
#include "lang/signature.h"
#include "system/yaml_doc.h"
#include "value/launch.h"

enum { TYPED_WORDS = 4, TYPED_CODES = 32 };

/* One of `types`. */
struct typed_word {
    const char *name; /* T */
    const char *word; /* an integer of the signature; NULL: it is the type of an array */
    const char *of;   /* the array; or NULL */
    unsigned codes;
    const char *type[TYPED_CODES]; /* NULL: none */
};

struct typed {
    unsigned count;
    bool by_code; /* all of them are those of arrays; else none is */
    struct typed_word word[TYPED_WORDS];
};

/* Where a launch holds the words of an entry. */
struct typed_places {
    unsigned count;
    struct {
        const struct signature_item *item;
        uint32_t start; /* of its parameter in the packed buffer */
    } place[TYPED_WORDS];
};

/* The mapping `types`; *out is the arena's, or NULL where node is. */
enum status typed_read(struct arena *arena, const struct yaml_node *node, const struct typed **out,
                       struct error *err);

/* Appends the types as captures: of the codes, or, where `codes` is NULL, the first of each list.
 * STATUS_INVALID: more names than captures may have, or a name that a group has as well. */
enum status typed_captures(const struct typed *typed, const uint8_t *codes,
                           struct captures *captures, struct error *err);

/* Appends the names alone, for checks before a kernel is seen; typed NULL is fine. */
enum status typed_open(const struct typed *typed, struct captures *captures, struct error *err);

/* STATUS_INVALID: a word is no integer of the parameter list. */
enum status typed_find(const struct typed *typed, const struct signature *signature,
                       const struct param_layout *layout, struct typed_places *out,
                       struct error *err);

/* Of types of arrays: appends them as the layout has them. `signature`: of the same entry, with any
 * types. STATUS_INVALID with a sentence: one is no array, or its type is not known to be f64, f32,
 * f16 or bf16: integer instructions move anything. */
enum status typed_seen(const struct typed *typed, const struct signature *signature,
                       const struct param_layout *layout, struct captures *captures,
                       struct error *err);

/* The codes of a launch. False with a sentence: one stands for no type, or cannot be read. */
bool typed_codes(const struct typed *typed, const struct typed_places *places,
                 const struct launch *launch, uint8_t codes[TYPED_WORDS], struct error *why);

#endif
