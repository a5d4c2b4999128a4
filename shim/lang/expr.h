/*
 * expr.h - integer expressions of the registry: "ceil_div(rows, 4) * grid.x"; real ones at the end.
 *
 *     + - * / %   min(a, b, ...) max(a, b, ...) ceil_div(a, b)   == != < <= > >=   && || !
 *     parentheses, unary minus, decimal and 0x numbers, names, dotted names (grid.x, params.n),
 *     elements (lengths[n - 1])
 *
 * Meaning is C's on int64_t, except that overflow and division by zero are errors, not accidents.
 * Compiled once to a postfix program whose names are slots of an int64_t array; evaluation looks
 * nothing up, allocates nothing, does not recurse. Immutable after compiling: any thread.
 */
#ifndef LANG_EXPR_H
#define LANG_EXPR_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"

enum {
    EXPR_DEPTH = 32,   /* values on the stack of an evaluation */
    EXPR_NESTING = 32, /* of parentheses and prefixes in the text */
    EXPR_OPS = 256,
};

struct expr;

/*
 * Where names come from: `find` returns a slot (0 or more), or -1 for an unknown name; then it may
 * write a sentence of its own, else the sentence is "unknown name 'x'". `index` is NULL, or the
 * text between the brackets of "x[..]", which `find` parses.
 */
struct expr_names {
    int (*find)(void *user, const char *name, const char *index, struct error *err);
    void *user;
};

/* STATUS_INVALID with "at 'X': ..." for a bad text. The program is the arena's. */
enum status expr_compile(const struct expr **out, struct arena *arena, const char *text,
                         const struct expr_names *names, struct error *err);

/* True and *out, or false: overflow or division by zero; expr_explain then reports which. */
bool expr_eval(const struct expr *expr, const int64_t *slot, int64_t *out);

/* Evaluates again and writes "rows / width: division by zero (rows = 8, width = 0)". */
void expr_explain(const struct expr *expr, const int64_t *slot, struct error *err);

/* True and *out when the value needs no slot. */
bool expr_constant(const struct expr *expr, int64_t *out);

/* Calls `use` for each slot that the expression reads (more than once perhaps). */
void expr_slots(const struct expr *expr, void (*use)(void *user, int slot), void *user);

const char *expr_text(const struct expr *expr);

/*
 * Real expressions, for what is a number and no size: "1 - s", "1 / sqrt(d)". Computed in f64, so
 * that 1 / 2 is 0.5; numbers may be 1.5 or 1e-5; besides the functions above there are sqrt(a),
 * exp(a), log(a) and pow(a, b). A slot's value comes from `value`.
 */
typedef double (*expr_value_fn)(const void *user, int slot);

enum status expr_compile_real(const struct expr **out, struct arena *arena, const char *text,
                              const struct expr_names *names, struct error *err);

/* True and a finite *out, or false; expr_explain_real then writes why, and the values. */
bool expr_eval_real(const struct expr *expr, expr_value_fn value, const void *user, double *out);
void expr_explain_real(const struct expr *expr, expr_value_fn value, const void *user,
                       struct error *err);

#endif
