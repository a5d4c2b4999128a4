/* rules_formula.c - formulas that overflow or cancel: exponentials without a shift, variances as
 * differences. */
#include <math.h>
#include <string.h>
#include "tools/lint/rules/rules.h"

static bool is_any(const struct flow *flow, uint32_t value, const char *const *words)
{
    for (; *words; words++) {
        if (flow->value[value].kind == FLOW_RESULT && flow_is(flow, value, *words))
            return true;
    }
    return false;
}

/* -- the argument of an exponential -- */

static const char *const arithmetic[] = {"add", "sub", "mul",  "fma", "neg",
                                         "mov", "cvt", "selp", NULL};

struct argument {
    const struct lint_kernel *k;
    bool other;   /* something that may be a shift */
    bool bounded; /* its size or sign was taken care of */
    bool loaded;
    unsigned param; /* that the loads are of */
};

/* A parameter, perhaps with a sign or a factor. */
static bool is_of_param(const struct flow *flow, uint32_t value)
{
    static const char *const words[] = {"neg", "mov", "cvt", "mul", NULL};
    int64_t offset;
    for (int step = 0; step < 6 && is_any(flow, value, words); step++) {
        uint32_t first = flow_arg(flow, value, 0);
        bool constant = flow->value[first].kind == FLOW_CONSTANT;
        value = constant && flow->value[value].args > 1 ? flow_arg(flow, value, 1) : first;
    }
    return flow_param_of(flow, value, &offset) != NULL;
}

/* A sum of which one term is a parameter: the largest element, computed before. */
static bool shifts_by_param(const struct flow *flow, uint32_t value)
{
    static const char *const sums[] = {"add", "sub", NULL};
    if (is_any(flow, value, sums))
        return is_of_param(flow, flow_arg(flow, value, 0)) ||
               is_of_param(flow, flow_arg(flow, value, 1));
    return flow_is(flow, value, "fma") && is_of_param(flow, flow_arg(flow, value, 2));
}

static bool visit_argument(void *user, uint32_t value)
{
    struct argument *a = user;
    const struct flow *flow = a->k->flow;
    const struct flow_value *v = &flow->value[value];
    int64_t offset;
    if (v->kind == FLOW_CONSTANT || flow_param_of(flow, value, &offset))
        return false;
    if (flow_is(flow, value, "abs") || flow_is(flow, value, "and") || flow_is(flow, value, "or") ||
        lint_fold(flow, value)) {
        a->bounded = true;
        return false;
    }
    a->other |= shifts_by_param(flow, value);
    bool pass = v->kind == FLOW_PHI || v->kind == FLOW_MERGE || is_any(flow, value, arithmetic);
    if (pass && a->k->cycle[value] == FLOW_NONE)
        return true;
    struct lint_access access;
    if (flow_is(flow, value, "ld") && lint_access(flow, v->at, &access) &&
        access.space == PTX_GLOBAL && access.base.kind == FLOW_BASE_PARAM) {
        a->other |= a->loaded && a->param != access.base.param;
        a->loaded = true;
        a->param = access.base.param;
        return false;
    }
    a->other = true;
    return false;
}

static struct argument argument_of(const struct lint_kernel *k, uint32_t ex2)
{
    struct argument a = {.k = k};
    lint_backward(k, flow_arg(k->flow, ex2, 0), visit_argument, &a);
    return a;
}

/* -- sums of exponentials -- */

struct summed {
    const struct lint_kernel *k;
    bool sum;
};

/* A product with what the loop carries: the exponential lets a state decay, and is no term of a
 * sum.
 */
static bool scales_carried(const struct lint_kernel *k, uint32_t value)
{
    uint32_t cycle = k->cycle[value];
    bool fma = flow_is(k->flow, value, "fma");
    if (cycle == FLOW_NONE || (!fma && !flow_is(k->flow, value, "mul")))
        return false;
    return !fma || k->cycle[flow_arg(k->flow, value, 0)] == cycle ||
           k->cycle[flow_arg(k->flow, value, 1)] == cycle;
}

/* Products are by the power of two that expf takes apart, no more than one of them. */
static bool visit_sum(void *user, uint32_t value)
{
    struct summed *s = user;
    const struct flow *flow = s->k->flow;
    if (scales_carried(s->k, value))
        return false;
    if (lint_is_sum(flow, value)) {
        s->sum |= s->k->cycle[value] != FLOW_NONE && flow_is(flow, value, "fma");
        s->sum |= s->k->cycle[value] != FLOW_NONE && flow_is(flow, value, "add");
        return false;
    }
    return !s->sum && (flow_is(flow, value, "mul") || lint_passes(flow, value));
}

void rule_exp_unshifted(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t v = 0; v < flow->values; v++) {
        if (flow->value[v].kind != FLOW_RESULT || !flow_is(flow, v, "ex2"))
            continue;
        struct summed s = {.k = k};
        lint_forward(k, v, visit_sum, &s);
        if (!s.sum)
            continue;
        struct argument a = argument_of(k, v);
        if (a.loaded && !a.other && !a.bounded)
            lint_add(k, flow->value[v].at,
                     "a sum over the loop takes exp of elements from which nothing is subtracted");
    }
}

/* -- e / (1 + e) -- */

/* The ex2 of a product or fma: its other factor is the power of two that expf takes apart. */
static uint32_t exponential_of(const struct flow *flow, uint32_t value)
{
    double number;
    bool fma = flow_is(flow, value, "fma") &&
               lint_number(flow, flow_arg(flow, value, 2), PTX_F32, &number);
    for (uint32_t a = 0; a < 2 && (fma || flow_is(flow, value, "mul")); a++) {
        if (flow_is(flow, flow_arg(flow, value, a), "ex2"))
            return flow_arg(flow, value, a);
    }
    return FLOW_NONE;
}

/* Through sums and products with constants, to what they are of. */
static uint32_t strip(const struct flow *flow, uint32_t value)
{
    for (int step = 0; step < 8; step++) {
        double number;
        uint32_t exponential = exponential_of(flow, value);
        if (exponential != FLOW_NONE)
            return exponential;
        bool op =
            lint_is_sum(flow, value) || flow_is(flow, value, "neg") || flow_is(flow, value, "mov");
        uint32_t rest = FLOW_NONE;
        for (uint32_t a = 0; op && a < flow->value[value].args; a++) {
            uint32_t arg = flow_arg(flow, value, a);
            if (lint_number(flow, arg, PTX_F32, &number))
                continue;
            rest = rest == FLOW_NONE || rest == arg ? arg : 0;
        }
        if (rest == FLOW_NONE || rest == 0)
            return value;
        value = rest;
    }
    return value;
}

struct under {
    const struct flow *flow;
    uint32_t found;
};

static bool visit_ex2(void *user, uint32_t value)
{
    struct under *e = user;
    if (flow_is(e->flow, value, "ex2") && e->flow->value[value].kind == FLOW_RESULT)
        e->found = value;
    return !e->found && (flow_is(e->flow, value, "mul") || lint_passes(e->flow, value));
}

/* Whether a branch or choice on the argument's sign is near: exp of what is never large. */
static bool is_guarded(const struct lint_kernel *k, uint32_t ex2)
{
    struct argument a = argument_of(k, ex2);
    const struct flow_block *b = &k->flow->block[flow_block_of(k->flow, ex2)];
    for (uint32_t c = 0; c < b->controls; c++) {
        uint32_t condition = flow_condition(k->flow, k->flow->control[b->control + c]);
        if (condition != FLOW_NONE && flow_is(k->flow, condition, "setp") &&
            lint_is_float(lint_type(k->flow, condition)))
            return true;
    }
    return a.bounded || a.other;
}

/* numerator / denominator, also as a product with a reciprocal. */
static bool is_quotient(const struct flow *flow, uint32_t v, uint32_t *numerator,
                        uint32_t *denominator)
{
    *numerator = flow_arg(flow, v, 0);
    *denominator = flow_arg(flow, v, 1);
    if (flow_is(flow, v, "div"))
        return lint_is_float(lint_type(flow, v));
    if (!flow_is(flow, v, "mul"))
        return false;
    if (flow_is(flow, *numerator, "rcp")) {
        uint32_t swap = *numerator;
        *numerator = *denominator;
        *denominator = swap;
    }
    if (!flow_is(flow, *denominator, "rcp"))
        return false;
    *denominator = flow_arg(flow, *denominator, 0);
    return true;
}

void rule_exp_ratio(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t v = 0; v < flow->values; v++) {
        uint32_t n, d;
        if (flow->value[v].kind != FLOW_RESULT || !is_quotient(flow, v, &n, &d))
            continue;
        uint32_t of_n = strip(flow, n), of_d = strip(flow, d);
        if (of_n != of_d || !lint_is_sum(flow, d) || flow->value[of_n].kind != FLOW_RESULT)
            continue;
        struct under e = {.flow = flow};
        lint_backward(k, of_n, visit_ex2, &e);
        if (e.found && !is_guarded(k, e.found))
            lint_add(k, flow->value[v].at,
                     "a quotient has the same exp above and below, which becomes Inf / Inf");
    }
}

/* -- variance -- */

static bool is_square_of(const struct flow *flow, uint32_t a, uint32_t b)
{
    uint32_t x = flow_is(flow, a, "neg") ? flow_arg(flow, a, 0) : a;
    uint32_t y = flow_is(flow, b, "neg") ? flow_arg(flow, b, 0) : b;
    return flow_same(flow, x, y);
}

/* q - m m, where neither comes straight from memory. */
static bool is_difference(const struct flow *flow, uint32_t value)
{
    if (flow_is(flow, value, "sub")) {
        uint32_t square = flow_arg(flow, value, 1);
        return flow_is(flow, square, "mul") &&
               is_square_of(flow, flow_arg(flow, square, 0), flow_arg(flow, square, 1)) &&
               !flow_is(flow, flow_arg(flow, value, 0), "ld");
    }
    if (!flow_is(flow, value, "fma"))
        return false;
    uint32_t a = flow_arg(flow, value, 0), b = flow_arg(flow, value, 1);
    bool turned = flow_is(flow, a, "neg") != flow_is(flow, b, "neg");
    double number;
    return turned && is_square_of(flow, a, b) &&
           !lint_number(flow, flow_arg(flow, value, 2), PTX_F32, &number);
}

static bool visit_under(void *user, uint32_t value)
{
    static const char *const ways[] = {"add", "max", "mul", "div", "mov", "cvt", "selp", NULL};
    struct under *u = user;
    if (!u->found && is_difference(u->flow, value))
        u->found = value;
    return !u->found && is_any(u->flow, value, ways);
}

void rule_variance_difference(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t v = 0; v < flow->values; v++) {
        struct under u = {.flow = flow};
        if (flow->value[v].kind != FLOW_RESULT ||
            !(flow_is(flow, v, "sqrt") || flow_is(flow, v, "rsqrt")))
            continue;
        lint_backward(k, flow_arg(flow, v, 0), visit_under, &u);
        if (u.found)
            lint_add(k, flow->value[u.found].at,
                     "a variance is the mean of squares less the square of the mean");
    }
}
