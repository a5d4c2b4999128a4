/* variable.c - declarations of variables and parameters. */
#include "ptx/reader.h"

#include <string.h>

#include "ptx/text/constant.h"
#include "ptx/text/types.h"

enum { ALIGN_MAX = 1 << 16 };
#define BYTES_MAX (UINT64_C(1) << 40)

static enum status read_align(struct reader *r, size_t *align)
{
    uint64_t value = 0;
    lex_peek(&r->cursor);
    struct cursor before = r->cursor;
    enum status status = constant_count(&r->cursor, ALIGN_MAX, "an alignment", &value);
    if (status)
        return status;
    if (value == 0 || (value & (value - 1)) != 0) {
        r->cursor = before;
        return lex_fail(&r->cursor, "an alignment that is a power of two");
    }
    *align = value;
    return STATUS_OK;
}

/* .ptr [.space] [.align N]: what a parameter points to, of no use here. */
static enum status skip_pointee(struct reader *r)
{
    struct cursor *c = &r->cursor;
    enum status status = STATUS_OK;
    while (!status && lex_peek(c) == '.') {
        size_t align;
        struct slice word = lex_directive(c);
        if (slice_is(word, "align"))
            status = read_align(r, &align);
        else if (space_named(word) == PTX_GENERIC)
            return lex_refuse(c, c->line, "found '.%.*s' after .ptr, expected a space or .align",
                              (int)(word.length < 32 ? word.length : 32), word.begin);
    }
    return status;
}

/* .attribute(.managed), .attribute(.unified(1, 2)) */
static enum status skip_attribute(struct reader *r)
{
    struct cursor *c = &r->cursor;
    enum status status = lex_expect(c, '(', "'(' after .attribute");
    for (unsigned depth = 1; depth && !status; c->at += !status) {
        char next = lex_peek(c);
        if (next == '(')
            depth++;
        else if (next == ')')
            depth--;
        else if (!next || strchr(";{}", next))
            return lex_fail(c, "')' after .attribute(");
    }
    return status;
}

/* .const[3], the numbered banks of old. */
static enum status skip_bank(struct reader *r)
{
    uint64_t bank;
    if (!lex_accept(&r->cursor, '['))
        return STATUS_OK;
    enum status status = constant_count(&r->cursor, 10, "the number of a bank", &bank);
    return status ? status : lex_expect(&r->cursor, ']', "']' after the number of a bank");
}

static enum status read_directive(struct reader *r, struct declaration *declaration)
{
    struct cursor *c = &r->cursor;
    struct cursor before = *c;
    struct slice word = lex_directive(c);
    if (slice_is(word, "align"))
        return read_align(r, &declaration->align);
    if (slice_is(word, "attribute"))
        return skip_attribute(r);
    if (slice_is(word, "ptr") && declaration->space == PTX_PARAM)
        return skip_pointee(r);
    unsigned vector = vector_named(word);
    enum ptx_type type = type_named(word);
    if (vector && declaration->vector == 1) {
        declaration->vector = vector;
    } else if (type && !declaration->type) {
        declaration->type = type;
    } else if ((slice_is(word, "texref") || slice_is(word, "samplerref") ||
                slice_is(word, "surfref")) &&
               !declaration->type) {
        declaration->type = PTX_B64; /* a handle, opaque to the program */
    } else {
        *c = before;
        return lex_fail(c, declaration->type ? "a name" : "a type such as .b32, or .align");
    }
    return STATUS_OK;
}

enum status declaration_read(struct reader *r, struct declaration *declaration)
{
    struct cursor *c = &r->cursor;
    declaration->type = PTX_NO_TYPE;
    declaration->vector = 1;
    declaration->align = 0;
    enum status status = declaration->space == PTX_CONST ? skip_bank(r) : STATUS_OK;
    while (!status && lex_peek(c) == '.')
        status = read_directive(r, declaration);
    if (!status && !declaration->type)
        return lex_fail(c, "a type such as .b32");
    bool predicate = declaration->type == PTX_PRED && declaration->space == PTX_GENERIC;
    if (!status && ptx_type_bits(declaration->type) < 8 && !predicate)
        return lex_refuse(c, c->line, "found a variable of type .%s, expected a type with bytes",
                          ptx_type_name(declaration->type));
    return status;
}

static enum status read_dimensions(struct reader *r, uint64_t *dimensions, unsigned *count)
{
    struct cursor *c = &r->cursor;
    enum status status = STATUS_OK;
    while (!status && lex_accept(c, '[')) {
        if (*count == DIMENSIONS_MAX)
            return lex_fail(c, "at most %d dimensions", DIMENSIONS_MAX);
        int64_t size = 0;
        if (*count == 0 && lex_peek(c) == ']') {
            c->at++;
            dimensions[(*count)++] = 0;
            continue;
        }
        status = constant_whole(c, "the size of an array", &size);
        if (!status && (size < 0 || (uint64_t)size > BYTES_MAX))
            return lex_refuse(c, c->line, "found an array of size %lld, expected 0 to 2^40",
                              (long long)size);
        dimensions[(*count)++] = (uint64_t)size;
        if (!status)
            status = lex_expect(c, ']', "']' after the size of an array");
    }
    return status;
}

/* A dimension of 0 may become more with an initial value, so it does not hide the others' size. */
static enum status find_bytes(struct cursor *c, const uint64_t *dimensions, unsigned count,
                              struct ptx_variable *variable)
{
    uint64_t bytes = ptx_type_bits(variable->type) / 8 * variable->vector;
    bool empty = false;
    for (unsigned i = 0; i < count; i++) {
        empty |= dimensions[i] == 0;
        if (__builtin_mul_overflow(bytes, dimensions[i] ? dimensions[i] : 1, &bytes) ||
            bytes > BYTES_MAX)
            return lex_refuse(c, c->line,
                              "found '%.60s' with more than 2^40 bytes, expected a smaller array",
                              variable->name);
    }
    variable->bytes = empty ? 0 : bytes;
    return STATUS_OK;
}

enum status variable_read(struct reader *r, const struct declaration *declaration,
                          bool may_have_value, struct ptx_variable *variable)
{
    struct cursor *c = &r->cursor;
    struct slice text = lex_name(c);
    if (!text.length)
        return lex_fail(c, "the name of a variable");
    struct name *name = names_put(&r->names, &r->store, text);
    if (!name)
        return lex_no_memory(c);
    uint64_t dimensions[DIMENSIONS_MAX + 1];
    unsigned count = 0;
    size_t element = ptx_type_bits(declaration->type) / 8;
    *variable = (struct ptx_variable){.name = name->text,
                                      .space = declaration->space,
                                      .type = declaration->type,
                                      .vector = declaration->vector,
                                      .is_extern = declaration->is_extern,
                                      .is_visible = declaration->is_visible,
                                      .is_weak = declaration->is_weak,
                                      .line = c->line};
    variable->align = declaration->align ? declaration->align : element * variable->vector;
    enum status status = read_dimensions(r, dimensions, &count);
    if (status)
        return status;
    variable->array = count > 0;
    status = find_bytes(c, dimensions, count, variable);
    if (status)
        return status;
    if (lex_peek(c) != '=')
        return STATUS_OK;
    if (!may_have_value)
        return lex_fail(c, "';' or ','; only .global and .const variables have initial values");
    c->at++;
    if (variable->vector > 1)
        dimensions[count++] = variable->vector;
    return initial_read(r, variable, dimensions, count);
}
