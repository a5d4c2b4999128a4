/*
 * expr.c - a precedence climber that emits postfix, and the loop that runs it.
 *
 * Only the parser recurses, and no deeper than EXPR_NESTING. The stack that a program needs is
 * counted while it is emitted, so the evaluator checks nothing but arithmetic. && and || jump, so
 * that "n != 0 && m / n > 2" is safe.
 */
#include "lang/expr.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "text/number.h"
#include "lang/expr_code.h"

enum { NAME = 128 };

/* ---- compiling ---- */

static const struct operator
{
    const char *text;
    enum op op;
    int precedence;
}
expr_operators[] = {
    /* longer spellings first */
    {"||", OP_OR, 1}, {"&&", OP_AND, 2}, {"==", OP_EQ, 3}, {"!=", OP_NE, 3}, {"<=", OP_LE, 4},
    {">=", OP_GE, 4}, {"<", OP_LT, 4},   {">", OP_GT, 4},  {"+", OP_ADD, 5}, {"-", OP_SUB, 5},
    {"*", OP_MUL, 6}, {"/", OP_DIV, 6},  {"%", OP_MOD, 6},
};

static const struct function {
    const char *name;
    enum op op;
    int least, most; /* arguments */
    bool real;       /* of real expressions alone */
} functions[] = {{"min", OP_MIN, 2, 16, false},
                 {"max", OP_MAX, 2, 16, false},
                 {"ceil_div", OP_CEIL_DIV, 2, 2, false},
                 {"pow", OP_POW, 2, 2, true},
                 {"sqrt", OP_SQRT, 1, 1, true},
                 {"exp", OP_EXP, 1, 1, true},
                 {"log", OP_LOG, 1, 1, true}};

struct compiler {
    const char *at;
    struct arena *arena;
    const struct expr_names *names;
    struct error *err;
    struct instruction code[EXPR_OPS];
    unsigned count;
    int depth, nesting;
    bool real;
};

static enum status parse_expr_binary(struct compiler *c, int least);

static void skip_expr_space(struct compiler *c)
{
    while (isspace((unsigned char)*c->at))
        c->at++;
}

static enum status fail_expr(struct compiler *c, const char *sentence)
{
    if (!*c->at)
        return error_set(c->err, STATUS_INVALID, "at the end: %s", sentence);
    size_t length = strcspn(c->at + 1, " \t\n") + 1;
    return error_set(c->err, STATUS_INVALID, "at '%.*s': %s", length > 24 ? 24 : (int)length, c->at,
                     sentence);
}

static enum status emit_instruction(struct compiler *c, struct instruction instruction, int growth)
{
    c->depth += growth;
    if (c->count == EXPR_OPS || c->depth > EXPR_DEPTH)
        return fail_expr(c, "the expression is too long");
    c->code[c->count++] = instruction;
    return STATUS_OK;
}

/* "1.5", "2e-3", "0x1f". */
static enum status parse_expr_real(struct compiler *c)
{
    char text[40];
    size_t length = 0;
    bool hexadecimal = c->at[0] == '0' && (c->at[1] == 'x' || c->at[1] == 'X');
    for (; length < sizeof text - 1; length++) {
        bool sign = c->at[length] == '-' || c->at[length] == '+';
        if (sign ? hexadecimal || !length || !strchr("eE", c->at[length - 1])
                 : !isalnum((unsigned char)c->at[length]) && c->at[length] != '.')
            break;
    }
    memcpy(text, c->at, length);
    text[length] = '\0';
    struct instruction number = {.op = OP_NUMBER};
    if (hexadecimal && number_integer(text, &number.number))
        number.real = (double)number.number;
    else if (!number_real(text, &number.real))
        return fail_expr(c, "not a number");
    c->at += length;
    return emit_instruction(c, number, 1);
}

static enum status parse_expr_number(struct compiler *c)
{
    char text[32];
    size_t length = 0;
    while (isalnum((unsigned char)c->at[length]) && length < sizeof text - 1)
        length++;
    memcpy(text, c->at, length);
    text[length] = '\0';
    int64_t number;
    if (!number_integer(text, &number) || c->at[length] == '.')
        return fail_expr(c, "not a whole number of 64 bits");
    c->at += length;
    return emit_instruction(c, (struct instruction){.op = OP_NUMBER, .number = number}, 1);
}

/* After "name(": the arguments up to the closing parenthesis. */
static enum status parse_expr_call(struct compiler *c, const struct function *function)
{
    int arguments = 0;
    do {
        c->at++; /* '(' or ',' */
        enum status status = parse_expr_binary(c, 1);
        if (status)
            return status;
        if (++arguments > function->most)
            return fail_expr(c, "too many arguments");
        if (arguments > 1)
            status = emit_instruction(c, (struct instruction){.op = (uint8_t)function->op}, -1);
        if (status)
            return status;
    } while (*c->at == ',');
    if (*c->at != ')')
        return fail_expr(c, "expected ')'");
    if (arguments < function->least)
        return fail_expr(c, "expected two arguments");
    c->at++;
    return function->least > 1
               ? STATUS_OK
               : emit_instruction(c, (struct instruction){.op = (uint8_t)function->op}, 0);
}

/* A name, as far as it goes: "x", "s.x", or with an index, "x[n - 1]", as `length` letters. */
static enum status take_expr_name(struct compiler *c, char name[NAME], char index[NAME],
                                  size_t *length)
{
    const char *start = c->at;
    size_t end = 0;
    while (isalnum((unsigned char)start[end]) || start[end] == '_' || start[end] == '.')
        end++;
    if (end >= NAME)
        return fail_expr(c, "the name is too long");
    memcpy(name, start, end);
    name[end] = index[0] = '\0';
    *length = end;
    c->at += end;
    skip_expr_space(c);
    if (*c->at != '[')
        return STATUS_OK;
    const char *from = c->at + 1;
    size_t inside = 0;
    for (int depth = 1; depth; inside++) {
        if (!from[inside])
            return fail_expr(c, "expected ']'");
        depth += (from[inside] == '[') - (from[inside] == ']');
    }
    if (inside > NAME)
        return fail_expr(c, "the index is too long");
    memcpy(index, from, inside - 1);
    index[inside - 1] = '\0';
    c->at = from + inside;
    *length = (size_t)(c->at - start);
    skip_expr_space(c);
    return STATUS_OK;
}

static enum status parse_expr_name(struct compiler *c)
{
    const char *start = c->at;
    char name[NAME], index[NAME];
    size_t length = 0;
    enum status status = take_expr_name(c, name, index, &length);
    if (status)
        return status;
    bool has_index = start[length - 1] == ']';
    if (*c->at == '(' && !has_index) {
        for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
            if (strcmp(functions[i].name, name) == 0 && (c->real || !functions[i].real))
                return parse_expr_call(c, &functions[i]);
        }
        c->at = start;
        return fail_expr(
            c, c->real ? "unknown function; expected min, max, ceil_div, pow, sqrt, exp or "
                         "log"
                       : "unknown function; expected min, max or ceil_div");
    }
    int slot = c->names->find(c->names->user, name, has_index ? index : NULL, c->err);
    if (slot < 0)
        return error_set(c->err, STATUS_INVALID, "unknown name '%s'", name);
    char *copy = arena_text(c->arena, start, length);
    if (!copy)
        return error_set(c->err, STATUS_NO_MEMORY, "no memory");
    return emit_instruction(
        c, (struct instruction){.op = OP_SLOT, .target = (uint16_t)slot, .name = copy}, 1);
}

static enum status parse_prefix(struct compiler *c, enum op op)
{
    c->at++;
    enum status status = parse_expr_binary(c, 7); /* binds tighter than any binary operator */
    return status ? status : emit_instruction(c, (struct instruction){.op = (uint8_t)op}, 0);
}

static enum status parse_expr_primary(struct compiler *c)
{
    skip_expr_space(c);
    if (*c->at == '-')
        return parse_prefix(c, OP_NEGATE);
    if (*c->at == '!')
        return parse_prefix(c, OP_NOT);
    if (isdigit((unsigned char)*c->at) || (c->real && *c->at == '.'))
        return c->real ? parse_expr_real(c) : parse_expr_number(c);
    if (isalpha((unsigned char)*c->at) || *c->at == '_')
        return parse_expr_name(c);
    if (*c->at != '(')
        return fail_expr(c, "expected a number, a name or '('");
    c->at++;
    enum status status = parse_expr_binary(c, 1);
    if (status)
        return status;
    if (*c->at != ')')
        return fail_expr(c, "expected ')'");
    c->at++;
    return STATUS_OK;
}

static const struct operator* expr_operator_at(struct compiler *c)
{
    skip_expr_space(c);
    for (size_t i = 0; i < sizeof expr_operators / sizeof expr_operators[0]; i++) {
        if (strncmp(c->at, expr_operators[i].text, strlen(expr_operators[i].text)) == 0)
            return &expr_operators[i];
    }
    return NULL;
}

static enum status parse_right_side(struct compiler *c, const struct operator* operator)
{
    bool jumps = operator->op == OP_AND || operator->op == OP_OR;
    unsigned jump = c->count;
    enum status status = STATUS_OK;
    if (jumps)
        status = emit_instruction(c, (struct instruction){.op = (uint8_t) operator->op}, -1);
    if (!status)
        status = parse_expr_binary(c, operator->precedence + 1);
    if (!status)
        status = jumps ? emit_instruction(c, (struct instruction){.op = OP_BOOL}, 0)
                       : emit_instruction(c, (struct instruction){.op = (uint8_t) operator->op}, -1);
    if (!status && jumps)
        c->code[jump].target = (uint16_t)(c->count);
    return status;
}

static enum status parse_expr_binary(struct compiler *c, int least)
{
    if (++c->nesting > EXPR_NESTING)
        return fail_expr(c, "nested too deeply");
    enum status status = parse_expr_primary(c);
    const struct operator* operator;
    while (!status && (operator= expr_operator_at(c)) && operator->precedence >= least) {
        c->at += strlen(operator->text);
        status = parse_right_side(c, operator);
    }
    c->nesting--;
    return status;
}

static enum status compile_expr(const struct expr **out, struct arena *arena, const char *text,
                                const struct expr_names *names, bool real, struct error *err)
{
    struct compiler c = {.at = text, .arena = arena, .names = names, .err = err, .real = real};
    enum status status = parse_expr_binary(&c, 1);
    if (!status && *c.at)
        status = fail_expr(&c, "expected an operator or the end");
    if (status) {
        error_prefix(err, "expression '%.60s'", text);
        return status;
    }
    struct expr *expr = arena_alloc(arena, sizeof *expr + c.count * sizeof c.code[0]);
    if (expr)
        expr->text = arena_text(arena, text, strlen(text));
    if (!expr || !expr->text)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    expr->count = c.count;
    memcpy(expr->code, c.code, c.count * sizeof c.code[0]);
    *out = expr;
    return STATUS_OK;
}

enum status expr_compile(const struct expr **out, struct arena *arena, const char *text,
                         const struct expr_names *names, struct error *err)
{
    return compile_expr(out, arena, text, names, false, err);
}

enum status expr_compile_real(const struct expr **out, struct arena *arena, const char *text,
                              const struct expr_names *names, struct error *err)
{
    return compile_expr(out, arena, text, names, true, err);
}

/* ---- running ---- */

static enum fault divide(enum op op, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return FAULT_ZERO;
    if (a == INT64_MIN && b == -1)
        return FAULT_OVERFLOW;
    int64_t quotient = a / b, rest = a % b;
    if (op == OP_CEIL_DIV && rest != 0 && (rest > 0) == (b > 0))
        quotient++; /* C rounds towards zero: up is one more only where the quotient is positive */
    *out = op == OP_MOD ? rest : quotient;
    return FAULT_NONE;
}

static enum fault apply_binary(enum op op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case OP_MUL:
        return __builtin_mul_overflow(a, b, out) ? FAULT_OVERFLOW : FAULT_NONE;
    case OP_ADD:
        return __builtin_add_overflow(a, b, out) ? FAULT_OVERFLOW : FAULT_NONE;
    case OP_SUB:
        return __builtin_sub_overflow(a, b, out) ? FAULT_OVERFLOW : FAULT_NONE;
    case OP_DIV:
    case OP_MOD:
    case OP_CEIL_DIV:
        return divide(op, a, b, out);
        EXPR_ORDER_CASES(a, b, out);
    default: /* of real expressions alone */
        return FAULT_NAN;
    }
    return FAULT_NONE;
}

static enum fault run_expr(const struct expr *expr, const int64_t *slot, int64_t *out)
{
    int64_t stack[EXPR_DEPTH + 1] = {0}; /* the first place is below the bottom */
    int64_t *top = stack;
    for (unsigned i = 0; i < expr->count; i++) {
        const struct instruction *at = &expr->code[i];
        enum fault fault = FAULT_NONE;
        switch ((enum op)at->op) {
        case OP_NUMBER:
            *++top = at->number;
            break;
        case OP_SLOT:
            *++top = slot[at->target];
            break;
        case OP_NEGATE:
            fault = apply_binary(OP_SUB, 0, *top, top);
            break;
        case OP_NOT:
            *top = !*top;
            break;
        case OP_BOOL:
            *top = *top != 0;
            break;
        case OP_AND:
        case OP_OR:
            if ((*top != 0) == (at->op == OP_OR)) {
                *top = at->op == OP_OR;
                i = at->target - 1u;
            } else {
                top--;
            }
            break;
        default:
            top--;
            fault = apply_binary((enum op)at->op, top[0], top[1], top);
            break;
        }
        if (fault)
            return fault;
    }
    *out = *top;
    return FAULT_NONE;
}

bool expr_eval(const struct expr *expr, const int64_t *slot, int64_t *out)
{
    return run_expr(expr, slot, out) == FAULT_NONE;
}

void expr_explain(const struct expr *expr, const int64_t *slot, struct error *err)
{
    int64_t value;
    enum fault fault = run_expr(expr, slot, &value);
    char values[256] = "";
    size_t used = 0;
    for (unsigned i = 0; i < expr->count && used < sizeof values - 1; i++) {
        const struct instruction *at = &expr->code[i];
        if (at->op != OP_SLOT)
            continue;
        bool seen = false;
        for (unsigned j = 0; j < i; j++)
            seen |= expr->code[j].op == OP_SLOT && expr->code[j].target == at->target;
        if (seen)
            continue;
        int length = snprintf(values + used, sizeof values - used, "%s%s = %lld", used ? ", " : "",
                              at->name, (long long)slot[at->target]);
        used += length > 0 ? (size_t)length : 0;
    }
    const char *reason = fault == FAULT_ZERO       ? "division by zero"
                         : fault == FAULT_OVERFLOW ? "more than 64 bits"
                                                   : "";
    char result[32];
    if (fault == FAULT_NONE) {
        snprintf(result, sizeof result, "%lld", (long long)value);
        reason = result;
    }
    error_set(err, STATUS_INVALID, "%s: %s%s%s%s", expr->text, reason, used ? " (" : "", values,
              used ? ")" : "");
}

bool expr_constant(const struct expr *expr, int64_t *out)
{
    for (unsigned i = 0; i < expr->count; i++) {
        if (expr->code[i].op == OP_SLOT)
            return false;
    }
    return run_expr(expr, NULL, out) == FAULT_NONE;
}

void expr_slots(const struct expr *expr, void (*use)(void *user, int slot), void *user)
{
    for (unsigned i = 0; i < expr->count; i++) {
        if (expr->code[i].op == OP_SLOT)
            use(user, expr->code[i].target);
    }
}

const char *expr_text(const struct expr *expr)
{
    return expr->text;
}
