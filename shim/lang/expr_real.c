/*
 * expr_real.c - real expressions: the same postfix program run in f64.
 *
 * A result that is no finite number is a fault, as is division by zero. Comparisons give 1 or 0.
 */
#include <math.h>
#include <stdio.h>
#include "lang/expr_code.h"

static enum fault real_divide(enum op op, double a, double b, double *out)
{
    if (b == 0)
        return FAULT_ZERO;
    *out = op == OP_MOD ? fmod(a, b) : op == OP_CEIL_DIV ? ceil(a / b) : a / b;
    return FAULT_NONE;
}

static enum fault real_binary(enum op op, double a, double b, double *out)
{
    switch (op) {
    case OP_MUL:
        *out = a * b;
        break;
    case OP_ADD:
        *out = a + b;
        break;
    case OP_SUB:
        *out = a - b;
        break;
    case OP_DIV:
    case OP_MOD:
    case OP_CEIL_DIV:
        return real_divide(op, a, b, out);
        EXPR_ORDER_CASES(a, b, out);
    default: /* OP_POW */
        *out = pow(a, b);
        break;
    }
    return FAULT_NONE;
}

/* False where it is no operation on one number. */
static bool real_unary(enum op op, double *x)
{
    switch (op) {
    case OP_NEGATE:
        *x = -*x;
        return true;
    case OP_NOT:
        *x = *x == 0;
        return true;
    case OP_BOOL:
        *x = *x != 0;
        return true;
    case OP_SQRT:
        *x = sqrt(*x);
        return true;
    case OP_EXP:
        *x = exp(*x);
        return true;
    case OP_LOG:
        *x = log(*x);
        return true;
    default:
        return false;
    }
}

static enum fault run_real(const struct expr *expr, expr_value_fn value, const void *user,
                           double *out)
{
    double stack[EXPR_DEPTH + 1] = {0}; /* the first place is below the bottom */
    double *top = stack;
    for (unsigned i = 0; i < expr->count; i++) {
        const struct instruction *at = &expr->code[i];
        enum op op = (enum op)at->op;
        enum fault fault = FAULT_NONE;
        if (op == OP_NUMBER) {
            *++top = at->real;
        } else if (op == OP_SLOT) {
            *++top = value(user, at->target);
        } else if (op == OP_AND || op == OP_OR) {
            if ((*top != 0) == (op == OP_OR)) {
                *top = op == OP_OR;
                i = at->target - 1u;
            } else {
                top--;
            }
        } else if (!real_unary(op, top)) {
            top--;
            fault = real_binary(op, top[0], top[1], top);
        }
        if (!fault && !isfinite(*top))
            fault = FAULT_NAN;
        if (fault)
            return fault;
    }
    *out = *top;
    return FAULT_NONE;
}

bool expr_eval_real(const struct expr *expr, expr_value_fn value, const void *user, double *out)
{
    return run_real(expr, value, user, out) == FAULT_NONE;
}

void expr_explain_real(const struct expr *expr, expr_value_fn value, const void *user,
                       struct error *err)
{
    double result;
    enum fault fault = run_real(expr, value, user, &result);
    char values[256] = "";
    size_t used = 0;
    for (unsigned i = 0; i < expr->count && used < sizeof values - 1; i++) {
        const struct instruction *at = &expr->code[i];
        bool seen = at->op != OP_SLOT;
        for (unsigned j = 0; j < i; j++)
            seen |= expr->code[j].op == OP_SLOT && expr->code[j].target == at->target;
        if (seen)
            continue;
        int length = snprintf(values + used, sizeof values - used, "%s%s = %g", used ? ", " : "",
                              at->name, value(user, at->target));
        used += length > 0 ? (size_t)length : 0;
    }
    error_set(err, STATUS_INVALID, "%s: %s%s%s%s", expr_text(expr),
              fault == FAULT_ZERO ? "division by zero" : "no finite number", used ? " (" : "",
              values, used ? ")" : "");
}
