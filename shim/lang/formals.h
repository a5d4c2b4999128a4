/*
 * formals.h - the declared arguments of a reference: "in x[rows][cols], in w[cols] = 1,
 * out y[rows][cols], out rstd?[rows], real eps, int k, each rows".
 *
 * Grammar: formal {"," formal} {"," (each | touch | product | sums)};
 *          formal = ("in"|"coded"|"out"|"inout") name ["?"] {"[" dim "]"} ["=" number]
 *                 | ("real"|"int") name ["=" number] | "point" name;
 *          dim = name | positive integer;
 *          each = "each" name [("with" | "like") name] [("given" | "by") name];
 *          touch = "touch" name [name] "by" name;
 *          product = "product" name "=" [name] name name {"+" [name] name}
 *                    ["by" name name [name]] ["times" name];
 *          sums = "sums" name "=" name name "over" dim {dim}.
 * `coded` is an `in` whose elements may be in a block format. An `in` with a default or `?` may
 * stay unbound: reads then give the default (0 without one). An `out?` may stay unbound: it is not
 * compared. Array formals come before scalars in ref_call in order of appearance; named dims, in
 * order of first appearance, fill ref_call.size, and int formals follow them. A point is a place in
 * the formula where a kernel may round (refs/dialect/ref_point.h): no argument stands behind it, a
 * tolerance row may give it a dtype.
 *
 * "each kv_heads with heads": an item of `kv_heads` has as many consecutive entries of `heads` as
 * fall to it; this excludes launches in which they do not divide evenly. "each rows like scales":
 * `scales` has an entry for each of the rows or one for all; a launch with any other number is
 * excluded. Of the two dims an array has at most one. Neither goes with `by`.
 *
 * "touch entries by ids": rows of the dim `entries`, the first of every array that has it, are
 * reached through the elements of the input `ids` and in no other way; "touch blocks page by
 * slots": an element names place slots % page of row slots / page. "each tokens by slots", behind
 * it, is a promise for launches of which only these rows are seen: they count as items of `tokens`.
 *
 * "product c = alpha a b + bias": the output c is alpha, a real, times the product of the matrices
 * a and b, and what is added. The last dims of c are those that it shares with one of the two; the
 * dim that these share and c has not is summed over; a dim of all three is a batch. "by a_scale
 * b_scale group": each element of a is multiplied by one of a_scale, of b by one of b_scale, where
 * a scale stands for one element, for all, or for a block (REF_SCALE_GROUP); `group` is an int.
 * Then a lies as [m][k] and b as [k][n].
 * "times d_scale": all of it is multiplied by the only element of d_scale.
 *
 * "sums dw = x dy over batch out_h out_w": an element of the output dw is the sum of at most that
 * many products of elements of x and dy, as tensor cores add them up.
 */
#ifndef LANG_FORMALS_H
#define LANG_FORMALS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "refs/abi/ref_abi.h"

enum formal_kind { FORMAL_IN, FORMAL_OUT, FORMAL_INOUT, FORMAL_REAL, FORMAL_INT, FORMAL_POINT };
enum {
    FORMAL_NAME = 32,
    FORMALS_MAX = REF_MAX_TENSORS + REF_MAX_SCALARS + REF_MAX_POINTS,
    FORMALS_EACH = 4,
    FORMALS_TOUCH = 4,
    FORMALS_ADDED = 2,
    FORMALS_SUMMED = 4
};

struct formal {
    char name[FORMAL_NAME];
    enum formal_kind kind;
    bool optional;   /* may stay unbound */
    bool coded;      /* may be in a block format */
    double fallback; /* the default of an unbound one */
    int ndim;
    struct formal_dim {
        int size;        /* index into formals.size_name, or -1 */
        int64_t literal; /* where size is -1 */
    } dim[REF_MAX_DIMS];
    int slot; /* index into ref_call.tensor, .scalar, .size or .point, by kind */
};

struct formals {
    int count;
    struct formal formal[FORMALS_MAX];
    int tensors, scalars, points;
    int sizes; /* named dims and int formals */
    char size_name[REF_MAX_SIZES][FORMAL_NAME];
    int eaches;
    struct formal_each {
        int size;  /* index into size_name */
        int with;  /* the same of the dim that goes with it, or -1 ... */
        bool like; /* ... entry by entry, or one for all; else some for each */
        int given; /* slot of the input that must be bound, or -1 */
        int by;    /* slot of the input that must name touched rows, or -1 */
    } each[FORMALS_EACH];
    int touches;
    struct formal_touch {
        int size[2]; /* indices into size_name: of the rows, and of places in one, or -1 */
        int by;      /* slot of the input */
    } touch[FORMALS_TOUCH];
    bool has_product;
    struct formal_product {
        int out, a, b;              /* slots of arrays */
        int alpha;                  /* slot of a real, or -1: 1 */
        int batch, rows, cols, sum; /* indices into size_name; batch may be -1 */
        int addends;
        struct formal_addend {
            int array, scale; /* slots; scale: of a real, or -1: 1 */
        } added[FORMALS_ADDED];
        bool scaled, timed;          /* "by", "times" */
        int a_scale, b_scale, times; /* slots of arrays */
        int group;                   /* index into formal, or -1: 0 */
    } product;
    struct formal_sums {
        int out, a, b; /* slots of arrays */
        int dims;      /* that are summed over; 0: there is no such clause */
        int size[FORMALS_SUMMED];
    } sums;
};

/* Parses `text`. No allocation. STATUS_INVALID with column and expectation in `err`. */
enum status formals_parse(struct formals *formals, const char *text, struct error *err);

/* Where the array has the dim `size`, or -1. */
int formals_axis(const struct formal *formal, int size);

/* The axis on which the array has the dim of the `each` clause, or the linked one, or -1. */
int formals_each_axis(const struct formal *formal, const struct formal_each *each);

/* The `touch` clause for rows of the formal that the input in slot `by` names, or NULL. */
const struct formal_touch *formals_touch(const struct formals *formals, const struct formal *formal,
                                         int by);

/* Whether it is an array: in, out or inout. */
static inline bool formal_is_array(const struct formal *formal)
{
    return formal->kind <= FORMAL_INOUT;
}

/* The array formal in that slot, which there is. */
const struct formal *formals_array(const struct formals *formals, int slot);

/* The formal of that name, or NULL. */
const struct formal *formals_find(const struct formals *formals, const char *name);

#endif
