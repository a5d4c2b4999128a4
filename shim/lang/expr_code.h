/* expr_code.h - the postfix program of an expression, shared by expr.c and expr_real.c. */
#ifndef LANG_EXPR_CODE_H
#define LANG_EXPR_CODE_H

#include "lang/expr.h"

enum op {
    OP_NUMBER,
    OP_SLOT,
    OP_NEGATE,
    OP_NOT,
    OP_BOOL,
    OP_AND, /* top is 0: keep it and jump; else drop it */
    OP_OR,  /* top is not 0: make it 1 and jump; else drop it */
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_ADD,
    OP_SUB,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_EQ,
    OP_NE,
    OP_MIN,
    OP_MAX,
    OP_CEIL_DIV,
    OP_POW, /* these four of real expressions alone */
    OP_SQRT,
    OP_EXP,
    OP_LOG,
};

struct instruction {
    uint8_t op;
    uint16_t target;  /* OP_AND, OP_OR: jump; OP_SLOT: the slot */
    int64_t number;   /* OP_NUMBER */
    double real;      /* the same of a real expression */
    const char *name; /* OP_SLOT */
};

struct expr {
    const char *text;
    unsigned count;
    struct instruction code[];
};

/* The cases of a binary operator that are the same for integers and reals. */
#define EXPR_ORDER_CASES(a, b, out)                                                                \
    case OP_LT:                                                                                    \
        *(out) = (a) < (b);                                                                        \
        break;                                                                                     \
    case OP_LE:                                                                                    \
        *(out) = (a) <= (b);                                                                       \
        break;                                                                                     \
    case OP_GT:                                                                                    \
        *(out) = (a) > (b);                                                                        \
        break;                                                                                     \
    case OP_GE:                                                                                    \
        *(out) = (a) >= (b);                                                                       \
        break;                                                                                     \
    case OP_EQ:                                                                                    \
        *(out) = (a) == (b);                                                                       \
        break;                                                                                     \
    case OP_NE:                                                                                    \
        *(out) = (a) != (b);                                                                       \
        break;                                                                                     \
    case OP_MIN:                                                                                   \
        *(out) = (a) < (b) ? (a) : (b);                                                            \
        break;                                                                                     \
    case OP_MAX:                                                                                   \
        *(out) = (a) > (b) ? (a) : (b);                                                            \
        break

enum fault { FAULT_NONE, FAULT_OVERFLOW, FAULT_ZERO, FAULT_NAN };

#endif
