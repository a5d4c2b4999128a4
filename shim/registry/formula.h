/*
 * formula.h - a formula of the registry: what each element of one output is, written down.
 *
 *     y = a + alpha * b
 *     y = x > 0 ? x : slope * expm1(x)
 *
 *     + - * /   < <= > >= == !=   && || !   c ? a : b   unary minus   parentheses   numbers
 *     functions: max min pow exp sigmoid ..., the words of refs/abi/ref_formula.h; f32, f16 and
 * bf16 round to that type, and so does the name of a type that stands for one of them or f64
 *
 * Names of arrays stand for their elements at the same place; any other name is one number for the
 * whole launch, and so is an element of memory, "lr[0]". The product is the program that the
 * reference `formula` runs; its numbers stay texts, which the plan compiles. Pure; any thread.
 */
#ifndef REGISTRY_FORMULA_H
#define REGISTRY_FORMULA_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "lang/dtype.h"
#include "refs/abi/ref_formula.h"

struct formula {
    const char *output;
    bool open; /* a type that it rounds to is not known yet: nothing is rounded there */
    unsigned inputs, numbers;
    const char *input[FORMULA_INPUTS];
    const char *number[FORMULA_NUMBERS]; /* a constant, a name, or "lr[0]" */
    int64_t word[FORMULA_WORDS];
};

struct formula_names {
    bool (*is_array)(void *user, const char *name);
    /* The type that the name stands for, DTYPE_NONE while that is open; false: it is no type's.
     * NULL: there are no such names. */
    bool (*type_of)(void *user, const char *name, enum dtype *out);
    void *user;
};

/* STATUS_INVALID with "formula 'y = a +': at the end: ..." for a bad text. Texts are the arena's.
 */
enum status formula_compile(struct formula *out, struct arena *arena, const char *text,
                            const struct formula_names *names, struct error *err);

#endif
