/*
 * ways.h - the ways to run a reference, and what its kernels are called: `add_f32`, and with the
 * codes that one of its arrays holds `linear_blocks_f32_q4_K`. For registry.c, which makes the
 * kernels, and program.c, which launches them.
 */
#ifndef CATALOGUE_WAYS_H
#define CATALOGUE_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "refs/abi/ref_list.h"
#include "tests/common/ref_inputs.h"
#include "lang/dtype.h"
#include "lang/formals.h"

/* A way to run a reference, and the kernel of it that is meant. */
static const struct way {
    const char *type;
    enum dtype dtype;
    enum ref_variant variant;
    int row;   /* elements of a row: some are whole words of 16 bytes, some are not */
    bool bare; /* optional inputs are not given */
} ways[] = {{"f32", DTYPE_F32, REF_ANY, 13, false},    {"f32", DTYPE_F32, REF_ANY, 13, true},
            {"f64", DTYPE_F64, REF_WIDE, 13, false},   {"f32", DTYPE_F32, REF_F32, 16, false},
            {"bf16", DTYPE_BF16, REF_BF16, 16, false}, {"f16", DTYPE_F16, REF_F16, 16, false}};
enum { WAYS = sizeof ways / sizeof *ways, KERNEL_NAME = 64 };

static inline bool way_applies(const struct way *way, const struct ref_builtin *reference)
{
    const char *symbol = reference->symbol[way->variant];
    if (way->variant == REF_WIDE && strcmp(symbol, reference->symbol[REF_ANY]) == 0)
        return false; /* it has run */
    return symbol;
}

/* The dtype of an array in a way's `dtype`; of indices it is i64. */
static inline enum dtype way_dtype(const char *reference, const char *formal, enum dtype dtype,
                                   unsigned turn)
{
    const struct ref_input *input = ref_input_find(reference, formal);
    return input && input->below ? DTYPE_I64 : ref_input_dtype(input, dtype, turn);
}

/* The formal whose codes differ from turn to turn, or NULL. */
static inline const struct formal *way_coded(const char *reference, const struct formals *formals)
{
    for (int i = 0; i < formals->count; i++) {
        if (ref_input_turns(ref_input_find(reference, formals->formal[i].name)) > 1)
            return &formals->formal[i];
    }
    return NULL;
}

static inline unsigned way_turns(const char *reference, const struct formals *formals)
{
    const struct formal *coded = way_coded(reference, formals);
    return coded ? ref_input_turns(ref_input_find(reference, coded->name)) : 1;
}

/* "add_f32"; `type` may be a pattern for types. */
static inline void way_kernel(char name[KERNEL_NAME], const char *reference,
                              const struct formals *formals, const char *type, unsigned turn)
{
    const struct formal *coded = way_coded(reference, formals);
    int length = snprintf(name, KERNEL_NAME, "%s_%s", reference, type);
    if (coded)
        snprintf(name + length, (size_t)(KERNEL_NAME - length), "_%s",
                 dtype_text(way_dtype(reference, coded->name, DTYPE_NONE, turn)));
}

#endif
