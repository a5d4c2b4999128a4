/*
 * residue.c - the algebra of the exact mode: numbers of two finite fields in place of fp64.
 *
 * p = 2q + 1 and q are primes of 61 and 60 bits, and 2 has the order q in the field of p. A float
 * is m * 2^e with integers m and e, so it has an exact image in both fields, and sums, products and
 * quotients are those of the images, in whatever order. 2^x is a number of p's field that depends
 * on x in q's: so 2^x * 2^y = 2^(x + y) holds there, and a softmax is the same with another
 * maximum. a is the residue modulo p, which outputs are compared by, b the one modulo q.
 *
 * Logarithms, sines, cosines and tanh are images of their arguments by a hash. Decisions (max, min,
 * comparisons, roundings to integers) are the kernel's own.
 */
#include <math.h>
#include <pthread.h>
#include "tools/lift/parts.h"

typedef unsigned __int128 wide;

static const uint64_t P = 0x1ffffffffffff3afu, Q = 0xffffffffffff9d7u;

static uint64_t times(uint64_t x, uint64_t y, uint64_t modulus)
{
    return (uint64_t)((wide)x * y % modulus);
}

static uint64_t plus(uint64_t x, uint64_t y, uint64_t modulus)
{
    return (x + y) % modulus; /* both have 61 bits at most */
}

static uint64_t minus(uint64_t x, uint64_t modulus)
{
    return x ? modulus - x : 0;
}

static uint64_t power(uint64_t base, uint64_t exponent, uint64_t modulus)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            result = times(result, base, modulus);
        base = times(base, base, modulus);
    }
    return result;
}

static uint64_t inverse(uint64_t x, uint64_t modulus)
{
    return power(x, modulus - 2, modulus);
}

/* Of x's residue and a word that stands for the function. */
static uint64_t hash(uint64_t x, uint64_t word)
{
    x = (x ^ word * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    x ^= x >> 29;
    return x * 0x9e3779b97f4a7c15u ^ x >> 31;
}

enum { WORD_LOG2_E = 101, WORD_NOT_FINITE, WORD_NEXT };

/* ---- floats ---- */

/* 2^e modulo both primes, for the exponents of doubles. */
enum { LEAST_EXPONENT = -1200, EXPONENTS = 2400 };
static uint64_t powers[2][EXPONENTS];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_powers(void)
{
    for (int field = 0; field < 2; field++) {
        const uint64_t modulus = field ? Q : P;
        uint64_t value = power(inverse(2, modulus), -LEAST_EXPONENT, modulus);
        for (int i = 0; i < EXPONENTS; i++, value = plus(value, value, modulus))
            powers[field][i] = value;
    }
}

/* m * 2^e modulo a prime. */
static uint64_t image(double x, uint64_t modulus)
{
    int exponent;
    const double digits = frexp(fabs(x), &exponent);
    const uint64_t m = (uint64_t)ldexp(digits, 53) % modulus;
    const uint64_t residue =
        times(m, powers[modulus == Q][exponent - 53 - LEAST_EXPONENT], modulus);
    return x < 0 ? minus(residue, modulus) : residue;
}

/*
 * log2(e) and ln(2) as kernels have them in f32, times a power of two: the same irrational number,
 * however it was rounded; and the low parts that libraries add to them, which are none of it.
 */
static bool is_constant(double x, uint64_t modulus, uint64_t *residue)
{
    static const struct {
        float high, low;
        bool inverse;
    } constants[] = {{0x1.715476p+0f, 0x1.4ae0cp-26f, false},  /* log2(e) */
                     {0x1.62e430p-1f, -0x1.05c610p-29f, true}, /* ln(2) */
                     {0x1.62e400p-1f, 0x1.7f7d1cp-20f, true}}; /* ln(2), cut off after 16 digits */
    int exponent, other;
    const double digits = frexp(fabs(x), &exponent);
    for (unsigned i = 0; i < sizeof constants / sizeof *constants && x != 0; i++) {
        if (digits == frexp(fabs((double)constants[i].low), &other)) {
            *residue = 0;
            return true;
        }
        if (digits != frexp((double)constants[i].high, &other))
            continue;
        const uint64_t unit = hash(modulus, WORD_LOG2_E) % modulus;
        *residue = times(constants[i].inverse ? inverse(unit, modulus) : unit,
                         image(ldexp(x < 0 ? -1 : 1, exponent - other), modulus), modulus);
        return true;
    }
    return false;
}

static void set(struct value *value, uint64_t p, uint64_t q)
{
    value->a.residue = p;
    value->b.residue = q;
}

static void residue_fresh(struct value *value)
{
    const double x = value->got;
    uint64_t p, q;
    pthread_once(&made, make_powers);
    if (!isfinite(x)) {
        const uint64_t word = WORD_NOT_FINITE + (x != x ? 2u : x > 0);
        set(value, hash(word, 1) % P, hash(word, 1) % Q);
    } else if (is_constant(x, P, &p) && is_constant(x, Q, &q)) {
        set(value, p, q);
    } else {
        set(value, image(x, P), image(x, Q));
    }
}

static void residue_scale(struct value *value, int exponent, bool negated)
{
    const double by = ldexp(negated ? -1 : 1, exponent);
    set(value, times(value->a.residue, image(by, P), P), times(value->b.residue, image(by, Q), Q));
}

/* ---- operations ---- */

static struct value negative(const struct value *x)
{
    struct value out = *x;
    set(&out, minus(x->a.residue, P), minus(x->b.residue, Q));
    return out;
}

static void sum(const struct value *x, const struct value *y, struct value *out)
{
    set(out, plus(x->a.residue, y->a.residue, P), plus(x->b.residue, y->b.residue, Q));
}

static void product(const struct value *x, const struct value *y, struct value *out)
{
    set(out, times(x->a.residue, y->a.residue, P), times(x->b.residue, y->b.residue, Q));
}

static void reciprocal(const struct value *x, struct value *out)
{
    set(out, inverse(x->a.residue, P), inverse(x->b.residue, Q));
}

/* x^((p + 1) / 4): a root of x, or of -x; roots of products are products of roots. */
static void root(const struct value *x, struct value *out)
{
    set(out, power(x->a.residue, (P + 1) / 4, P), power(x->b.residue, (Q + 1) / 4, Q));
}

static void power_of_two(const struct value *x, struct value *out)
{
    const double n = x->got;
    const bool whole = n == rint(n) && fabs(n) < 1024 && x->b.residue == image(n, Q);
    const uint64_t q = whole ? image(ldexp(1, (int)n), Q) : hash(x->b.residue, CALC_EX2) % Q;
    set(out, power(2, x->b.residue, P), q);
}

static void opaque(enum calc calc, const struct value *x, struct value *out)
{
    set(out, hash(x->a.residue, calc) % P, hash(x->b.residue, calc) % Q);
}

/* The one that the kernel has taken. */
static void chosen(const struct plan *plan, const struct value *in, struct value *out)
{
    unsigned best = 0;
    for (unsigned i = 1; i < plan->sources && i < 3; i++)
        if (in[best].got != out->got && in[i].got == out->got)
            best = i;
    set(out, in[best].a.residue, in[best].b.residue);
}

static void signs(const struct plan *plan, const struct value *in, struct value *out)
{
    const struct value *x = plan->calc == CALC_COPYSIGN ? &in[1] : &in[0];
    const bool flips = plan->calc == CALC_NEG || signbit(x->got) != signbit(out->got);
    const struct value other = negative(x);
    set(out, flips ? other.a.residue : x->a.residue, flips ? other.b.residue : x->b.residue);
}

/* x + 1.5 * 2^23 and its kin. */
static bool rounds_by_adding(double x, double c, double got)
{
    return fabs(c) >= 0x1p22 && fabs(c) < 0x1p26 && c == rint(c) && fabs(x) < fabs(c) &&
           x + c != got;
}

static void fma_of(const struct plan *plan, const struct value *in, struct value *out)
{
    struct value xy;
    product(&in[0], &in[1], &xy);
    if (plan->to == FORMAT_F32 && rounds_by_adding(in[0].got * in[1].got, in[2].got, out->got))
        residue_fresh(out);
    else
        sum(&xy, &in[2], out);
}

static void sum_of(const struct plan *plan, const struct value *in, struct value *out)
{
    struct value other = in[1];
    if (plan->calc == CALC_SUB) {
        other = negative(&in[1]);
        other.got = -other.got;
    }
    if (plan->to == FORMAT_F32 && (rounds_by_adding(in[0].got, other.got, out->got) ||
                                   rounds_by_adding(other.got, in[0].got, out->got)))
        residue_fresh(out);
    else
        sum(&in[0], &other, out);
}

static void apply_function(enum calc calc, const struct value *x, struct value *out)
{
    struct value other;
    switch (calc) {
    case CALC_SQRT:
        root(x, out);
        break;
    case CALC_RSQRT:
        root(x, &other);
        reciprocal(&other, out);
        break;
    case CALC_EX2:
        power_of_two(x, out);
        break;
    default:
        opaque(calc, x, out);
    }
}

static void apply(const struct plan *plan, const struct value *in, struct value *out)
{
    struct value other;
    switch (plan->calc) {
    case CALC_ADD:
    case CALC_SUB:
        sum_of(plan, in, out);
        break;
    case CALC_MUL:
        product(&in[0], &in[1], out);
        break;
    case CALC_FMA:
        fma_of(plan, in, out);
        break;
    case CALC_DIV:
        reciprocal(&in[1], &other);
        product(&in[0], &other, out);
        break;
    case CALC_RCP:
        reciprocal(&in[0], out);
        break;
    case CALC_MIN:
    case CALC_MAX:
        chosen(plan, in, out);
        break;
    case CALC_NEG:
    case CALC_ABS:
    case CALC_COPYSIGN:
        signs(plan, in, out);
        break;
    case CALC_CVT:
        set(out, in->a.residue, in->b.residue);
        break;
    case CALC_ROUND:
    case CALC_FROM_INT:
        residue_fresh(out);
        break;
    default:
        apply_function(plan->calc, &in[0], out);
    }
}

static unsigned inputs_of(const struct plan *plan)
{
    return plan->calc == CALC_FMA ? 3 : plan->sources < 3 ? plan->sources : 3;
}

/* Infinities have no image: what becomes of them is read from the kernel's numbers. So is what
 * .sat and .relu cut off. */
static void residue_calc(struct shadow *shadow, const struct plan *plan, const struct value *in,
                         struct value *out)
{
    (void)shadow;
    bool finite = isfinite(out->got);
    for (unsigned i = 0; i < inputs_of(plan) && plan->calc != CALC_FROM_INT; i++)
        finite = finite && isfinite(in[i].got);
    if (!finite && plan->calc != CALC_MIN && plan->calc != CALC_MAX) {
        residue_fresh(out);
        return;
    }
    apply(plan, in, out);
    const bool cut = (plan->flags & PLAN_SATURATES && (out->got == 0 || out->got == 1)) ||
                     (plan->flags & PLAN_RELU && out->got == 0);
    if (cut)
        residue_fresh(out);
}

static void residue_dot(struct shadow *shadow, const struct value *x, const struct value *y,
                        unsigned count, enum format operand, struct value *out)
{
    (void)shadow;
    (void)operand;
    for (unsigned i = 0; i < count; i++) {
        struct value term;
        const struct value before = *out;
        product(&x[i], &y[i], &term);
        sum(&before, &term, out);
    }
}

static void residue_settle(struct shadow *shadow, const struct plan *plan, enum format format,
                           const struct value *in, unsigned count, struct value *out)
{
    (void)format;
    (void)in;
    (void)count;
    shadow->tallies[plan->number - 1].executed++;
    out->origin = 0;
}

const struct algebra algebra_residue = {.fresh = residue_fresh,
                                        .calc = residue_calc,
                                        .scale = residue_scale,
                                        .dot = residue_dot,
                                        .settle = residue_settle};
