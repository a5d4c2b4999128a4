/*
 * ref_list.h - the index of the built-in references, for binding and running them.
 *
 * ref_builtins is generated from the REFERENCE(...) lines of refs/ by tools/dev/refgen.
 * A reference is several kernels of the embedded fatbin, all of the same formula.
 */
#ifndef REFS_REF_LIST_H
#define REFS_REF_LIST_H

#include <stddef.h>
#include "ref_abi.h"

enum ref_variant {
    REF_ANY,  /* takes every ref_call; carries its error bound in f32, which is enough for every
                 accumulator up to f32 */
    REF_WIDE, /* the same with the bound in f64, for f64 accumulators and f64 arrays; a reference
                 that is compiled once has this kernel for REF_ANY as well */
    REF_BF16, /* these three are quicker, where all inputs and all arrays of rank 2 and more have */
    REF_F16, /* this dtype and dense rows of whole 16-byte words; another input they refuse whole */
    REF_F32,
    REF_VARIANTS
};

/* What follows from the macros in a reference's text: contracts of a tolerance that apply to it,
 * and whether it judges an element more than once. */
enum ref_use {
    REF_USES_MASKED = 1, /* MASKED: masked_rows */
    REF_USES_MIX = 2,    /* MIX: inner */
    REF_USES_ROW = 4,    /* ROW: lanes */
    REF_REPEATS = 8,     /* REPEATED: no statistics (notes.h) */
};

struct user_reference; /* shim/registry/user_ref.h */

/* What is needed of a reference to bind, launch and report it. References of a registry are
 * declared in the same form, by registry/user_ref.h. */
struct ref_builtin {
    const char *name;                  /* "rmsnorm" */
    const char *formals;               /* "in x[rows][cols], in w[cols] = 1, ..." */
    const char *symbol[REF_VARIANTS];  /* "cuvet_ref_rmsnorm", ...; NULL: no such variant */
    const char *file;                  /* "refs/row/norm.cu", for documentation and messages */
    const struct user_reference *user; /* NULL: built in */
    unsigned uses;                     /* of enum ref_use */
};

extern const struct ref_builtin ref_builtins[];
extern const size_t ref_builtin_count;

/* The formula of each, in the same order, as the comment above it in refs/ has it. */
extern const char *const ref_builtin_formulas[];

/* The arrays that each reads as indices, in the same order: " ids slots ". */
extern const char *const ref_builtin_indices[];

#endif
