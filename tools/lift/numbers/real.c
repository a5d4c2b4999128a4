/*
 * real.c - the algebra of lift: fp64 values, each with a first-order bound on the error that a
 * kernel may have made in the declared precision (running error analysis).
 *
 * a is the value y, b the bound e. An operation adds half a unit of the declared accumulator, not
 * of the type that the instruction computes in; so what is computed in a narrower type leaves the
 * bound where it is rounded.
 */
#include <math.h>
#include "tools/lift/parts.h"

/* Bits that a sum loses before it counts as a cancellation. */
enum { CANCELLATION_BITS = 10 };

static double not_nan(double e)
{
    return e != e ? (double)INFINITY : e;
}

static void real_fresh(struct value *value)
{
    value->a.real = value->got;
    value->b.real = 0;
}

static void real_scale(struct value *value, int exponent, bool negated)
{
    value->a.real = ldexp(negated ? -value->a.real : value->a.real, exponent);
    value->b.real = ldexp(value->b.real, exponent);
}

/* Whether `x`, of numbers that the kernel has, is one of f32: then nothing was rounded. */
static bool is_f32(double x)
{
    return (double)(float)x == x;
}

/*
 * x + 1.5 * 2^23 and its kin: the sum is an integer, whose choice is the kernel's. What is left of
 * x is computed with the same integer, so it is exact from here on.
 */
static bool rounds_by_adding(const struct value *x, const struct value *constant)
{
    const double c = fabs(constant->got);
    return constant->b.real == 0 && c >= 0x1p22 && c < 0x1p26 && fabs(x->got) < c;
}

/* An infinity that the kernel has too, such as the maximum of nothing, is exact. */
static void set(struct value *out, double y, double e)
{
    out->a.real = y;
    out->b.real = isinf(y) && y == out->got ? 0 : not_nan(e);
}

/* A product and z; `exact` is their sum as the kernel has them. */
static void add(const struct shadow *shadow, double product, double product_e,
                const struct value *z, double exact, struct value *out)
{
    const double y = product + z->a.real;
    set(out, y, product_e + z->b.real + (is_f32(exact) ? 0 : shadow->unit * fabs(y)));
}

static void real_sum(struct shadow *shadow, const struct plan *plan, const struct value *in,
                     struct value *out)
{
    struct value other = in[1];
    if (plan->calc == CALC_SUB) {
        real_scale(&other, 0, true);
        other.got = -other.got;
    }
    if (plan->to == FORMAT_F32 && !is_f32(in[0].got + other.got) &&
        (rounds_by_adding(&in[0], &other) || rounds_by_adding(&other, &in[0]))) {
        set(out, out->got, 0);
        return;
    }
    add(shadow, in[0].a.real, in[0].b.real, &other, in[0].got + other.got, out);
}

static double product_error(const struct value *x, const struct value *z)
{
    return fabs(x->a.real) * z->b.real + fabs(z->a.real) * x->b.real + x->b.real * z->b.real;
}

static void real_fma(struct shadow *shadow, const struct plan *plan, const struct value *in,
                     struct value *out)
{
    struct value product = in[0];
    product.got = in[0].got * in[1].got;
    product.b.real = product_error(&in[0], &in[1]);
    if (plan->to == FORMAT_F32 && rounds_by_adding(&product, &in[2])) {
        set(out, out->got, 0);
        return;
    }
    add(shadow, in[0].a.real * in[1].a.real, product.b.real, &in[2], product.got + in[2].got, out);
}

static void real_divide(double u, const struct value *x, const struct value *z, struct value *out)
{
    const double y = x->a.real / z->a.real;
    const double least = fabs(z->a.real) - z->b.real;
    const double e = (x->b.real + fabs(y) * z->b.real) / (least > 0 ? least : 0);
    set(out, y, (x->b.real == 0 && z->b.real == 0 ? 0 : e) + u * fabs(y));
}

/* ---- functions of one number ---- */

/* How far f(x) may be off where x is off by e; and the units of the instruction's own error, and
 * its absolute error, where it is approximate. */
struct function {
    double y, e, units, floor;
};

static struct function root(const struct value *x)
{
    const double y = sqrt(x->a.real), e = x->b.real;
    return (struct function){y, e == 0 ? 0 : fmin(e / y, sqrt(e)), 4, 0};
}

static struct function inverse_root(const struct value *x)
{
    const double y = 1 / sqrt(x->a.real), e = x->b.real, least = x->a.real - e;
    return (struct function){y,
                             e == 0      ? 0
                             : least > 0 ? 1 / sqrt(least) - y
                                         : (double)INFINITY,
                             4, 0};
}

static struct function logarithm(const struct value *x)
{
    const double e = x->b.real, least = x->a.real - e;
    return (struct function){log2(x->a.real),
                             e == 0      ? 0
                             : least > 0 ? e / (least * (double)M_LN2)
                                         : (double)INFINITY,
                             4, 0x1p-22};
}

static struct function tangent(const struct value *x)
{
    const double y = tanh(x->a.real), nearest = fmax(fabs(x->a.real) - x->b.real, 0);
    const double slope = 1 - tanh(nearest) * tanh(nearest);
    return (struct function){y, slope * x->b.real, 2, 0};
}

static struct function function_of(enum calc calc, const struct value *x)
{
    const double y = x->a.real, e = x->b.real;
    switch (calc) {
    case CALC_SQRT:
        return root(x);
    case CALC_RSQRT:
        return inverse_root(x);
    case CALC_EX2:
        return (struct function){exp2(y), exp2(y) * expm1(e * (double)M_LN2), 4, 0};
    case CALC_LG2:
        return logarithm(x);
    case CALC_SIN:
        return (struct function){sin(y), e, 4, 0x1p-20};
    case CALC_COS:
        return (struct function){cos(y), e, 4, 0x1p-20};
    default:
        return tangent(x);
    }
}

static void real_function(struct shadow *shadow, const struct plan *plan, const struct value *x,
                          struct value *out)
{
    const struct function f = function_of(plan->calc, x);
    const bool approximate = plan->flags & PLAN_APPROXIMATE;
    set(out, f.y,
        f.e + shadow->unit * fabs(f.y) * (approximate ? f.units : 1) + (approximate ? f.floor : 0));
}

/* ---- what rounds nothing ---- */

static void real_choose(const struct plan *plan, const struct value *in, struct value *out)
{
    const bool least = plan->calc == CALC_MIN;
    out->a = in[0].a;
    out->b = in[0].b;
    for (unsigned i = 1; i < plan->sources && i < 3; i++) {
        const double y = in[i].a.real;
        out->a.real = least ? fmin(out->a.real, y) : fmax(out->a.real, y);
        out->b.real = fmax(out->b.real, in[i].b.real);
    }
}

static void real_sign(const struct plan *plan, const struct value *in, struct value *out)
{
    const struct value *x = plan->calc == CALC_COPYSIGN ? &in[1] : &in[0];
    out->b = x->b;
    out->a.real = plan->calc == CALC_NEG   ? -x->a.real
                  : plan->calc == CALC_ABS ? fabs(x->a.real)
                                           : copysign(fabs(x->a.real), out->got);
}

static void real_convert(struct shadow *shadow, const struct plan *plan, const struct value *in,
                         struct value *out)
{
    if (plan->calc == CALC_ROUND) {
        set(out, out->got, 0);
        return;
    }
    const bool widens = format_bytes(plan->to) >= format_bytes(plan->from) &&
                        plan->calc == CALC_CVT && plan->to != FORMAT_BF16;
    const bool exact = widens || is_f32(in->got);
    set(out, in->a.real,
        in->b.real + (exact && plan->to == FORMAT_F32 ? 0 : shadow->unit * fabs(in->a.real)));
    const double half = number_half_ulp(plan->to, in->a.real);
    /* Once for each declared point: an accumulator that is rounded again and again is none. */
    if (shadow->rounds[plan->to] && in->b.real < (shadow->rounds[plan->to] - 0.5) * half)
        out->b.real += half;
}

static void real_bound(const struct plan *plan, struct value *out)
{
    if (plan->flags & PLAN_SATURATES && plan->to >= FORMAT_F16 && plan->to <= FORMAT_F64)
        out->a.real = out->a.real > 1 ? 1 : out->a.real > 0 ? out->a.real : 0;
    if (plan->flags & PLAN_RELU)
        out->a.real = out->a.real > 0 ? out->a.real : 0;
}

static void real_calc(struct shadow *shadow, const struct plan *plan, const struct value *in,
                      struct value *out)
{
    static const struct value one = {.a.real = 1, .got = 1};
    const double u = shadow->unit * (plan->flags & PLAN_APPROXIMATE ? 4 : 1);
    switch (plan->calc) {
    case CALC_ADD:
    case CALC_SUB:
        real_sum(shadow, plan, in, out);
        break;
    case CALC_MUL:
        set(out, in[0].a.real * in[1].a.real, product_error(&in[0], &in[1]));
        if (!is_f32(in[0].got * in[1].got))
            out->b.real += shadow->unit * fabs(out->a.real);
        break;
    case CALC_FMA:
        real_fma(shadow, plan, in, out);
        break;
    case CALC_DIV:
        real_divide(u, &in[0], &in[1], out);
        break;
    case CALC_RCP:
        real_divide(u, &one, &in[0], out);
        break;
    case CALC_MIN:
    case CALC_MAX:
        real_choose(plan, in, out);
        break;
    case CALC_NEG:
    case CALC_ABS:
    case CALC_COPYSIGN:
        real_sign(plan, in, out);
        break;
    case CALC_CVT:
    case CALC_ROUND:
    case CALC_FROM_INT:
        real_convert(shadow, plan, in, out);
        break;
    default:
        real_function(shadow, plan, in, out);
    }
    real_bound(plan, out);
}

/*
 * A tensor core adds exact products and cuts off below the largest: a unit of the accumulator for
 * each step of the sum. Numbers that were computed are rounded to the operands' type, which has no
 * other: that rounding is part of the bound, that of memory's numbers is none.
 */
static double operand_rounding(const struct shadow *shadow, const struct value *x,
                               enum format operand)
{
    const bool declared = operand == FORMAT_TF32 && shadow->input > 0;
    const bool computed = x->b.real > 0 || x->origin;
    const double half = declared || computed ? number_half_ulp(operand, x->a.real) : 0;
    return operand == FORMAT_TF32 ? 2 * half : half; /* whose last bits may be cut off */
}

static void real_dot(struct shadow *shadow, const struct value *x, const struct value *y,
                     unsigned count, enum format operand, struct value *out)
{
    double sum = out->a.real, size = fabs(sum), e = out->b.real;
    for (unsigned i = 0; i < count; i++) {
        struct value p = x[i], q = y[i];
        p.b.real += operand_rounding(shadow, &p, operand);
        q.b.real += operand_rounding(shadow, &q, operand);
        const double term = p.a.real * q.a.real;
        sum += term;
        size += fabs(term);
        e += product_error(&p, &q);
    }
    set(out, sum, e + 4 * shadow->unit * size);
}

/* ---- is the number within its bound? ---- */

static struct tally *tally_of(struct shadow *shadow, const struct plan *plan)
{
    return &shadow->tallies[plan->number - 1];
}

static void keep_example(struct shadow *shadow, struct tally *tally, const struct value *out)
{
    tally->got = out->got;
    tally->y = out->a.real;
    tally->e = out->b.real;
    memcpy(tally->block, shadow->warp->block->index, sizeof(tally->block));
    for (int i = 0; i < 3; i++)
        tally->thread[i] = shadow->warp->tid[i][shadow->lane];
}

/* The input whose error is the largest among those that are outside. */
static uint32_t origin_of(const struct value *in, unsigned count)
{
    double worst = -1;
    uint32_t origin = 0;
    for (unsigned i = 0; i < count; i++) {
        const double error = not_nan(fabs(in[i].got - in[i].a.real));
        if (in[i].origin && error > worst) {
            worst = error;
            origin = in[i].origin;
        }
    }
    return origin;
}

/* The two terms of a sum: of fma the product is one. False: it is no sum of two numbers. */
static bool terms_of(const struct plan *plan, const struct value *in, unsigned count,
                     struct value term[2])
{
    if (count < 2 || plan->watch != watch_calc)
        return false;
    term[0] = in[0];
    term[1] = in[1];
    if (plan->calc == CALC_FMA) {
        set(&term[0], in[0].a.real * in[1].a.real, product_error(&in[0], &in[1]));
        term[1] = in[2];
    }
    return plan->calc == CALC_ADD || plan->calc == CALC_SUB ||
           (plan->calc == CALC_FMA && count > 2);
}

static void note_cancellation(struct shadow *shadow, const struct plan *plan,
                              const struct value *in, unsigned count, const struct value *out)
{
    struct value term[2];
    const double y = fabs(out->a.real);
    if (!terms_of(plan, in, count, term))
        return;
    const double size = fmax(fabs(term[0].a.real), fabs(term[1].a.real)),
                 before = fmax(term[0].b.real, term[1].b.real);
    /* Exactly 0 is the difference of a number and itself. */
    if (!(before > 0) || !(y * 0x1p10 < size) || y == 0 || out->b.real <= 0)
        return;
    struct tally *tally = tally_of(shadow, plan);
    const double digits = log2(size / y);
    tally->cancellations++;
    tally->digits = fmax(tally->digits, digits);
}

/* NaN or infinite, of finite numbers. */
static bool overflows(const struct value *in, unsigned count, const struct value *out)
{
    bool finite = !isfinite(out->got);
    for (unsigned i = 0; i < count && finite; i++)
        finite = isfinite(in[i].got);
    return finite;
}

static bool inside(const struct shadow *shadow, const struct value *out)
{
    const double got = out->got, y = out->a.real, e = out->b.real;
    if (got != got || y != y)
        return (got != got) == (y != y) || e == (double)INFINITY;
    if (got == y || e == (double)INFINITY)
        return true;
    return fabs(got - y) <= e * (1 + 0x1p-20) + shadow->tiny;
}

static void real_settle(struct shadow *shadow, const struct plan *plan, enum format format,
                        const struct value *in, unsigned count, struct value *out)
{
    struct tally *tally = tally_of(shadow, plan);
    tally->executed++;
    (void)format;
    note_cancellation(shadow, plan, in, count, out);
    tally->overflows += overflows(in, count, out);
    if (inside(shadow, out)) {
        out->origin = 0;
        return;
    }
    out->origin = origin_of(in, count);
    if (out->origin)
        return;
    out->origin = plan->number;
    if (!tally->departures++)
        keep_example(shadow, tally, out);
}

/* Within its bound and its rounding it is what the formula goes on from. */
static void real_store(struct cell *cell, enum format format, uint64_t raw)
{
    const double got = number_of_bits(format, raw);
    const double half = number_half_ulp(format, fmax(fabs(got), fabs(cell->a.real)));
    const bool overflows = isinf(got) && fabs(cell->a.real) + half >= number_most(format);
    if (!overflows && !(fabs(got - cell->a.real) <= cell->b.real + half))
        return;
    cell->a.real = got;
    cell->b.real = 0;
    cell->tag = (uint32_t)format;
}

const struct algebra algebra_real = {.fresh = real_fresh,
                                     .calc = real_calc,
                                     .scale = real_scale,
                                     .dot = real_dot,
                                     .store = real_store,
                                     .settle = real_settle};
