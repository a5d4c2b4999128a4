/*
 * operand.c - what instructions work on.
 *
 * Operands are gathered on r->operands, which moves as it grows, and taken from there into the
 * module's memory once their list is whole. Names that may be labels, and variables of the function
 * (whose list grows, too), are settled later: operands_keep() notes a fixup for each.
 */
#include "ptx/reader.h"

#include <string.h>

#include "ptx/text/constant.h"

static const char expected[] = "an operand";

static struct ptx_operand *add(struct body *b, enum ptx_operand_kind kind)
{
    struct ptx_operand *operand = list_add(&b->r->operands, sizeof *operand);
    if (operand)
        *operand = (struct ptx_operand){.kind = kind};
    return operand;
}

static struct ptx_operand *operand_at(struct body *b, size_t at)
{
    return (struct ptx_operand *)b->r->operands.items + at;
}

static enum status add_fixup(struct body *b, enum fixup_kind kind, struct ptx_operand *operand)
{
    struct fixup *fixup = list_add(&b->r->fixups, sizeof *fixup);
    if (!fixup)
        return lex_no_memory(&b->r->cursor);
    *fixup = (struct fixup){.kind = kind, .line = b->r->cursor.line, .operand = operand};
    if (kind == FIXUP_LABEL)
        fixup->name = name_of(operand->name);
    return STATUS_OK;
}

enum status operands_keep(struct body *b, size_t first, const struct ptx_operand **operands,
                          unsigned *count)
{
    struct list *list = &b->r->operands;
    *count = (unsigned)(list->count - first);
    *operands = NULL;
    if (!*count)
        return STATUS_OK;
    struct ptx_operand *kept =
        store_copy(&b->r->store, operand_at(b, first), *count * sizeof *kept);
    if (!kept)
        return lex_no_memory(&b->r->cursor);
    list->count = first;
    *operands = kept;
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < *count && !status; i++) {
        if (kept[i].kind == PTX_LABEL)
            status = add_fixup(b, FIXUP_LABEL, &kept[i]);
        else if (kept[i].kind == PTX_ADDRESS_OF && !kept[i].variable)
            status = add_fixup(b, FIXUP_LOCAL, &kept[i]);
    }
    return status;
}

/* Something named in the text; a name that means nothing yet may be a label further down. */
static enum status resolve(struct body *b, struct slice text, const struct name *name,
                           struct ptx_operand *operand)
{
    struct reader *r = b->r;
    char shown[LEX_SHOWN];
    const struct symbol *symbol = names_symbol(&r->names, name);
    if (!symbol) {
        if (*text.begin == '%')
            return lex_refuse(&r->cursor, r->cursor.line,
                              "found register '%s', expected one that a .reg declares",
                              lex_show(text, shown));
        operand->kind = PTX_LABEL;
        operand->name = name->text;
        return STATUS_OK;
    }
    operand->name = name->text;
    switch (symbol->kind) {
    case SYMBOL_REGISTER:
        operand->kind = PTX_REGISTER;
        operand->reg = symbol->value;
        operand->name = NULL;
        break;
    case SYMBOL_LOCAL:
        operand->kind = PTX_ADDRESS_OF;
        operand->target = symbol->value;
        break;
    case SYMBOL_PARAM:
        operand->kind = PTX_ADDRESS_OF;
        operand->variable = symbol->data;
        break;
    case SYMBOL_VARIABLE:
        operand->kind = PTX_ADDRESS_OF;
        operand->variable = &r->module.variables[symbol->value];
        break;
    case SYMBOL_FUNCTION:
        operand->kind = PTX_FUNCTION;
        break;
    case SYMBOL_SPECIAL:
        operand->kind = PTX_SPECIAL;
        break;
    default:
        operand->kind = PTX_LABEL;
        break;
    }
    return STATUS_OK;
}

/* .x of a special register, .b0 to .h1 of a register. */
static enum status read_selector(struct body *b, struct ptx_operand *operand, const char *whole)
{
    struct reader *r = b->r;
    struct cursor *c = &r->cursor;
    struct slice selector = lex_directive(c), text = selector;
    if (!selector.length)
        return lex_fail(c, "',' or ';'");
    if (operand->kind == PTX_SPECIAL)
        text = (struct slice){whole, (size_t)(c->at - whole)};
    else if (operand->kind != PTX_REGISTER || selector.length != 2 ||
             !strchr("bh", *selector.begin))
        return lex_refuse(c, c->line, "found '.%.*s' behind an operand, expected ',' or ';'",
                          (int)(selector.length < 32 ? selector.length : 32), selector.begin);
    struct name *name = names_put(&r->names, &r->store, text);
    if (!name)
        return lex_no_memory(c);
    operand->name = name->text;
    return STATUS_OK;
}

/* A name and its selector, without what may follow. */
static enum status read_named(struct body *b, struct ptx_operand *operand)
{
    struct reader *r = b->r;
    struct cursor *c = &r->cursor;
    struct slice text = lex_name(c);
    if (!text.length)
        return lex_fail(c, "%s", expected);
    if (text.length == 1 && *text.begin == '_') {
        operand->kind = PTX_SINK;
        return STATUS_OK;
    }
    const struct name *name = names_find(&r->names, text);
    if (!name && *text.begin != '%') {
        name = names_put(&r->names, &r->store, text);
        if (!name)
            return lex_no_memory(c);
    }
    enum status status = resolve(b, text, name, operand);
    return !status && *c->at == '.' ? read_selector(b, operand, text.begin) : status;
}

/* +8, -8, +-8 */
static enum status read_offset(struct body *b, int64_t *offset)
{
    struct cursor *c = &b->r->cursor;
    *offset = 0;
    if (lex_peek(c) != '+' && *c->at != '-')
        return STATUS_OK;
    return constant_whole(c, "an offset", offset);
}

static enum status read_immediate(struct body *b, struct ptx_operand *operand)
{
    struct constant value = {0};
    enum status status = constant_read(&b->r->cursor, expected, &value);
    operand->kind = PTX_IMMEDIATE;
    operand->immediate_type = value.type;
    operand->bits = value.bits;
    return status;
}

/* [a], [a+8], and with coordinates behind a comma: [map, {x, y}]; '[' is passed. */
static enum status read_memory(struct body *b)
{
    struct reader *r = b->r;
    struct cursor *c = &r->cursor;
    struct ptx_operand base = {0}, memory = {.kind = PTX_MEMORY};
    bool named = lex_is(lex_peek(c), LEX_FIRST);
    size_t first = r->operands.count;
    enum status status = named ? read_named(b, &base) : read_immediate(b, &base);
    if (!status && named)
        status = read_offset(b, &memory.offset);
    if (status)
        return status;
    if (base.kind == PTX_IMMEDIATE && constant_is_float(&(struct constant){base.immediate_type, 0}))
        return lex_refuse(c, c->line,
                          "found a floating-point number as an address, "
                          "expected a whole one");
    struct ptx_operand *place = add(b, base.kind);
    if (!place)
        return lex_no_memory(c);
    *place = base;
    if (lex_accept(c, ','))
        status = operands_read(b, ']');
    else
        status = lex_expect(c, ']', "'+', ',' or ']' in an address");
    if (!status)
        status = operands_keep(b, first, &memory.items, &memory.count);
    place = status ? NULL : add(b, PTX_MEMORY);
    if (place)
        *place = memory;
    return status || place ? status : lex_no_memory(c);
}

/* {a, b}; '{' is passed. */
static enum status read_vector(struct body *b)
{
    struct reader *r = b->r;
    size_t first = r->operands.count;
    struct ptx_operand vector = {.kind = PTX_VECTOR};
    enum status status = operands_read(b, '}');
    if (!status)
        status = operands_keep(b, first, &vector.items, &vector.count);
    struct ptx_operand *place = status ? NULL : add(b, PTX_VECTOR);
    if (place)
        *place = vector;
    return status || place ? status : lex_no_memory(&r->cursor);
}

/* The q of p|q; `p` is the last operand on the list and becomes the pair. */
static enum status read_pair(struct body *b)
{
    struct reader *r = b->r;
    size_t first = r->operands.count - 1;
    struct ptx_operand other = {0}, pair = {.kind = PTX_PAIR};
    enum status status = read_named(b, &other);
    struct ptx_operand *place = status ? NULL : add(b, other.kind);
    if (place) {
        *place = other;
        status = operands_keep(b, first, &pair.items, &pair.count);
        place = status ? NULL : add(b, PTX_PAIR);
    }
    if (place)
        *place = pair;
    return status || place ? status : lex_no_memory(&r->cursor);
}

static enum status read_name_operand(struct body *b)
{
    struct cursor *c = &b->r->cursor;
    struct ptx_operand operand = {0};
    enum status status = read_named(b, &operand);
    if (!status && operand.kind == PTX_ADDRESS_OF)
        status = read_offset(b, &operand.offset);
    struct ptx_operand *place = status ? NULL : add(b, operand.kind);
    if (!place)
        return status ? status : lex_no_memory(c);
    *place = operand;
    if ((operand.kind == PTX_REGISTER || operand.kind == PTX_SINK) && lex_accept(c, '|'))
        return read_pair(b);
    return STATUS_OK;
}

/* !p, or an expression that begins with '!'. */
static enum status read_negated(struct body *b)
{
    struct cursor *c = &b->r->cursor;
    struct cursor before = *c;
    c->at++;
    bool named = lex_is(lex_peek(c), LEX_FIRST);
    struct ptx_operand operand = {0};
    enum status status;
    if (named) {
        status = read_named(b, &operand);
        if (!status && operand.kind != PTX_REGISTER)
            return lex_refuse(c, c->line,
                              "found '!' before something that is no register, "
                              "expected a predicate");
        operand.negated = true;
    } else {
        *c = before;
        status = read_immediate(b, &operand);
    }
    struct ptx_operand *place = status ? NULL : add(b, operand.kind);
    if (!place)
        return status ? status : lex_no_memory(c);
    *place = operand;
    return STATUS_OK;
}

enum status operand_read(struct body *b)
{
    struct cursor *c = &b->r->cursor;
    char next = lex_peek(c);
    if (lex_is(next, LEX_FIRST))
        return read_name_operand(b);
    if (next == '!')
        return read_negated(b);
    if (next == '[' || next == '{') {
        if (b->nested == NESTED_MAX)
            return lex_fail(c, "at most %d brackets inside each other", NESTED_MAX);
        b->nested++;
        c->at++;
        enum status status = next == '[' ? read_memory(b) : read_vector(b);
        b->nested--;
        return status;
    }
    struct ptx_operand operand = {0};
    enum status status = read_immediate(b, &operand);
    struct ptx_operand *place = status ? NULL : add(b, PTX_IMMEDIATE);
    if (!place)
        return status ? status : lex_no_memory(c);
    *place = operand;
    return STATUS_OK;
}

enum status operand_label(struct body *b)
{
    struct reader *r = b->r;
    struct cursor before = r->cursor;
    struct slice text = lex_name(&r->cursor);
    if (!text.length || *text.begin == '%') {
        r->cursor = before;
        return lex_fail(&r->cursor, "a label");
    }
    struct name *name = names_put(&r->names, &r->store, text);
    struct ptx_operand *operand = name ? add(b, PTX_LABEL) : NULL;
    if (!operand)
        return lex_no_memory(&r->cursor);
    operand->name = name->text;
    return STATUS_OK;
}

enum status operands_read(struct body *b, char end)
{
    struct cursor *c = &b->r->cursor;
    size_t first = b->r->operands.count;
    if (lex_accept(c, end))
        return STATUS_OK;
    for (;;) {
        enum status status = operand_read(b);
        if (status)
            return status;
        if (lex_accept(c, end))
            return STATUS_OK;
        if (b->r->operands.count - first >= OPERANDS_MAX)
            return lex_fail(c, "at most %d operands", OPERANDS_MAX);
        if (!lex_accept(c, ','))
            return lex_fail(c, "',' or '%c' behind an operand", end);
    }
}
