/*
 * ref_inputs.h - what a reference's inputs have to look like, by the names of its formals, for
 * tests that draw them: an index must be one of the table that it points into, a variance is
 * positive.
 *
 * Plain C, for test_catalogue.c and tests/gpu/ref_parity.cu.
 */
#ifndef TESTS_REF_INPUTS_H
#define TESTS_REF_INPUTS_H

#include <stddef.h>
#include <string.h>

struct ref_input {
    const char *reference, *formal; /* reference NULL: of any */
    const char *below;              /* an index: the size that it stays under */
    int bit, positive;              /* only 0 and 1; a magnitude */
};

/* The row for this formal, or NULL for numbers of any kind. */
static inline const struct ref_input *ref_input_find(const char *reference, const char *formal)
{
    static const struct ref_input rows[] = {
        {NULL, "ids", "entries", 0, 0},    {"gather", "index", "entries", 0, 0},
        {NULL, "target", "classes", 0, 0}, {NULL, "position", "positions", 0, 0},
        {"histogram", "x", "bins", 0, 0},  {"dropout", "mask", NULL, 1, 0},
        {"adamw", "v", NULL, 0, 1},        {NULL, "rstd", NULL, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].formal, formal) == 0 &&
            (!rows[i].reference || strcmp(rows[i].reference, reference) == 0))
            return &rows[i];
    }
    return NULL;
}

/* A scalar's value in tests; a name without a row is 0.7, an int formal keeps its default. */
static inline double ref_scalar(const char *formal)
{
    static const struct {
        const char *name;
        double value;
    } rows[] = {{"eps", 1e-5},       {"direction", -1},   {"beta1", 0.9}, {"beta2", 0.99},
                {"c1", 0.271},       {"c2", 0.0297},      {"lr", 1e-2},   {"decay", 0.1},
                {"dampening", 0.25}, {"grad_scale", 0.5}, {"offset", 1},  {"p", 0.1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, formal) == 0)
            return rows[i].value;
    }
    return 0.7;
}

#endif
