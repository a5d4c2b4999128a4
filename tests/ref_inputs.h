/*
 * ref_inputs.h - what a reference's inputs have to look like, by the names of its formals, for
 * tests that draw them: an index must be one of the table that it points into, a variance is
 * positive, codes have a dtype of their own.
 *
 * Plain C, for test_catalogue.c and tests/gpu/ref_parity.cu.
 */
#ifndef TESTS_REF_INPUTS_H
#define TESTS_REF_INPUTS_H

#include <stddef.h>
#include <string.h>
#include "refs/ref_abi.h"

/* Dtypes of which a test takes one after the other. */
enum { REF_BYTES = -1, REF_BLOCKS = -2 };

struct ref_input {
    const char *reference, *formal; /* reference NULL: of any */
    const char *below;              /* an index: the size that it stays under */
    int bit, positive;              /* only 0 and 1; a magnitude */
    int dtype;                      /* enum dtype, REF_BYTES or REF_BLOCKS; 0: as other arrays */
};

/* The row for this formal, or NULL for numbers of any kind. */
static inline const struct ref_input *ref_input_find(const char *reference, const char *formal)
{
    static const struct ref_input rows[] = {
        {NULL, "ids", "entries", 0, 0, 0},
        {"gather", "index", "entries", 0, 0, 0},
        {NULL, "target", "classes", 0, 0, 0},
        {NULL, "position", "positions", 0, 0, 0},
        {"histogram", "x", "bins", 0, 0, 0},
        {"dropout", "mask", NULL, 1, 0, 0},
        {"adamw", "v", NULL, 0, 1, 0},
        {NULL, "rstd", NULL, 0, 1, 0},
        {"dequantise", "q", NULL, 0, 0, REF_BYTES},
        {"dequantise", "scale", NULL, 0, 1, 0},
        {"quantise", "q", NULL, 0, 0, REF_BYTES},
        {"quantise", "scale", NULL, 0, 1, 0},
        {"quantise_rows", "q", NULL, 0, 0, REF_BYTES},
        {"quantise_rows", "most", NULL, 0, 1, 0},
        {"dequantise_blocks", "w", NULL, 0, 0, REF_BLOCKS},
        {"embedding_blocks", "table", NULL, 0, 0, REF_BLOCKS},
        {"linear_blocks", "w", NULL, 0, 0, REF_BLOCKS},
        {"linear_blocks", "x", NULL, 0, 0, DTYPE_Q8_1},
        {"linear_int8", "x", NULL, 0, 0, DTYPE_I8},
        {"linear_int8", "w", NULL, 0, 0, DTYPE_I8},
        {"linear_f8", "x", NULL, 0, 0, DTYPE_F8E4M3},
        {"linear_f8", "w", NULL, 0, 0, DTYPE_F8E4M3},
        {NULL, "x_scale", NULL, 0, 1, 0},
        {NULL, "w_scale", NULL, 0, 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].formal, formal) == 0 &&
            (!rows[i].reference || strcmp(rows[i].reference, reference) == 0))
            return &rows[i];
    }
    return NULL;
}

/* The dtype of a formal's elements where the others are `dtype`; `turn` picks one of several. */
static inline enum dtype ref_input_dtype(const struct ref_input *kind, enum dtype dtype,
                                         unsigned turn)
{
    static const enum dtype bytes[] = {DTYPE_I8, DTYPE_F8E4M3, DTYPE_F8E5M2, DTYPE_U8};
    if (kind && kind->dtype == REF_BYTES)
        return bytes[turn % 4];
    if (kind && kind->dtype == REF_BLOCKS)
        return (enum dtype)(DTYPE_Q4_0 + (int)(turn % (DTYPE_Q6_K - DTYPE_Q4_0 + 1)));
    return kind && kind->dtype ? (enum dtype)kind->dtype : dtype;
}

/* A scalar's value in tests; a name without a row is 0.7, an int formal keeps its default. */
static inline double ref_scalar(const char *formal)
{
    static const struct {
        const char *name;
        double value;
    } rows[] = {{"eps", 1e-5},       {"direction", -1},   {"beta1", 0.9}, {"beta2", 0.99},
                {"c1", 0.271},       {"c2", 0.0297},      {"lr", 1e-2},   {"decay", 0.1},
                {"dampening", 0.25}, {"grad_scale", 0.5}, {"offset", 1},  {"p", 0.1},
                {"limit", 0},        {"least", 1e-3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, formal) == 0)
            return rows[i].value;
    }
    return 0.7;
}

#endif
