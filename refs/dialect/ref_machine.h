/*
 * ref_machine.h - the machine that runs a formula of a registry (ref_formula.h) for a pack at once,
 * and the functions that formulas name and ref_function.h lacks.
 *
 * Values of those are the math library's in f64. A kernel in f32 has them to 4 ulp (CUDA
 * Programming Guide, maximum errors: tanf and powf 4, sinhf and atan2f 3, the others 2 or fewer),
 * so 8 u of the result are allowed. What an operand is off by is carried by trying both ends of its
 * range, or by the largest slope.
 */
#ifndef REFS_REF_MACHINE_H
#define REFS_REF_MACHINE_H

#include "ref_formula.h"
#include "ref_function.h"
#include "ref_point.h"

REF_SLOW double ref_elementary_value(int code, double x)
{
    switch (code) {
    case FORMULA_EXP2:
        return exp2(x);
    case FORMULA_EXPM1:
        return expm1(x);
    case FORMULA_LOG2:
        return log2(x);
    case FORMULA_LOG1P:
        return log1p(x);
    case FORMULA_TAN:
        return tan(x);
    case FORMULA_ASIN:
        return asin(x);
    case FORMULA_ATAN:
        return atan(x);
    case FORMULA_SINH:
        return sinh(x);
    case FORMULA_COSH:
        return cosh(x);
    case FORMULA_SIGN:
        return (double)(x > 0) - (double)(x < 0);
    case FORMULA_FLOOR:
        return floor(x);
    case FORMULA_CEIL:
        return ceil(x);
    case FORMULA_TRUNC:
        return trunc(x);
    case FORMULA_ROUND:
        return rint(x);
    case FORMULA_IS_NAN:
        return x != x;
    case FORMULA_IS_INF:
        return ref_abs(x) == ref_infinity();
    default:
        return ref_nan();
    }
}

/* Results that are steps of their operand are exact. */
REF_FN bool ref_elementary_steps(int code)
{
    return code == FORMULA_SIGN || (code >= FORMULA_FLOOR && code <= FORMULA_IS_INF);
}

/* How far f(x +- e) may be from f(x): cosh grows away from 0, the others are monotonous (tan
 * between its poles, where the ends are on one side). */
REF_SLOW double ref_elementary_carried(int code, double x, double e, double y)
{
    if (!(e > 0))
        return 0;
    if (code == FORMULA_COSH)
        return cosh(ref_abs(x) + e) - y;
    if (code == FORMULA_IS_NAN || code == FORMULA_IS_INF)
        return 0;
    double up = ref_abs(ref_elementary_value(code, x + e) - y);
    double down = ref_abs(ref_elementary_value(code, x - e) - y);
    bool known = up == up && down == down && !(code == FORMULA_TAN && e > 0.1 * (1 + y * y));
    return known ? ref_more(up, down) : ref_infinity();
}

template <class R> REF_FN void ref_elementary_one(int code, R &at)
{
    typedef typename R::element E;
    const ref_rules<E> k = at.rules();
    const E share = ref_elementary_steps(code) ? (E)0 : 8 * k.u;
    REF_UNROLL
    for (int j = 0; j < R::width; j++) {
        double y = ref_elementary_value(code, at.value(j));
        E f = ref_shadow((E)y, k);
        E carried = (E)ref_elementary_carried(code, at.value(j), (double)at.error(j), y);
        at.set(j, {y, f, share > 0 ? carried + (share * ref_abs(f) + k.tiny) : carried});
    }
}

REF_SLOW double ref_elementary_value_two(int code, double x, double y)
{
    switch (code) {
    case FORMULA_POW:
        return pow(x, y);
    case FORMULA_FMOD:
        return fmod(x, y);
    default: /* FORMULA_ATAN2 */
        return atan2(x, y);
    }
}

/* First order: the operands' errors are small beside them, or the error is infinite. */
REF_SLOW double ref_elementary_carried_two(int code, double x, double ex, double y, double ey,
                                           double z)
{
    if (!(ex > 0 || ey > 0))
        return 0;
    if (code == FORMULA_FMOD)
        return ref_abs(y);
    if (code == FORMULA_POW) {
        if (ex >= 0.5 * ref_abs(x))
            return ref_infinity();
        double power = ey > 0 ? ey * ref_abs(log(ref_abs(x))) : 0.0;
        return 2 * ref_abs(z) * (ref_abs(y) * ex / ref_abs(x) + power);
    }
    double size = x * x + y * y;
    return size > 0 ? 2 * (ref_abs(x) * ey + ref_abs(y) * ex) / size : ref_infinity();
}

/* fmod is exact; pow and atan2 are not. */
template <class R> REF_FN void ref_elementary_two(int code, R &at, const R &y)
{
    typedef typename R::element E;
    const ref_rules<E> k = at.rules();
    const E share = code == FORMULA_FMOD ? (E)0 : 8 * k.u;
    REF_UNROLL
    for (int j = 0; j < R::width; j++) {
        double z = ref_elementary_value_two(code, at.value(j), y.value(j));
        E f = ref_shadow((E)z, k);
        E carried = (E)ref_elementary_carried_two(code, at.value(j), (double)at.error(j),
                                                  y.value(j), (double)y.error(j), z);
        at.set(j, {z, f, share > 0 ? carried + (share * ref_abs(f) + k.tiny) : carried});
    }
}

/* ------------------------------------------------------------------------ the machine */

/* A condition as a number, and a number as a condition. */
template <class R, class M> REF_FN R formula_number(const M &m, const R &like)
{
    R one = like, zero = like;
    REF_UNROLL
    for (int j = 0; j < R::width; j++) {
        one.set(j, {1, 1, 0});
        zero.set(j, {0, 0, 0});
    }
    return where(m, one, zero);
}

template <class R> REF_FN ref_mask<R::width> formula_holds(const R &x)
{
    ref_mask<R::width> m;
    REF_UNROLL
    for (int j = 0; j < R::width; j++) {
        m.yes[j] = x.value(j) != 0;
        m.unsure[j] = x.error(j) > 0 && ref_abs(x.shadow(j)) <= x.error(j);
    }
    return m;
}

/* Lane by lane, where `test` decides; unsure where the two may be as close as their errors. */
template <class R, class Test> REF_FN R formula_test(const R &x, const R &y, Test test)
{
    ref_mask<R::width> m;
    REF_UNROLL
    for (int j = 0; j < R::width; j++) {
        m.yes[j] = test(x.value(j), y.value(j));
        m.unsure[j] = ref_abs(x.value(j) - y.value(j)) < (double)(x.error(j) + y.error(j));
    }
    return formula_number(m, x);
}

template <class R> REF_SHARED void formula_compare(int code, R *at, const R *y)
{
    const R x = *at;
    switch (code) {
    case FORMULA_LESS:
        *at = formula_test(x, *y, [](double a, double b) { return a < b; });
        break;
    case FORMULA_LESS_EQUAL:
        *at = formula_test(x, *y, [](double a, double b) { return a <= b; });
        break;
    case FORMULA_GREATER:
        *at = formula_test(x, *y, [](double a, double b) { return a > b; });
        break;
    case FORMULA_GREATER_EQUAL:
        *at = formula_test(x, *y, [](double a, double b) { return a >= b; });
        break;
    case FORMULA_EQUAL:
        *at = formula_test(x, *y, [](double a, double b) { return a == b; });
        break;
    case FORMULA_UNEQUAL:
        *at = formula_test(x, *y, [](double a, double b) { return a != b; });
        break;
    case FORMULA_AND:
        *at = where(formula_holds(x), formula_number(formula_holds(*y), x),
                    formula_test(x, x, [](double, double) { return false; }));
        break;
    default: /* FORMULA_OR */
        *at = where(formula_holds(x), formula_test(x, x, [](double, double) { return true; }),
                    formula_number(formula_holds(*y), x));
        break;
    }
}

/* Of two operands; false where it is no such code. */
template <class R> REF_SHARED bool formula_two(int code, R *at, const R *y)
{
    const R x = *at;
    switch (code) {
    case FORMULA_ADD:
        *at = x + *y;
        return true;
    case FORMULA_SUB:
        *at = x - *y;
        return true;
    case FORMULA_MUL:
        *at = x * *y;
        return true;
    case FORMULA_DIV:
        *at = x / *y;
        return true;
    case FORMULA_MAX:
        *at = max(x, *y);
        return true;
    case FORMULA_MIN:
        *at = min(x, *y);
        return true;
    case FORMULA_POW:
    case FORMULA_FMOD:
    case FORMULA_ATAN2:
        ref_elementary_two(code, *at, *y);
        return true;
    default:
        formula_compare(code, at, y);
        return true;
    }
}

/* Rounded to the dtype, as at a point where a kernel must round. */
template <class R> REF_FN void formula_rounded(int dtype, R &at)
{
    typedef typename R::element E;
    REF_UNROLL
    for (int j = 0; j < R::width; j++) {
        ref_rounded one = ref_pass_point(dtype, at.value(j), (double)at.error(j));
        at.set(j, {one.v, ref_shadow((E)one.v, at.rules()), (E)one.e});
    }
}

/* Of one operand, by the functions of ref_function.h. */
template <class R> REF_SHARED void formula_one(int code, R *at)
{
    const R x = *at;
    switch (code) {
    case FORMULA_NOT:
        *at = formula_number(formula_holds(x), x);
        REF_UNROLL
        for (int j = 0; j < R::width; j++)
            at->set(j, {1 - at->value(j), 1 - at->shadow(j), at->error(j)});
        break;
    case FORMULA_NEGATE:
        *at = -x;
        break;
    case FORMULA_ABS:
        *at = abs(x);
        break;
    case FORMULA_SQUARE:
        *at = x * x;
        break;
    case FORMULA_SQRT:
        *at = sqrt(x);
        break;
    case FORMULA_RSQRT:
        *at = rsqrt(x);
        break;
    case FORMULA_EXP:
        *at = exp(x);
        break;
    case FORMULA_LOG:
        *at = log(x);
        break;
    case FORMULA_SIN:
        *at = sine(x);
        break;
    case FORMULA_COS:
        *at = cosine(x);
        break;
    case FORMULA_TANH:
        *at = tanh(x);
        break;
    case FORMULA_SIGMOID:
        *at = sigmoid(x);
        break;
    case FORMULA_ERF:
        *at = erf(x);
        break;
    case FORMULA_ONE_PLUS_ERF:
        *at = one_plus_erf(x);
        break;
    case FORMULA_ONE_PLUS_TANH:
        *at = one_plus_tanh(x);
        break;
    case FORMULA_F32:
        formula_rounded(DTYPE_F32, *at);
        break;
    case FORMULA_F16:
        formula_rounded(DTYPE_F16, *at);
        break;
    case FORMULA_BF16:
        formula_rounded(DTYPE_BF16, *at);
        break;
    default:
        ref_elementary_one(code, *at);
        break;
    }
}

/* Operands of a code beyond the loads. */
REF_FN int formula_operands(int code)
{
    switch (code) {
#define OP(name, operands, spelling)                                                               \
    case FORMULA_##name:                                                                           \
        return operands;
        FORMULA_TABLE
#undef OP
    default:
        return 0;
    }
}

/* The inputs and numbers of one place, and the stack. */
template <class R> struct formula_machine {
    R input[FORMULA_INPUTS], number[FORMULA_NUMBERS], stack[FORMULA_DEPTH];
    int depth;

    REF_FN void push(const R &x)
    {
        if (depth < FORMULA_DEPTH)
            stack[depth++] = x;
    }
    REF_FN void small(int value)
    {
        R x = number[0];
        REF_UNROLL
        for (int j = 0; j < R::width; j++)
            x.set(j, {(double)value, (typename R::element)value, 0});
        push(x);
    }
    REF_FN void run(int code)
    {
        const int operands = formula_operands(code);
        if (depth < operands)
            return;
        depth -= operands > 0 ? operands - 1 : 0;
        R *at = &stack[depth - 1];
        if (operands == 1)
            formula_one(code, at);
        else if (operands == 2)
            formula_two(code, at, at + 1);
        else if (operands == 3)
            *at = where(formula_holds(at[0]), at[1], at[2]);
    }
    REF_FN void all(const long long (&word)[FORMULA_WORDS])
    {
        depth = 0;
        REF_ROLLED
        for (int i = 0; i < FORMULA_WORDS * FORMULA_CODES; i++) {
            int code = (int)(word[i / FORMULA_CODES] >> 8 * (i % FORMULA_CODES) & 0xff);
            if (code == FORMULA_END)
                break;
            if (code == FORMULA_SMALL) {
                i++;
                small((int)(word[i / FORMULA_CODES] >> 8 * (i % FORMULA_CODES) & 0xff) -
                      FORMULA_ZERO);
            } else if (code < FORMULA_NUMBER) {
                push(input[code - FORMULA_INPUT]);
            } else if (code <= FORMULA_LAST) {
                push(number[code - FORMULA_NUMBER]);
            } else {
                run(code);
            }
        }
    }
};

#endif
