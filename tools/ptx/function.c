/* function.c - what stands before a function's body, and prototypes. */
#include "ptx/reader.h"

#include <string.h>

#include "ptx/text/constant.h"

/* One .param between parentheses. */
static enum status read_param(struct reader *r)
{
    struct cursor *c = &r->cursor;
    struct cursor before = *c;
    struct slice space = lex_directive(c);
    if (slice_is(space, "reg"))
        return lex_refuse(c, c->line,
                          "found a parameter in .reg, expected .param: parameters in "
                          "registers are not supported");
    if (!slice_is(space, "param")) {
        *c = before;
        return lex_fail(c, "'.param' or ')'");
    }
    if (r->params.count == PARAMS_MAX)
        return lex_fail(c, "at most %d parameters", PARAMS_MAX);
    struct declaration declaration = {.space = PTX_PARAM, .line = c->line};
    enum status status = declaration_read(r, &declaration);
    if (status)
        return status;
    struct ptx_variable *param = list_add(&r->params, sizeof *param);
    if (!param)
        return lex_no_memory(c);
    status = variable_read(r, &declaration, false, param);
    param->index = (unsigned)r->params.count - 1;
    return status;
}

/* (.param .u64 a, .param .u32 b) */
static enum status read_params(struct reader *r, const struct ptx_variable **params,
                               unsigned *count)
{
    struct cursor *c = &r->cursor;
    r->params.count = 0;
    enum status status = lex_expect(c, '(', "'(' before parameters");
    if (!status && !lex_accept(c, ')')) {
        do {
            status = read_param(r);
        } while (!status && lex_accept(c, ','));
        if (!status)
            status = lex_expect(c, ')', "',' or ')' after a parameter");
    }
    if (status)
        return status;
    *count = (unsigned)r->params.count;
    *params = store_copy(&r->store, r->params.items, *count * sizeof **params);
    return *params ? STATUS_OK : lex_no_memory(c);
}

/* 128, 1, 1: what is not given is 1. */
static enum status read_three(struct reader *r, const char *what, unsigned three[3])
{
    enum status status = STATUS_OK;
    three[1] = three[2] = 1;
    for (unsigned i = 0; i < 3 && !status; i++) {
        uint64_t value = 0;
        if (i && !lex_accept(&r->cursor, ','))
            break;
        status = constant_count(&r->cursor, INT32_MAX, what, &value);
        three[i] = (unsigned)value;
    }
    return status;
}

static enum status read_one(struct reader *r, const char *what, unsigned *one)
{
    uint64_t value = 0;
    enum status status = constant_count(&r->cursor, INT32_MAX, what, &value);
    *one = (unsigned)value;
    return status;
}

enum status pragma_skip(struct reader *r)
{
    struct slice unused;
    enum status status;
    do {
        status = lex_string(&r->cursor, &unused);
    } while (!status && lex_accept(&r->cursor, ','));
    return status ? status : lex_expect(&r->cursor, ';', "',' or ';' behind .pragma");
}

/* .maxntid and its kin, and .noreturn: what stands between the parameters and the body. */
static enum status read_directive(struct reader *r, struct ptx_function *f)
{
    struct cursor *c = &r->cursor;
    struct cursor before = *c;
    struct slice word = lex_directive(c);
    unsigned unused;
    if (slice_is(word, "maxntid"))
        return read_three(r, "a number of threads", f->maxntid);
    if (slice_is(word, "reqntid"))
        return read_three(r, "a number of threads", f->reqntid);
    if (slice_is(word, "reqnctapercluster"))
        return read_three(r, "a number of blocks", f->reqcluster);
    if (slice_is(word, "minnctapersm"))
        return read_one(r, "a number of blocks", &f->minnctapersm);
    if (slice_is(word, "maxnreg"))
        return read_one(r, "a number of registers", &f->maxnreg);
    if (slice_is(word, "maxnctapersm") || slice_is(word, "maxclusterrank") ||
        slice_is(word, "local_maxnreg") || slice_is(word, "abi_preserve") ||
        slice_is(word, "abi_preserve_control"))
        return read_one(r, "a number", &unused);
    if (slice_is(word, "explicitcluster") || slice_is(word, "blocksareclusters"))
        return STATUS_OK;
    if (slice_is(word, "noreturn")) {
        f->noreturn = true;
        return STATUS_OK;
    }
    if (slice_is(word, "pragma"))
        return pragma_skip(r);
    *c = before;
    return lex_fail(c, "'{', ';' or a directive such as .maxntid");
}

enum status function_header(struct reader *r, struct ptx_function *function, struct name **name)
{
    struct cursor *c = &r->cursor;
    enum status status = STATUS_OK;
    if (lex_peek(c) == '(') {
        if (function->is_entry)
            return lex_fail(c, "a name; a kernel has no result");
        status = read_params(r, &function->results, &function->result_count);
    }
    if (status)
        return status;
    struct slice text = lex_name(c);
    if (!text.length)
        return lex_fail(c, "the name of a function");
    *name = names_put(&r->names, &r->store, text);
    if (!*name)
        return lex_no_memory(c);
    function->name = (*name)->text;
    if (lex_peek(c) == '(')
        status = read_params(r, &function->params, &function->param_count);
    while (!status && lex_peek(c) == '.')
        status = read_directive(r, function);
    return status;
}

enum status prototype_read(struct reader *r, struct ptx_prototype *prototype)
{
    struct cursor *c = &r->cursor;
    enum status status = STATUS_OK;
    if (lex_peek(c) == '(')
        status = read_params(r, &prototype->results, &prototype->result_count);
    if (status)
        return status;
    if (!lex_name(c).length)
        return lex_fail(c, "'_' in a prototype");
    if (lex_peek(c) == '(')
        status = read_params(r, &prototype->params, &prototype->param_count);
    struct ptx_function unused = {0};
    while (!status && lex_peek(c) == '.')
        status = read_directive(r, &unused);
    return status;
}
