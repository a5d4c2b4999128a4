/*
 * body.c - a function's body: scopes, registers, variables, labels and instructions.
 *
 * Labels belong to their scope and may be used before they stand, so their uses wait as fixups: at
 * the end of each scope those that it can answer are settled, and the others are left to the scope
 * around it.
 */
#include "ptx/reader.h"

#include <string.h>

#include "ptx/text/constant.h"
#include "ptx/text/types.h"

static enum status settle_label(struct body *b, const struct fixup *fixup,
                                const struct symbol *symbol)
{
    struct cursor *c = &b->r->cursor;
    if (symbol->kind == SYMBOL_LABEL) {
        fixup->operand->target = symbol->value;
        return STATUS_OK;
    }
    if (symbol->kind == SYMBOL_TARGETS) {
        *fixup->operand = *(const struct ptx_operand *)symbol->data;
        return STATUS_OK;
    }
    return lex_refuse(c, fixup->line, "found '%.80s', expected a label; it is %s",
                      fixup->name->text, symbol_kind_text(symbol->kind));
}

/* Resolves the name of a fixup in the current scope; false: it is not there. */
static bool known(const struct body *b, const struct fixup *fixup, const struct symbol **symbol)
{
    const struct names *names = &b->r->names;
    if (fixup->kind == FIXUP_LOCAL)
        return false;
    *symbol = names_symbol(names, fixup->name);
    return *symbol && ((*symbol)->depth == names->depth);
}

/* Before names_leave(): settles what can be, and leaves the rest to the scope around. */
static enum status settle_scope(struct body *b)
{
    struct list *list = &b->r->fixups;
    struct fixup *fixups = list->items;
    size_t left = b->scope_fixups[b->depth];
    enum status status = STATUS_OK;
    for (size_t i = left; i < list->count && !status; i++) {
        const struct symbol *symbol;
        if (!known(b, &fixups[i], &symbol)) {
            fixups[left++] = fixups[i];
        } else if (fixups[i].kind == FIXUP_LABEL) {
            status = settle_label(b, &fixups[i], symbol);
        } else if (symbol->kind == SYMBOL_PROTOTYPE) {
            b->instructions[fixups[i].instruction].prototype = symbol->data;
        } else {
            status = lex_refuse(&b->r->cursor, fixups[i].line,
                                "found '%.80s', expected a prototype; it is %s",
                                fixups[i].name->text, symbol_kind_text(symbol->kind));
        }
    }
    list->count = left;
    return status;
}

static enum status enter(struct body *b)
{
    if (b->depth == SCOPES_MAX)
        return lex_fail(&b->r->cursor, "at most %d '{' inside each other", SCOPES_MAX);
    names_enter(&b->r->names);
    b->scope_fixups[++b->depth] = b->r->fixups.count;
    return STATUS_OK;
}

static enum status leave(struct body *b)
{
    enum status status = settle_scope(b);
    b->depth--;
    names_leave(&b->r->names);
    return status;
}

/* %r<114> declares %r0 to %r113. */
static enum status declare_range(struct body *b, struct slice prefix, uint64_t count,
                                 enum ptx_type type)
{
    struct reader *r = b->r;
    char text[256];
    if (prefix.length + 16 > sizeof text)
        return lex_refuse(&r->cursor, r->cursor.line,
                          "found a register's name of %zu characters, expected at most 240",
                          prefix.length);
    memcpy(text, prefix.begin, prefix.length);
    for (uint64_t i = 0; i < count; i++) {
        char digits[12];
        size_t length = 0;
        for (uint64_t rest = i; rest || !length; rest /= 10)
            digits[length++] = (char)('0' + rest % 10);
        for (size_t k = 0; k < length; k++)
            text[prefix.length + k] = digits[length - 1 - k];
        struct name *name =
            names_put(&r->names, &r->store, (struct slice){text, prefix.length + length});
        struct ptx_register *reg = name ? list_add(&r->registers, sizeof *reg) : NULL;
        if (!reg)
            return lex_no_memory(&r->cursor);
        *reg = (struct ptx_register){name->text, type};
        enum status status = names_declare(&r->names, &r->cursor, name, SYMBOL_REGISTER,
                                           (uint32_t)(r->registers.count - 1), NULL);
        if (status)
            return status;
    }
    return STATUS_OK;
}

static enum status declare_register(struct body *b, struct slice text, enum ptx_type type)
{
    struct reader *r = b->r;
    struct name *name = names_put(&r->names, &r->store, text);
    struct ptx_register *reg = name ? list_add(&r->registers, sizeof *reg) : NULL;
    if (!reg)
        return lex_no_memory(&r->cursor);
    *reg = (struct ptx_register){name->text, type};
    return names_declare(&r->names, &r->cursor, name, SYMBOL_REGISTER,
                         (uint32_t)(r->registers.count - 1), NULL);
}

/* .reg .b32 %r<114>, %one; */
static enum status read_registers(struct body *b)
{
    struct reader *r = b->r;
    struct cursor *c = &r->cursor;
    struct declaration declaration = {.space = PTX_GENERIC};
    enum status status = declaration_read(r, &declaration);
    if (!status && declaration.vector > 1)
        return lex_refuse(c, c->line,
                          "found a vector in .reg, expected a single register: vector "
                          "registers are not supported");
    while (!status) {
        struct slice text = lex_name(c);
        uint64_t count = 1;
        if (!text.length)
            return lex_fail(c, "the name of a register");
        bool range = lex_accept(c, '<');
        if (range) {
            status = constant_count(c, REGISTERS_MAX, "a number of registers", &count);
            if (!status)
                status = lex_expect(c, '>', "'>' behind a number of registers");
        }
        if (!status && r->registers.count + count > REGISTERS_MAX)
            return lex_refuse(c, c->line, "found more than %d registers, expected fewer",
                              REGISTERS_MAX);
        if (!status)
            status = range ? declare_range(b, text, count, declaration.type)
                           : declare_register(b, text, declaration.type);
        if (!status && !lex_accept(c, ','))
            return lex_expect(c, ';', "',' or ';' behind a register");
    }
    return status;
}

static enum status read_variables(struct body *b, enum ptx_space space)
{
    struct reader *r = b->r;
    struct cursor *c = &r->cursor;
    struct declaration declaration = {.space = space, .line = c->line};
    enum status status = declaration_read(r, &declaration);
    while (!status) {
        struct ptx_variable variable;
        status = variable_read(r, &declaration, false, &variable);
        if (status)
            return status;
        variable.index = (unsigned)r->locals.count;
        struct ptx_variable *place =
            variable.index < UINT32_MAX ? list_add(&r->locals, sizeof *place) : NULL;
        if (!place)
            return lex_no_memory(c);
        *place = variable;
        status =
            names_declare(&r->names, c, name_of(variable.name), SYMBOL_LOCAL, variable.index, NULL);
        if (!status && !lex_accept(c, ','))
            return lex_expect(c, ';', "',' or ';' behind a variable");
    }
    return status;
}

static enum status read_directive(struct body *b)
{
    struct reader *r = b->r;
    struct cursor *c = &r->cursor;
    struct cursor before = *c;
    struct slice word = lex_directive(c);
    if (slice_is(word, "loc"))
        return location_line(r, &b->location);
    if (slice_is(word, "reg"))
        return read_registers(b);
    enum ptx_space space = space_named(word);
    if (space == PTX_PARAM || space == PTX_LOCAL || space == PTX_SHARED)
        return read_variables(b, space);
    if (slice_is(word, "file"))
        return location_file(r);
    if (slice_is(word, "pragma"))
        return pragma_skip(r);
    *c = before;
    return lex_fail(c,
                    "an instruction, a label, or .reg, .local, .shared, .param, .loc or .pragma");
}

/* @p or @!p */
static enum status read_guard(struct body *b, struct ptx_instruction *instruction)
{
    struct reader *r = b->r;
    struct cursor *c = &r->cursor;
    c->at++;
    instruction->guarded = true;
    instruction->guard_negated = lex_accept(c, '!');
    lex_peek(c);
    struct cursor before = *c;
    const struct symbol *symbol = names_symbol(&r->names, names_find(&r->names, lex_name(c)));
    const struct ptx_register *registers = r->registers.items;
    if (!symbol || symbol->kind != SYMBOL_REGISTER || registers[symbol->value].type != PTX_PRED) {
        *c = before;
        return lex_fail(c, "a predicate behind '@' that a .reg .pred declares");
    }
    instruction->guard = symbol->value;
    return STATUS_OK;
}

/* "ld .global .u32": the parts of a word may stand apart. */
static enum status join_word(struct reader *r, struct slice *word)
{
    struct cursor *c = &r->cursor;
    r->bytes.count = 0;
    struct slice part = *word;
    while (part.length) {
        char *place = list_reserve(&r->bytes, 1, part.length + 1);
        if (!place)
            return lex_no_memory(c);
        memcpy(place, part.begin, part.length);
        r->bytes.count += part.length;
        part.length = 0;
        if (lex_peek(c) != '.')
            break;
        part.begin = c->at;
        while (lex_is(*c->at, LEX_NAME) || *c->at == '.' || (c->at[0] == ':' && c->at[1] == ':'))
            c->at += *c->at == ':' ? 2 : 1;
        part.length = (size_t)(c->at - part.begin);
    }
    *word = (struct slice){r->bytes.items, r->bytes.count};
    return STATUS_OK;
}

static enum status read_operands(struct body *b, struct ptx_instruction *instruction)
{
    const char *opcode = instruction->opcode;
    if (strcmp(opcode, "call") == 0)
        return call_read(b, instruction);
    if (strcmp(opcode, "bra") == 0) {
        enum status status = operand_label(b);
        return status ? status : lex_expect(&b->r->cursor, ';', "';' behind a label");
    }
    return operands_read(b, ';');
}

/* `word` is passed; `guard` holds what stood before. */
static enum status read_instruction(struct body *b, struct slice word, unsigned line,
                                    const struct ptx_instruction *guard)
{
    struct reader *r = b->r;
    const struct ptx_instruction *shape;
    enum status status = STATUS_OK;
    if (lex_peek(&r->cursor) == '.')
        status = join_word(r, &word);
    if (!status)
        status = word_shape(r, word, &shape);
    if (status)
        return status;
    if (b->count == b->room)
        return lex_fail(&r->cursor, "'}'");
    struct ptx_instruction *instruction = &b->instructions[b->count];
    *instruction = *shape;
    instruction->guarded = guard->guarded;
    instruction->guard_negated = guard->guard_negated;
    instruction->guard = guard->guard;
    instruction->line = line;
    instruction->location = b->location;
    size_t first = r->operands.count;
    status = read_operands(b, instruction);
    if (!status)
        status = operands_keep(b, first, &instruction->operands, &instruction->operand_count);
    b->count++;
    return status;
}

/* `text` and its ':' are passed. */
static enum status read_label(struct body *b, struct slice text)
{
    struct reader *r = b->r;
    struct cursor *c = &r->cursor;
    struct name *name = names_put(&r->names, &r->store, text);
    if (!name)
        return lex_no_memory(c);
    if (lex_peek(c) == '.') {
        struct cursor before = *c;
        struct slice word = lex_directive(c);
        if (slice_is(word, "branchtargets") || slice_is(word, "callprototype") ||
            slice_is(word, "calltargets"))
            return label_list_read(b, word, name);
        *c = before;
    }
    return names_declare(&r->names, c, name, SYMBOL_LABEL, b->count, NULL);
}

static enum status read_guarded(struct body *b)
{
    struct cursor *c = &b->r->cursor;
    struct ptx_instruction guard = {0};
    unsigned line = c->line;
    enum status status = read_guard(b, &guard);
    if (status)
        return status;
    struct slice word = lex_word(c);
    if (!word.length)
        return lex_fail(c, "an instruction behind a predicate");
    return read_instruction(b, word, line, &guard);
}

static enum status read_label_or_instruction(struct body *b)
{
    static const struct ptx_instruction no_guard;
    struct cursor *c = &b->r->cursor;
    unsigned line = c->line;
    struct slice word = lex_word(c);
    if (!word.length)
        return lex_fail(c, "an instruction, a label, a directive or '}'");
    if (lex_peek(c) == ':') {
        if (memchr(word.begin, '.', word.length))
            return lex_fail(c, "an operand");
        c->at++;
        return read_label(b, word);
    }
    return read_instruction(b, word, line, &no_guard);
}

/* Statements up to the '}' of the body; its '{' is passed and its scope entered. */
static enum status read_statements(struct body *b, unsigned outermost)
{
    struct cursor *c = &b->r->cursor;
    enum status status = STATUS_OK;
    while (!status) {
        switch (lex_peek(c)) {
        case '{':
            status = enter(b);
            c->at++;
            break;
        case '}':
            c->at++;
            if (b->depth == outermost)
                return STATUS_OK;
            status = leave(b);
            break;
        case '.':
            status = read_directive(b);
            break;
        case '@':
            status = read_guarded(b);
            break;
        case ';':
            c->at++;
            break;
        default:
            status = read_label_or_instruction(b);
        }
    }
    return status;
}

/* Each instruction ends with ';', so the text bounds their number. */
static enum status make_room(struct body *b)
{
    struct reader *r = b->r;
    struct cursor end = r->cursor;
    enum status status = lex_skip_braces(&end);
    size_t most = 1;
    for (const char *at = r->cursor.at; at < end.at; at++)
        most += *at == ';';
    if (status)
        return status;
    if (most > UINT32_MAX / 2)
        return lex_no_memory(&r->cursor);
    b->room = (unsigned)most;
    b->instructions = store_take(&r->store, most * sizeof *b->instructions);
    return b->instructions ? STATUS_OK : lex_no_memory(&r->cursor);
}

static enum status declare_params(struct body *b)
{
    struct reader *r = b->r;
    const struct ptx_function *f = b->function;
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < f->param_count && !status; i++)
        status = names_declare(&r->names, &r->cursor, name_of(f->params[i].name), SYMBOL_PARAM, i,
                               &f->params[i]);
    for (unsigned i = 0; i < f->result_count && !status; i++)
        status = names_declare(&r->names, &r->cursor, name_of(f->results[i].name), SYMBOL_PARAM, i,
                               &f->results[i]);
    return status;
}

/* What no scope has settled: places of the function's variables, and labels that are missing. */
static enum status settle_rest(struct body *b, const struct ptx_variable *variables)
{
    const struct fixup *fixups = b->r->fixups.items;
    for (size_t i = 0; i < b->r->fixups.count; i++) {
        if (fixups[i].kind == FIXUP_LOCAL) {
            fixups[i].operand->variable = &variables[fixups[i].operand->target];
            fixups[i].operand->target = 0;
            continue;
        }
        return lex_refuse(
            &b->r->cursor, fixups[i].line,
            "found '%.80s', expected a name that is declared or a label of this scope",
            fixups[i].name->text);
    }
    return STATUS_OK;
}

static enum status keep(struct body *b)
{
    struct reader *r = b->r;
    struct ptx_function *f = b->function;
    const struct ptx_variable *variables =
        store_copy(&r->store, r->locals.items, r->locals.count * sizeof *variables);
    const struct ptx_register *registers =
        store_copy(&r->store, r->registers.items, r->registers.count * sizeof *registers);
    if (!variables || !registers)
        return lex_no_memory(&r->cursor);
    enum status status = settle_rest(b, variables);
    if (status)
        return status;
    f->variables = variables;
    f->variable_count = (unsigned)r->locals.count;
    f->registers = registers;
    f->register_count = (unsigned)r->registers.count;
    f->instructions = b->instructions;
    f->instruction_count = b->count;
    f->body_read = true;
    return STATUS_OK;
}

enum status ptx_read_body(struct ptx_module *module, struct ptx_function *function,
                          struct error *err)
{
    struct reader *r = (struct reader *)module;
    struct body body = {.r = r, .function = function}, *b = &body;
    if (function->body_read)
        return STATUS_OK;
    if (!function->has_body)
        return error_set(err, STATUS_NOT_FOUND, "%.120s:%u: function '%.200s' has no body",
                         module->name, function->line, function->name);
    const struct body_place *places = r->places.items;
    const struct body_place *place = &places[function - module->functions];
    r->cursor = (struct cursor){place->at, place->line, module->name, err};
    r->registers.count = r->locals.count = r->fixups.count = r->operands.count = 0;
    enum status status = make_room(b);
    if (status)
        return status;
    enter(b); /* the parameters' scope */
    status = declare_params(b);
    if (!status)
        status = enter(b);
    unsigned outermost = b->depth;
    if (!status)
        status = read_statements(b, outermost);
    if (!status)
        status = leave(b);
    if (!status)
        status = leave(b);
    while (b->depth) { /* after an error */
        names_leave(&r->names);
        b->depth--;
    }
    return status ? status : keep(b);
}
