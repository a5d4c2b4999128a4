/* word.c - "ld.volatile.global.v2.u32" taken apart; each word of a module once. */
#include "ptx/reader.h"

#include <string.h>

#include "ptx/text/types.h"

/* One part between dots. "shared::cluster" counts as a space and leaves a modifier; a second space
 * (the source of a copy) stays as a modifier. */
static bool add_part(struct ptx_instruction *shape, char *part, size_t length)
{
    char *colons = strstr(part, "::");
    struct slice first = {part, colons ? (size_t)(colons - part) : length};
    enum ptx_space space = shape->space ? PTX_GENERIC : space_named(first);
    if (space) {
        shape->space = space;
        if (!colons || strcmp(colons, "::cluster") != 0)
            return true;
        part = colons + 2;
    } else if (!colons) {
        enum ptx_type type = type_named(first);
        unsigned vector = vector_named(first);
        if (vector) {
            shape->vector = vector;
            return true;
        }
        if (type) {
            if (shape->type_count == PTX_TYPES_MAX)
                return false;
            shape->types[shape->type_count++] = type;
            return true;
        }
    }
    if (shape->modifier_count == PTX_MODIFIERS_MAX)
        return false;
    shape->modifiers[shape->modifier_count++] = part;
    return true;
}

static enum status take_apart(struct reader *r, const struct name *name,
                              struct ptx_instruction *shape)
{
    struct cursor *c = &r->cursor;
    char shown[LEX_SHOWN];
    char *part = store_text(&r->store, name->text, name->length);
    if (!part)
        return lex_no_memory(c);
    shape->text = name->text;
    shape->opcode = part;
    shape->vector = 1;
    for (bool first = true; part; first = false) {
        char *dot = strchr(part, '.');
        if (dot)
            *dot = '\0';
        size_t length = strlen(part);
        if (length == 0)
            return lex_refuse(c, c->line, "found '%s', expected a word on each side of a dot",
                              lex_show((struct slice){name->text, name->length}, shown));
        if (!first && !add_part(shape, part, length))
            return lex_refuse(c, c->line, "found '%s', expected at most %d types and %d modifiers",
                              lex_show((struct slice){name->text, name->length}, shown),
                              PTX_TYPES_MAX, PTX_MODIFIERS_MAX);
        part = dot ? dot + 1 : NULL;
    }
    return STATUS_OK;
}

enum status word_shape(struct reader *r, struct slice word, const struct ptx_instruction **shape)
{
    struct name *name = names_put(&r->names, &r->store, word);
    if (!name)
        return lex_no_memory(&r->cursor);
    if (!name->shape) {
        struct ptx_instruction *made = store_zeroed(&r->store, sizeof *made);
        if (!made)
            return lex_no_memory(&r->cursor);
        enum status status = take_apart(r, name, made);
        if (status)
            return status;
        name->shape = made;
    }
    *shape = name->shape;
    return STATUS_OK;
}
