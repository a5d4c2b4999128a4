/*
 * hlo.h - an HLO module as XLA dumps it as text: computations of operations with shapes.
 *
 * Life: all of it is in the caller's arena; names point into it. Not thread safe.
 */
#ifndef XLA_HLO_H
#define XLA_HLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "lang/dtype.h"

enum { HLO_RANK = 8, HLO_PARTS = 16 };

struct hlo_shape {
    enum dtype dtype; /* DTYPE_NONE: one that the registry has no name for */
    unsigned rank;
    int64_t dim[HLO_RANK], stride[HLO_RANK]; /* strides in elements, as the layout has them */
    int64_t count;
};

/* The product of the dims; -1: one of them is negative, or there are more than 2^48 elements. */
int64_t hlo_elements(const int64_t *dim, unsigned rank);

struct hlo_op {
    const char *name, *opcode, *attributes; /* attributes: what is behind the operands */
    const char *inside;                /* what stands in the parentheses: a literal, a number */
    struct hlo_shape shape[HLO_PARTS]; /* one, or those of a tuple */
    unsigned parts;                    /* 0: a shape beyond these limits */
    const char **operand;
    unsigned operands;
    struct hlo_op *next;
};

struct hlo_computation {
    const char *name;
    struct hlo_op *first, *root;
    bool entry;
    struct hlo_computation *next;
};

/* *out: the computations of the text, the entry among them. The text is changed. STATUS_INVALID:
 * there is no entry; STATUS_NO_MEMORY. */
enum status hlo_read(char *text, struct arena *arena, struct hlo_computation **out,
                     struct error *err);

struct hlo_computation *hlo_computation_of(struct hlo_computation *all, const char *name);
struct hlo_op *hlo_find(const struct hlo_computation *of, const char *name);
/* Numbers of dims, such as dimensions={1,0}: their count, -1 where there are none or others. */
int hlo_numbers(const struct hlo_op *op, const char *attribute, int64_t *out, int most);
/* A word such as to_apply=%add; NULL: none, or no memory. */
const char *hlo_word(const struct hlo_op *op, const char *attribute, struct arena *arena);

#endif
