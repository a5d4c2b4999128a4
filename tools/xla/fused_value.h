/* fused_value.h - what an operation of a fused computation is at a place, as an expression. */
#ifndef XLA_FUSED_VALUE_H
#define XLA_FUSED_VALUE_H

#include "text/textbuf.h"
#include "tools/xla/fused.h"

enum fused_use { FUSED_NOWHERE, FUSED_HERE, FUSED_ELSEWHERE };

struct fused_writer {
    struct arena *arena;
    struct hlo_computation *all, *in;
    struct textbuf *body; /* statements in front of the output's */
    const struct hlo_op *output;
    const char *column;        /* the second index of all arrays */
    int64_t n;                 /* elements of the output */
    const char *why;           /* set with the first refusal */
    bool rounds, tf32, places; /* places: a value depends on the index itself */
    bool term;                 /* inside a sum: no statements */
    unsigned names, depth;
    enum fused_use used[FUSED_ARRAYS];
    struct fused_known *known;
};

/* A place in an array: its number in the order of bytes, or an index for each dim, as text. */
struct fused_place {
    const char *linear;
    const char *index[HLO_RANK];
};

struct fused_place fused_place(struct fused_writer *w); /* the output's own */
/* NULL: refused (why), or no memory. */
const char *fused_value(struct fused_writer *w, const struct hlo_op *op, struct fused_place place);
/* The most elements that go into one, 0: nothing is reduced. */
int64_t fused_reduced(const struct fused_writer *w);

/* ---- for the files of operations ---- */

enum { TERM_MOST = 8000, DEPTH_MOST = 1500 }; /* characters of an expression; calls in each other */

#define TEXT(w, ...) arena_format((w)->arena, __VA_ARGS__)

/* NULL, and the sentence with `name` in it where there is none yet. */
const char *fused_refuse(struct fused_writer *w, const char *what, const char *name);
/* The operand, which stands before its use in the text; NULL: there is none such. */
struct hlo_op *fused_operand(const struct fused_writer *w, const struct hlo_op *op, unsigned i);
/* The index along dim `d` of an array of that shape, and its number in the order of bytes. */
const char *fused_index(struct fused_writer *w, const struct fused_place *place,
                        const struct hlo_shape *shape, unsigned d);
const char *fused_linear(struct fused_writer *w, const struct fused_place *place,
                         const struct hlo_shape *shape);
/* The text with `a` for @ and `b` for $. */
const char *fused_put(struct fused_writer *w, const char *text, const char *a, const char *b);

/* The operation's value, as fused_value. */
#define FUSED_OPERATION(name)                                                                      \
    const char *fused_##name(struct fused_writer *w, const struct hlo_op *op,                      \
                             const struct fused_place *place)
FUSED_OPERATION(broadcast);
FUSED_OPERATION(transpose);
FUSED_OPERATION(reshape); /* bitcast, too */
FUSED_OPERATION(slice);
FUSED_OPERATION(concatenate);
FUSED_OPERATION(pad);
FUSED_OPERATION(iota);
FUSED_OPERATION(parameter);
FUSED_OPERATION(reduce);
FUSED_OPERATION(dot);

#endif
