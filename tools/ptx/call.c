/* call.c - calls, and the lists behind labels that indirect calls and branches name. */
#include "ptx/reader.h"

/* Indirect calls name their prototype, which may stand further down. */
static enum status note_prototype(struct body *b)
{
    struct reader *r = b->r;
    struct cursor *c = &r->cursor;
    struct cursor before = *c;
    struct slice text = lex_name(c);
    if (!text.length || *text.begin == '%') {
        *c = before;
        return lex_fail(c, "the label of a prototype");
    }
    struct name *name = names_put(&r->names, &r->store, text);
    struct fixup *fixup = name ? list_add(&r->fixups, sizeof *fixup) : NULL;
    if (!fixup)
        return lex_no_memory(c);
    *fixup = (struct fixup){
        .kind = FIXUP_PROTOTYPE, .line = c->line, .instruction = b->count, .name = name};
    return STATUS_OK;
}

static enum status check_target(struct body *b, const struct ptx_operand *target, unsigned line)
{
    if (target->kind == PTX_FUNCTION || target->kind == PTX_REGISTER)
        return STATUS_OK;
    if (target->kind == PTX_LABEL)
        return lex_refuse(&b->r->cursor, line,
                          "found a call of '%.80s', expected a function that "
                          "is declared before",
                          target->name);
    return lex_refuse(&b->r->cursor, line,
                      "found a call of neither a function nor a register, "
                      "expected one of them");
}

/* The operands stand in the text as (results), target, (arguments), prototype. */
enum status call_read(struct body *b, struct ptx_instruction *call)
{
    struct reader *r = b->r;
    struct cursor *c = &r->cursor;
    size_t first = r->operands.count;
    struct ptx_operand *place = list_add(&r->operands, sizeof *place);
    if (!place)
        return lex_no_memory(c);
    *place = (struct ptx_operand){.kind = PTX_SINK};
    enum status status = STATUS_OK;
    if (lex_accept(c, '(')) {
        status = operands_read(b, ')');
        call->results = (unsigned)(r->operands.count - first - 1);
        if (!status)
            status = lex_expect(c, ',', "',' behind the results of a call");
    }
    unsigned line = c->line;
    if (!status)
        status = operand_read(b);
    if (status)
        return status;
    struct ptx_operand *operands = r->operands.items;
    operands[first] = operands[--r->operands.count];
    status = check_target(b, &operands[first], line);
    bool more = !status && lex_accept(c, ',');
    if (more && lex_accept(c, '(')) {
        status = operands_read(b, ')');
        more = !status && lex_accept(c, ',');
    }
    if (more)
        status = note_prototype(b);
    return status ? status : lex_expect(c, ';', "',' or ';' behind a call");
}

/* ts: .branchtargets L1, L2; */
static enum status read_targets(struct body *b, struct name *label)
{
    struct reader *r = b->r;
    struct cursor *c = &r->cursor;
    size_t first = r->operands.count;
    enum status status;
    do {
        status = operand_label(b);
    } while (!status && lex_accept(c, ','));
    struct ptx_operand vector = {.kind = PTX_VECTOR};
    if (!status)
        status = operands_keep(b, first, &vector.items, &vector.count);
    const struct ptx_operand *kept = status ? NULL : store_copy(&r->store, &vector, sizeof vector);
    if (!kept)
        return status ? status : lex_no_memory(c);
    return names_declare(&r->names, c, label, SYMBOL_TARGETS, 0, kept);
}

/* A list of functions, all of the type of the first. */
static enum status read_call_targets(struct body *b, struct ptx_prototype *prototype)
{
    struct reader *r = b->r;
    struct cursor *c = &r->cursor;
    bool first = true;
    do {
        struct cursor before = *c;
        struct slice text = lex_name(c);
        const struct symbol *symbol = names_symbol(&r->names, names_find(&r->names, text));
        if (!text.length || !symbol || symbol->kind != SYMBOL_FUNCTION) {
            *c = before;
            return lex_fail(c, "a function that is declared before");
        }
        const struct ptx_function *f = &r->module.functions[symbol->value];
        if (first)
            *prototype =
                (struct ptx_prototype){f->results, f->params, f->result_count, f->param_count};
        first = false;
    } while (lex_accept(c, ','));
    return STATUS_OK;
}

enum status label_list_read(struct body *b, struct slice directive, struct name *label)
{
    struct reader *r = b->r;
    struct cursor *c = &r->cursor;
    struct ptx_prototype prototype = {0};
    enum status status;
    if (slice_is(directive, "branchtargets")) {
        status = read_targets(b, label);
        return status ? status : lex_expect(c, ';', "',' or ';' behind a label");
    }
    if (slice_is(directive, "callprototype"))
        status = prototype_read(r, &prototype);
    else
        status = read_call_targets(b, &prototype);
    const struct ptx_prototype *kept =
        status ? NULL : store_copy(&r->store, &prototype, sizeof prototype);
    if (!kept)
        return status ? status : lex_no_memory(c);
    status = names_declare(&r->names, c, label, SYMBOL_PROTOTYPE, 0, kept);
    return status ? status : lex_expect(c, ';', "';' behind a prototype");
}
