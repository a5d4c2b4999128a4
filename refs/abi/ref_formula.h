/*
 * ref_formula.h - the codes of a formula that a registry writes down (`formula:`), one byte each.
 *
 * A formula is a postfix program over a stack of numbers: FORMULA_WORDS words of FORMULA_CODES
 * codes, the first code in the lowest byte. FORMULA_END ends it. FORMULA_SMALL is followed by a
 * byte: that whole number less FORMULA_ZERO. A word is never negative. Plain C, for the compiler of
 * formulas and for the reference that runs them.
 *
 * FORMULA_TABLE rows: OP(NAME, operands, "spelling"); a spelling that is no word is an operator.
 */
#ifndef REFS_REF_FORMULA_H
#define REFS_REF_FORMULA_H

enum {
    FORMULA_WORDS = 8,   /* formals code0 .. code7 */
    FORMULA_CODES = 8,   /* in a word; the highest byte stays below 128, as all codes do */
    FORMULA_INPUTS = 4,  /* formals a .. d */
    FORMULA_NUMBERS = 8, /* formals k0 .. k7 */
    FORMULA_DEPTH = 6,   /* of the stack */
    FORMULA_ZERO = 64
};

#define FORMULA_TABLE                                                                              \
    OP(ADD, 2, "+")                                                                                \
    OP(SUB, 2, "-")                                                                                \
    OP(MUL, 2, "*")                                                                                \
    OP(DIV, 2, "/")                                                                                \
    OP(LESS, 2, "<")                                                                               \
    OP(LESS_EQUAL, 2, "<=")                                                                        \
    OP(GREATER, 2, ">")                                                                            \
    OP(GREATER_EQUAL, 2, ">=")                                                                     \
    OP(EQUAL, 2, "==")                                                                             \
    OP(UNEQUAL, 2, "!=")                                                                           \
    OP(AND, 2, "&&")                                                                               \
    OP(OR, 2, "||")                                                                                \
    OP(NOT, 1, "!")                                                                                \
    OP(NEGATE, 1, "unary -")                                                                       \
    OP(CHOOSE, 3, "? :")                                                                           \
    OP(MAX, 2, "max")                                                                              \
    OP(MIN, 2, "min")                                                                              \
    OP(POW, 2, "pow")                                                                              \
    OP(FMOD, 2, "fmod")                                                                            \
    OP(ATAN2, 2, "atan2")                                                                          \
    OP(ABS, 1, "abs")                                                                              \
    OP(SIGN, 1, "sign")                                                                            \
    OP(SQUARE, 1, "square")                                                                        \
    OP(SQRT, 1, "sqrt")                                                                            \
    OP(RSQRT, 1, "rsqrt")                                                                          \
    OP(EXP, 1, "exp")                                                                              \
    OP(EXP2, 1, "exp2")                                                                            \
    OP(EXPM1, 1, "expm1")                                                                          \
    OP(LOG, 1, "log")                                                                              \
    OP(LOG2, 1, "log2")                                                                            \
    OP(LOG1P, 1, "log1p")                                                                          \
    OP(SIN, 1, "sin")                                                                              \
    OP(COS, 1, "cos")                                                                              \
    OP(TAN, 1, "tan")                                                                              \
    OP(ASIN, 1, "asin")                                                                            \
    OP(ATAN, 1, "atan")                                                                            \
    OP(SINH, 1, "sinh")                                                                            \
    OP(COSH, 1, "cosh")                                                                            \
    OP(TANH, 1, "tanh")                                                                            \
    OP(SIGMOID, 1, "sigmoid")                                                                      \
    OP(ERF, 1, "erf")                                                                              \
    OP(ONE_PLUS_ERF, 1, "one_plus_erf")                                                            \
    OP(ONE_PLUS_TANH, 1, "one_plus_tanh")                                                          \
    OP(FLOOR, 1, "floor")                                                                          \
    OP(CEIL, 1, "ceil")                                                                            \
    OP(TRUNC, 1, "trunc")                                                                          \
    OP(ROUND, 1, "round")                                                                          \
    OP(IS_NAN, 1, "isnan")                                                                         \
    OP(IS_INF, 1, "isinf")                                                                         \
    OP(F32, 1, "f32")                                                                              \
    OP(F16, 1, "f16")                                                                              \
    OP(BF16, 1, "bf16")

enum formula_code {
    FORMULA_END,
    FORMULA_SMALL,
    FORMULA_INPUT,                                   /* + 0 .. FORMULA_INPUTS - 1 */
    FORMULA_NUMBER = FORMULA_INPUT + FORMULA_INPUTS, /* + 0 .. FORMULA_NUMBERS - 1 */
    FORMULA_LAST = FORMULA_NUMBER + FORMULA_NUMBERS - 1,
#define OP(name, operands, spelling) FORMULA_##name,
    FORMULA_TABLE
#undef OP
        FORMULA_CODE_COUNT
};

#endif
