/*
 * formula.c - a precedence climber that emits the codes of refs/abi/ref_formula.h.
 *
 * Only the parser recurses, no deeper than NESTING. The depth of the stack is counted while codes
 * are emitted, so running a program needs no check of it.
 */
#include "registry/formula.h"

#include <ctype.h>
#include <string.h>
#include "text/number.h"

enum { NESTING = 16, NAME = 128, CODES = FORMULA_WORDS * FORMULA_CODES };

_Static_assert(FORMULA_CODE_COUNT <= 128, "a word of codes is never negative");

static const struct formula_word {
    const char *text;
    int operands;
    enum formula_code code;
} formula_words[] = {
#define OP(name, operands, spelling) {spelling, operands, FORMULA_##name},
    FORMULA_TABLE
#undef OP
};

/* Longer spellings come first. */
static const struct formula_operator {
    const char *text;
    int precedence;
} formula_operators[] = {{"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<=", 4}, {">=", 4},
                         {"<", 4},  {">", 4},  {"+", 5},  {"-", 5},  {"*", 6},  {"/", 6}};

struct formula_parser {
    const char *at;
    struct arena *arena;
    const struct formula_names *names;
    struct formula *out;
    struct error *err;
    int count, depth, nesting;
};

static enum status parse_choice(struct formula_parser *p);

static void skip_formula_space(struct formula_parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static enum status fail_formula(struct formula_parser *p, const char *sentence)
{
    if (!*p->at)
        return error_set(p->err, STATUS_INVALID, "at the end: %s", sentence);
    size_t length = strcspn(p->at + 1, " \t\n") + 1;
    return error_set(p->err, STATUS_INVALID, "at '%.*s': %s", length > 24 ? 24 : (int)length, p->at,
                     sentence);
}

static const struct formula_word *formula_find(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof formula_words / sizeof formula_words[0]; i++) {
        if (strlen(formula_words[i].text) == length &&
            memcmp(formula_words[i].text, text, length) == 0)
            return &formula_words[i];
    }
    return NULL;
}

/* The last place stays free, for the end. */
static enum status emit_code(struct formula_parser *p, int code, int growth)
{
    p->depth += growth;
    if (p->depth > FORMULA_DEPTH)
        return fail_formula(
            p, "more than 6 values are kept at once; put the longer side of an operator "
               "first");
    if (p->count == CODES - 1)
        return fail_formula(p, "the formula is too long; expected at most 63 codes");
    int shift = 8 * (p->count % FORMULA_CODES);
    p->out->word[p->count++ / FORMULA_CODES] |= (int64_t)code << shift;
    return STATUS_OK;
}

/* Emits the place of `text` among the formula's own numbers or arrays. */
static enum status emit_named(struct formula_parser *p, const char **list, unsigned *count,
                              unsigned most, int code, const char *text, size_t length)
{
    unsigned i = 0;
    while (i < *count && (strncmp(list[i], text, length) != 0 || list[i][length]))
        i++;
    if (i == *count && i == most)
        return fail_formula(p, list == p->out->input ? "more than 4 arrays are read"
                                                     : "more than 8 numbers and scalars");
    if (i == *count) {
        list[i] = arena_text(p->arena, text, length);
        if (!list[i])
            return error_set(p->err, STATUS_NO_MEMORY, "no memory");
        ++*count;
    }
    return emit_code(p, code + (int)i, 1);
}

static enum status emit_number(struct formula_parser *p, const char *text, size_t length)
{
    return emit_named(p, p->out->number, &p->out->numbers, FORMULA_NUMBERS, FORMULA_NUMBER, text,
                      length);
}

static enum status parse_formula_number(struct formula_parser *p)
{
    char text[40];
    size_t length = 0;
    double value;
    for (; length < sizeof text - 1; length++) {
        bool sign = p->at[length] == '-' || p->at[length] == '+';
        if (sign ? !length || !strchr("eE", p->at[length - 1])
                 : !isalnum((unsigned char)p->at[length]) && p->at[length] != '.')
            break;
    }
    memcpy(text, p->at, length);
    text[length] = '\0';
    if (!number_real(text, &value))
        return fail_formula(p, "not a number");
    p->at += length;
    if (value != (double)(int)value || value >= FORMULA_ZERO)
        return emit_number(p, text, length);
    enum status status = emit_code(p, FORMULA_SMALL, 1);
    return status ? status : emit_code(p, FORMULA_ZERO + (int)value, 0);
}

/* What "T(x)" rounds to, where T is the name of a type; f64 and an open type round nothing. */
static const struct formula_word *conversion_find(struct formula_parser *p, const char *name)
{
    static const struct formula_word nothing = {"", 1, FORMULA_END};
    enum dtype dtype;
    if (!p->names->type_of || !p->names->type_of(p->names->user, name, &dtype))
        return NULL;
    p->out->open |= dtype == DTYPE_NONE;
    if (dtype == DTYPE_NONE || dtype == DTYPE_F64)
        return &nothing;
    const char *text = dtype_text(dtype);
    return formula_find(text, strlen(text));
}

/* After "name": the arguments in parentheses. */
static enum status parse_formula_call(struct formula_parser *p, const struct formula_word *word)
{
    int arguments = 0;
    do {
        p->at++; /* '(' or ',' */
        enum status status = parse_choice(p);
        if (status)
            return status;
        arguments++;
    } while (*p->at == ',');
    if (arguments != word->operands)
        return fail_formula(p, word->operands == 1 ? "expected one argument"
                                                   : "expected two arguments");
    if (*p->at != ')')
        return fail_formula(p, "expected ')'");
    p->at++;
    return word->code == FORMULA_END ? STATUS_OK : emit_code(p, word->code, 1 - word->operands);
}

/* The letters of a name, with its index in brackets where it has one. */
static size_t formula_name(const char *text)
{
    size_t end = 0;
    while (isalnum((unsigned char)text[end]) || text[end] == '_' || text[end] == '.')
        end++;
    if (text[end] != '[')
        return end;
    size_t close = strcspn(text + end, "]");
    return text[end + close] ? end + close + 1 : end;
}

static enum status parse_formula_name(struct formula_parser *p)
{
    const char *start = p->at;
    size_t length = formula_name(start);
    char name[NAME];
    if (length >= NAME)
        return fail_formula(p, "the name is too long");
    memcpy(name, start, length);
    name[length] = '\0';
    p->at += length;
    skip_formula_space(p);
    if (*p->at == '(') {
        const struct formula_word *word = formula_find(name, length);
        if (!word)
            word = conversion_find(p, name);
        if (word)
            return parse_formula_call(p, word);
        p->at = start;
        return fail_formula(
            p, "unknown function, or a type that no value is rounded to; config/README.md "
               "lists them");
    }
    if (p->names->is_array(p->names->user, name))
        return emit_named(p, p->out->input, &p->out->inputs, FORMULA_INPUTS, FORMULA_INPUT, start,
                          length);
    return emit_number(p, start, length);
}

static enum status parse_formula_binary(struct formula_parser *p, int least);

static enum status parse_formula_primary(struct formula_parser *p)
{
    skip_formula_space(p);
    if (*p->at == '-' || *p->at == '!') {
        int code = *p->at++ == '-' ? FORMULA_NEGATE : FORMULA_NOT;
        enum status status = parse_formula_binary(p, 7); /* tighter than any operator of two */
        return status ? status : emit_code(p, code, 0);
    }
    if (isdigit((unsigned char)*p->at) || *p->at == '.')
        return parse_formula_number(p);
    if (isalpha((unsigned char)*p->at) || *p->at == '_')
        return parse_formula_name(p);
    if (*p->at != '(')
        return fail_formula(p, "expected a number, a name or '('");
    p->at++;
    enum status status = parse_choice(p);
    if (!status && *p->at != ')')
        status = fail_formula(p, "expected ')'");
    p->at += !status;
    return status;
}

static const struct formula_operator *formula_operator_at(struct formula_parser *p)
{
    skip_formula_space(p);
    for (size_t i = 0; i < sizeof formula_operators / sizeof formula_operators[0]; i++) {
        if (strncmp(p->at, formula_operators[i].text, strlen(formula_operators[i].text)) == 0)
            return &formula_operators[i];
    }
    return NULL;
}

static enum status parse_formula_binary(struct formula_parser *p, int least)
{
    const struct formula_operator *found;
    enum status status = parse_formula_primary(p);
    while (!status && (found = formula_operator_at(p)) && found->precedence >= least) {
        size_t length = strlen(found->text);
        p->at += length;
        status = parse_formula_binary(p, found->precedence + 1);
        if (!status)
            status = emit_code(p, formula_find(found->text, length)->code, -1);
    }
    return status;
}

/* A condition and its two values, or a value. */
static enum status parse_choice(struct formula_parser *p)
{
    if (++p->nesting > NESTING)
        return fail_formula(p, "nested deeper than 16 levels");
    enum status status = parse_formula_binary(p, 1);
    skip_formula_space(p);
    if (!status && *p->at == '?') {
        p->at++;
        status = parse_choice(p);
        if (!status && *p->at != ':')
            status = fail_formula(p, "expected ':'");
        p->at += !status;
        if (!status)
            status = parse_choice(p);
        if (!status)
            status = emit_code(p, FORMULA_CHOOSE, -2);
    }
    p->nesting--;
    return status;
}

static enum status parse_output(struct formula_parser *p)
{
    skip_formula_space(p);
    size_t length = formula_name(p->at);
    const char *start = p->at;
    p->at += length;
    skip_formula_space(p);
    if (length == 0 || *p->at != '=' || p->at[1] == '=')
        return fail_formula(p, "expected the output's name and '='");
    p->at++;
    p->out->output = arena_text(p->arena, start, length);
    if (!p->out->output)
        return error_set(p->err, STATUS_NO_MEMORY, "no memory");
    if (!p->names->is_array(p->names->user, p->out->output))
        return error_set(p->err, STATUS_INVALID, "'%s' is no array of the signature",
                         p->out->output);
    return STATUS_OK;
}

enum status formula_compile(struct formula *out, struct arena *arena, const char *text,
                            const struct formula_names *names, struct error *err)
{
    *out = (struct formula){0};
    struct formula_parser p = {.at = text, .arena = arena, .names = names, .out = out, .err = err};
    enum status status = parse_output(&p);
    if (!status)
        status = parse_choice(&p);
    if (!status && *p.at)
        status = fail_formula(&p, "expected an operator or the end");
    if (status)
        error_prefix(err, "formula '%.60s'", text);
    return status;
}
