/* rules_fold.c - what a maximum, a minimum, a product and a sum of exponentials begin with, and
 * what masked elements count as. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lint/rules/rules.h"

/* Below this no logit of a model lies; masks and beginnings of maxima in use do. */
#define FAR_AWAY 1e9
/* The largest f16, which stands for infinity there. */
#define F16_LARGEST 65000.0

/* Clamps in use are smaller: numbers such as -10000 mean infinity. */
#define STANDS_IN 5000.0

/* -- types -- */

static bool is_signed(enum ptx_type type)
{
    return type == PTX_S32 || type == PTX_S64 || type == PTX_S16;
}

static bool is_integer(enum ptx_type type)
{
    return is_signed(type) || type == PTX_U32 || type == PTX_U64 || type == PTX_U16;
}

/* The largest and smallest of floats, and of integers by their own instructions. */
static enum lint_fold fold_of(const struct flow *flow, uint32_t value)
{
    bool max = flow_is(flow, value, "max"), min = flow_is(flow, value, "min");
    if (flow->value[value].kind == FLOW_RESULT && (max || min) &&
        is_integer(lint_type(flow, value)))
        return max ? LINT_MAX : LINT_MIN;
    return lint_fold(flow, value);
}

/* The type in which a fold compares: of a choice that of its comparison. */
static enum ptx_type type_of_fold(const struct flow *flow, uint32_t value)
{
    enum ptx_type own = lint_type(flow, value);
    uint32_t predicate = flow_arg(flow, value, 2);
    return !lint_is_float(own) && flow_is(flow, value, "selp") && flow_is(flow, predicate, "setp")
               ? lint_type(flow, predicate)
               : own;
}

static double integer_of(uint64_t bits, enum ptx_type type)
{
    unsigned width = ptx_type_bits(type);
    if (width < 64 && is_signed(type))
        return (double)((int64_t)(bits << (64 - width)) >> (64 - width));
    if (width < 64)
        return (double)(bits & (((uint64_t)1 << width) - 1));
    return is_signed(type) ? (double)(int64_t)bits : (double)bits;
}

/* -- maxima and minima -- */

struct leaves {
    struct lint_kernel *k;
    const uint8_t *folds; /* by cycle: a bit for each enum lint_fold on it */
    enum lint_fold fold;
    enum ptx_type type;
    uint32_t root;
    bool shuffled; /* lanes take part: a fold of a warp */
    bool loaded;   /* at least one leaf comes from memory */
    bool signless; /* all leaves but constants are 0 or more */
    bool elements; /* all leaves but constants are as they are in memory */
    uint32_t constant;
    double number; /* the wrong constant, where there is one */
    bool found;
};

/* The least number of a type of 8 or 16 bits is neutral where those are loaded into wider
 * registers. */
static bool is_least(double low)
{
    return low == -128 || low == -255 || low == -32768 || low == -65535 || low == -127 ||
           low == -32767;
}

static bool is_neutral(const struct leaves *l, double number)
{
    double low = l->fold == LINT_MAX ? number : -number;
    if (is_integer(l->type))
        return low <= -FAR_AWAY || is_least(low) ||
               (l->fold == LINT_MAX && !is_signed(l->type) && number == 0);
    return !isfinite(number) || low <= -FAR_AWAY || (low <= -F16_LARGEST && low >= -65536);
}

/* A constant of the fold; of two halves the one that is not neutral. */
static bool leaf_number(const struct leaves *l, uint32_t value, double *out)
{
    const struct flow *flow = l->k->flow;
    uint64_t bits;
    double high;
    if (is_integer(l->type)) {
        bool known = flow_constant(flow, value, &bits);
        *out = known ? integer_of(bits, l->type) : 0;
        return known;
    }
    if (!lint_number(flow, value, l->type, out))
        return false;
    if (lint_upper_half(flow, value, l->type, &high) && is_neutral(l, *out))
        *out = high;
    return true;
}

/* A choice between constants, one of them neutral: the kernel's mode decides what is folded. */
static bool is_mode(const struct leaves *l, uint32_t value)
{
    const struct flow *flow = l->k->flow;
    bool choice = flow->value[value].kind == FLOW_PHI || flow_is(flow, value, "selp"),
         neutral = false, other = false;
    for (uint32_t a = 0, n = choice ? flow_data(flow, value) : 0; a < n; a++) {
        double number;
        if (!leaf_number(l, flow_arg(flow, value, a), &number))
            continue;
        neutral |= is_neutral(l, number);
        other |= !is_neutral(l, number);
    }
    return neutral && other;
}

static bool is_foreign(const struct leaves *l, uint32_t value)
{
    uint32_t cycle = l->k->cycle[value];
    return cycle != FLOW_NONE && !(l->folds[cycle] >> l->fold & 1);
}

/* What a loop that folds nothing has made, or what stands for it where the loop has no round: its
 * beginning is not the fold's. */
static bool is_of_other_loop(const struct leaves *l, uint32_t value)
{
    const struct flow *flow = l->k->flow;
    bool foreign = is_foreign(l, value);
    for (uint32_t a = 0; flow->value[value].kind == FLOW_PHI && a < flow->value[value].args; a++)
        foreign |= is_foreign(l, flow_arg(flow, value, a));
    return foreign;
}

/* A number from global memory, perhaps converted. */
static bool is_as_stored(const struct flow *flow, uint32_t value)
{
    for (int step = 0; step < 4 && (flow_is(flow, value, "cvt") || flow_is(flow, value, "mov") ||
                                    flow->value[value].kind == FLOW_MERGE);
         step++)
        value = flow_arg(flow, value, 0);
    return flow_is(flow, value, "ld") && (flow->value[value].sources & FLOW_GLOBAL) != 0;
}

static bool is_unsigned_element(const struct flow *flow, uint32_t value)
{
    while (flow_is(flow, value, "cvt"))
        value = flow_arg(flow, value, 0);
    enum ptx_type type = lint_type(flow, value);
    return flow_is(flow, value, "ld") && (type == PTX_U8 || type == PTX_U16);
}

static bool visit_leaf(void *user, uint32_t value)
{
    struct leaves *l = user;
    const struct flow *flow = l->k->flow;
    double number;
    if (flow->value[value].kind == FLOW_UNDEFINED || is_mode(l, value))
        return false;
    if (is_of_other_loop(l, value)) {
        l->signless = false;
        return false;
    }
    if (leaf_number(l, value, &number)) {
        if (!is_neutral(l, number) && !l->found) {
            l->found = true;
            l->number = number;
            l->constant = value;
        }
        return false;
    }
    l->shuffled |= flow_is(flow, value, "shfl");
    if (value != l->root && fold_of(flow, value) == l->fold)
        return false;
    bool packs = flow_is(flow, value, "mov") && flow->value[value].args > 1;
    if (value == l->root || (lint_passes(flow, value) && !packs))
        return true;
    l->loaded |=
        (flow->value[value].sources & (FLOW_GLOBAL | FLOW_LOCAL | FLOW_OTHER)) == FLOW_GLOBAL;
    l->elements = l->elements && is_as_stored(flow, value);
    l->signless =
        l->signless && l->fold == LINT_MAX &&
        (is_integer(l->type) ? is_unsigned_element(flow, value) : lint_not_negative(l->k, value));
    return false;
}

struct onward {
    const struct flow *flow;
    enum lint_fold fold;
    bool folds; /* the result is folded again */
};

static bool visit_onward(void *user, uint32_t value)
{
    struct onward *o = user;
    o->folds |= fold_of(o->flow, value) == o->fold || flow_is(o->flow, value, "shfl");
    return !o->folds && lint_passes(o->flow, value);
}

/* Of a constant that stands in the fold itself, and not behind a phi or a choice. */
static bool is_direct(const struct flow *flow, uint32_t fold, uint32_t constant)
{
    return flow_arg(flow, fold, 0) == constant || flow_arg(flow, fold, 1) == constant;
}

static void check_fold(struct lint_kernel *k, const uint8_t *folds, uint32_t v, enum lint_fold fold)
{
    const struct flow *flow = k->flow;
    struct leaves l = {.k = k,
                       .folds = folds,
                       .fold = fold,
                       .type = type_of_fold(flow, v),
                       .root = v,
                       .signless = true,
                       .elements = true};
    struct onward o = {.flow = flow, .fold = fold};
    lint_backward(k, v, visit_leaf, &l);
    const bool integer = is_integer(l.type);
    if (!l.found || !l.loaded || (l.signless && l.number <= 0))
        return;
    if ((integer || l.type == PTX_F64) && !l.elements) /* bounds and indices */
        return;
    lint_forward(k, v, visit_onward, &o);
    bool carried = k->cycle[v] != FLOW_NONE && !k->adds[k->cycle[v]];
    bool reduces = carried || l.shuffled || o.folds;
    bool direct = is_direct(flow, v, l.constant) && k->cycle[v] == FLOW_NONE;
    bool stands_in = direct && !integer && fold == LINT_MAX && l.number <= -STANDS_IN;
    if (stands_in)
        lint_add(k, flow->value[v].at, "%g stands in for -infinity", l.number);
    if (!reduces || direct) /* a clamp of each element, or of the result */
        direct = direct && !(o.folds && l.number == 0);
    if (!reduces || stands_in || direct)
        return;
    lint_add_as(k, integer ? LINT_NOTE : LINT_WARNING, flow->value[v].at,
                "%g takes part in a %s of numbers that may all be %s", l.number,
                fold == LINT_MAX ? "maximum" : "minimum", fold == LINT_MAX ? "smaller" : "larger");
}

void rule_neutral_element(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    uint8_t *folds = calloc(flow->values, 1);
    for (uint32_t v = 0; folds && v < flow->values; v++) {
        if (k->cycle[v] != FLOW_NONE)
            folds[k->cycle[v]] |= (uint8_t)(1 << fold_of(flow, v));
    }
    for (uint32_t v = 0; folds && v < flow->values; v++) {
        enum lint_fold fold = fold_of(flow, v);
        if (fold != LINT_NO_FOLD)
            check_fold(k, folds, v, fold);
    }
    free(folds);
}

/* -- sums and products -- */

/* An element as it is in memory, perhaps converted or scaled, or loaded under a mask. */
static bool is_element(const struct flow *flow, uint32_t value)
{
    for (int step = 0; step < 4; step++) {
        if (flow->value[value].kind == FLOW_MERGE)
            value = flow_arg(flow, value, 0);
        if (flow_is(flow, value, "ld"))
            return (flow->value[value].sources & FLOW_GLOBAL) != 0;
        bool same = flow_is(flow, value, "cvt") || flow_is(flow, value, "mov");
        if (!same && !flow_is(flow, value, "mul"))
            return false;
        uint32_t first = flow_arg(flow, value, 0);
        bool second = flow_is(flow, value, "mul") && !flow_is(flow, first, "ld") &&
                      !flow_is(flow, first, "cvt");
        value = flow_arg(flow, value, second || (same && flow->value[value].args == 2));
    }
    return false;
}

/* A choice between 0 and a number from memory: an element that a mask leaves out. */
static bool is_masked_zero(const struct flow *flow, uint32_t value)
{
    const struct flow_value *v = &flow->value[value];
    bool choice = v->kind == FLOW_PHI || v->kind == FLOW_MERGE || flow_is(flow, value, "selp");
    bool zero = false, loaded = false;
    for (uint32_t a = 0, n = choice ? flow_data(flow, value) : 0; a < n; a++) {
        double number;
        uint32_t arg = flow_arg(flow, value, a);
        if (lint_number(flow, arg, PTX_F32, &number))
            zero |= number == 0;
        else
            loaded |= is_element(flow, arg);
    }
    return zero && loaded;
}

static bool holds_element(const struct flow *flow, uint32_t value)
{
    return is_as_stored(flow, value) || is_masked_zero(flow, value);
}

struct masked {
    const struct lint_kernel *k;
    uint32_t zero;
};

/* A sum of two numbers, of which 0 may well be one: an absent bias. */
static bool adds_two(const struct flow *flow, uint32_t value)
{
    double number;
    return flow_is(flow, value, "add") &&
           !lint_number(flow, flow_arg(flow, value, 0), PTX_F32, &number) &&
           !lint_number(flow, flow_arg(flow, value, 1), PTX_F32, &number);
}

/* A sum of products, of which 0 may be a factor: a scale is a constant or a parameter. */
static bool adds_product(const struct flow *flow, uint32_t value)
{
    if (flow_is(flow, value, "mma") || flow_is(flow, value, "wgmma"))
        return true;
    double number;
    int64_t offset;
    bool product = flow_is(flow, value, "fma");
    for (uint32_t a = 0; a < 2 && product; a++) {
        uint32_t factor = flow_arg(flow, value, a);
        product =
            !lint_number(flow, factor, PTX_F32, &number) && !flow_param_of(flow, factor, &offset);
    }
    return product;
}

static bool visit_masked(void *user, uint32_t value)
{
    struct masked *m = user;
    if (m->zero)
        return false;
    if (m->k->cycle[value] != FLOW_NONE) /* a dot product, or the maximum */
        return false;
    if (is_masked_zero(m->k->flow, value)) {
        m->zero = value;
        return false;
    }
    return !flow_is(m->k->flow, value, "ex2") && !adds_two(m->k->flow, value) &&
           !adds_product(m->k->flow, value);
}

struct summed {
    const struct lint_kernel *k;
    uint32_t mask; /* that replaced elements by 0, or FLOW_NONE */
    bool sum;
};

/* The predicate of a choice; FLOW_NONE: branches decide. */
static uint32_t mask_of(const struct flow *flow, uint32_t value)
{
    bool one = flow_is(flow, value, "selp") || flow->value[value].kind == FLOW_MERGE;
    return one ? flow_arg(flow, value, 2) : FLOW_NONE;
}

/* Whether an element that `mask` leaves out is left out by `other` as well, as far as can be seen.
 */
static bool covers(const struct flow *flow, uint32_t other, uint32_t mask)
{
    if (other == FLOW_NONE || mask == FLOW_NONE || flow_same(flow, other, mask))
        return true;
    return flow_is(flow, other, "and") && (flow_same(flow, flow_arg(flow, other, 0), mask) ||
                                           flow_same(flow, flow_arg(flow, other, 1), mask));
}

/* A choice of 0 in place of an exponential: what the mask leaves out is not summed. */
static bool is_masked_after(const struct summed *s, uint32_t value)
{
    const struct flow *flow = s->k->flow;
    bool zero = false;
    for (uint32_t a = 0, n = flow_data(flow, value); a < n && lint_passes(flow, value); a++) {
        double number;
        zero |= lint_number(flow, flow_arg(flow, value, a), PTX_F32, &number) && number == 0;
    }
    return zero && s->k->cycle[value] == FLOW_NONE && covers(flow, mask_of(flow, value), s->mask);
}

/* Summed up over a loop, or over lanes. */
static bool visit_summed(void *user, uint32_t value)
{
    struct summed *s = user;
    const struct flow *flow = s->k->flow;
    if (is_masked_after(s, value))
        return false;
    if (lint_is_sum(flow, value) && s->k->cycle[value] != FLOW_NONE)
        s->sum = true;
    for (uint32_t u = 0; flow_is(flow, value, "shfl") && u < flow->value[value].users; u++)
        s->sum |= lint_is_sum(flow, flow->user[flow->value[value].user + u]);
    return !s->sum && (flow_is(flow, value, "mul") || lint_passes(flow, value) ||
                       flow_is(flow, value, "cvt") || lint_is_sum(flow, value));
}

/* Whether a number is the same on each round of a loop: arithmetic on what was there before it. */
static bool is_invariant(const struct flow *flow, uint32_t value, uint32_t loop, int depth)
{
    const struct flow_value *v = &flow->value[value];
    if (v->kind == FLOW_CONSTANT)
        return true;
    if (v->kind == FLOW_UNDEFINED || depth > 16)
        return false;
    if (v->kind != FLOW_SPECIAL && v->kind != FLOW_ADDRESS &&
        !flow_in_loop(flow, flow_block_of(flow, value), loop))
        return true;
    bool same = v->kind == FLOW_RESULT && v->args && !flow_is(flow, value, "ld");
    for (uint32_t a = 0; a < v->args && same; a++)
        same = is_invariant(flow, flow_arg(flow, value, a), loop, depth + 1);
    return same;
}

/* Whether a parameter decides how often the loop runs. */
static bool is_sized(const struct flow *flow, uint32_t loop)
{
    for (uint32_t b = 0; b < flow->blocks; b++) {
        bool leaves = false;
        for (unsigned n = 0; flow_in_loop(flow, b, loop) && n < flow->block[b].succs; n++)
            leaves |= !flow_in_loop(flow, flow->edge[flow->block[b].succ + n], loop);
        uint32_t condition = leaves ? flow_condition(flow, b) : FLOW_NONE;
        if (condition != FLOW_NONE && flow_has_params(&flow->value[condition]))
            return true;
    }
    return false;
}

/* Whether each round of the loop adds the same number `from`. Computed inside, it may be one of a
 * loop that never runs: then a parameter has to size the loop. */
static bool is_repeated(const struct flow *flow, uint32_t from, uint32_t loop)
{
    return !flow_in_loop(flow, flow_block_of(flow, from), loop) ||
           (is_invariant(flow, from, loop, 0) && is_sized(flow, loop));
}

struct repeated {
    const struct lint_kernel *k;
    uint32_t from; /* the exponential */
    bool added;
};

/* Added on each round of a loop on which it does not depend. */
static bool visit_repeated(void *user, uint32_t value)
{
    struct repeated *r = user;
    const struct flow *flow = r->k->flow;
    if (lint_is_sum(flow, value)) {
        uint32_t loop = flow->block[flow_block_of(flow, value)].loop;
        r->added |= r->k->cycle[value] != FLOW_NONE && loop != FLOW_NONE &&
                    is_repeated(flow, r->from, loop) && !flow_is(flow, value, "fma");
        return false;
    }
    return !r->added && (flow_is(flow, value, "mul") ||
                         (r->k->cycle[value] == FLOW_NONE && lint_passes(flow, value)));
}

void rule_masked_exp(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t v = 0; v < flow->values; v++) {
        if (!flow_is(flow, v, "ex2") || flow->value[v].kind != FLOW_RESULT)
            continue;
        struct repeated r = {.k = k, .from = v};
        lint_forward(k, v, visit_repeated, &r);
        if (r.added)
            lint_add(
                k, flow->value[v].at,
                "the sum takes the same exp on each round of a loop, as of elements that count "
                "as 0");
        struct masked m = {.k = k};
        struct summed s = {.k = k, .mask = FLOW_NONE};
        lint_backward(k, flow_arg(flow, v, 0), visit_masked, &m);
        if (m.zero) {
            s.mask = mask_of(flow, m.zero);
            lint_forward(k, v, visit_summed, &s);
        }
        if (s.sum)
            lint_add(k, flow->value[v].at,
                     "the sum takes exp of elements that a mask has replaced by 0");
    }
}

/* Whether the loop gives the product itself back as its factor. */
static bool comes_back(const struct flow *flow, uint32_t v)
{
    bool back = false;
    for (uint32_t a = 0; a < 2; a++) {
        uint32_t phi = flow_arg(flow, v, a);
        for (uint32_t n = 0; flow->value[phi].kind == FLOW_PHI && n < flow->value[phi].args; n++) {
            uint32_t from = flow_arg(flow, phi, n);
            back |= from == v || (flow_is(flow, from, "mov") && flow_arg(flow, from, 0) == v);
        }
    }
    return back;
}

/* A product of integers: its other factors are elements, not the steps of a hash or a size. */
static bool is_integer_product(const struct flow *flow, uint32_t v)
{
    const struct ptx_instruction *i = flow_instruction(flow, v);
    return is_integer(lint_type(flow, v)) && !ptx_has_modifier(i, "wide") &&
           !ptx_has_modifier(i, "hi") && comes_back(flow, v) &&
           (holds_element(flow, flow_arg(flow, v, 0)) || holds_element(flow, flow_arg(flow, v, 1)));
}

/* A factor that comes round again in a loop that adds nothing to it. */
static bool is_product(const struct lint_kernel *k, uint32_t v)
{
    const struct flow *flow = k->flow;
    if (k->cycle[v] == FLOW_NONE || !flow_is(flow, v, "mul"))
        return false;
    if (is_integer_product(flow, v))
        return true;
    return lint_is_float(lint_type(flow, v)) && !k->adds[k->cycle[v]];
}

/* 0, or a pair of numbers of which one is 0. */
static bool has_zero(const struct flow *flow, uint32_t value, enum ptx_type type)
{
    double number, high;
    if (!lint_number(flow, value, type, &number))
        return false;
    return number == 0 || (lint_upper_half(flow, value, type, &high) && high == 0);
}

void rule_product_zero(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t v = 0; v < flow->values; v++) {
        if (!is_product(k, v))
            continue;
        for (uint32_t a = 0; a < 2; a++) {
            uint32_t arg = flow_arg(flow, v, a), other = flow_arg(flow, v, 1 - a);
            bool carried = k->cycle[other] == k->cycle[v];
            if (carried && k->cycle[arg] == FLOW_NONE && is_masked_zero(flow, arg))
                lint_add(k, flow->value[v].at,
                         "a product over the loop takes 0 for elements that a mask leaves out");
            for (uint32_t n = 0; flow->value[arg].kind == FLOW_PHI &&
                                 k->cycle[arg] == k->cycle[v] && n < flow->value[arg].args;
                 n++) {
                if (has_zero(flow, flow_arg(flow, arg, n), lint_type(flow, v)))
                    lint_add(k, flow->value[v].at, "a product over the loop begins with 0");
            }
        }
    }
}
