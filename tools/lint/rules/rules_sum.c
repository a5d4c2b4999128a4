/*
 * rules_sum.c - sums that are rounded on the way.
 *
 * What counts is a way of data from an addition to the next one of the same sum on which a number
 * has at most 16 bits: a conversion, a register of 16 bits, or an addition in f16 or bf16 itself.
 * So bf16 that is rounded by integer instructions, as for GPUs before sm_80, is found as well.
 */
#include <stdlib.h>
#include <string.h>
#include "plan/plan.h"
#include "tools/lint/rules/rules.h"

static bool is_product(const struct flow *flow, uint32_t value)
{
    return flow_is(flow, value, "mma") || flow_is(flow, value, "wgmma") ||
           (flow_is(flow, value, "wmma") && ptx_has_modifier(flow_instruction(flow, value), "mma"));
}

/* The first register of a product of matrices that is summed in f32. */
static bool is_wide_product(const struct flow *flow, uint32_t value)
{
    const struct ptx_instruction *i = flow_instruction(flow, value);
    return flow->value[value].kind == FLOW_RESULT && is_product(flow, value) && i->type_count &&
           i->types[0] == PTX_F32 && flow->result[flow->value[value].at] == value;
}

/* Arguments of a sum that take what was summed up so far: not the factors of fma. */
static bool is_addend(const struct flow *flow, uint32_t sum, uint32_t arg)
{
    bool product = flow_is(flow, sum, "fma") || flow_is(flow, sum, "mad");
    uint32_t from = product ? 2 : 0;
    for (uint32_t a = from; a < flow->value[sum].args; a++) {
        if (flow_arg(flow, sum, a) == arg)
            return true;
    }
    return false;
}

static bool is_narrow_sum(const struct flow *flow, uint32_t value)
{
    return lint_is_sum(flow, value) && lint_is_narrow(flow, value);
}

/* -- on a cycle -- */

struct around {
    const struct lint_kernel *k;
    uint32_t start;
    bool back;   /* the start is reached without a narrow number */
    bool narrow; /* a narrow number lies on the cycle */
    bool data;   /* nothing but data: no pointer or counter arithmetic */
};

static bool go_around(void *user, uint32_t value)
{
    struct around *a = user;
    const struct flow *flow = a->k->flow;
    if (a->k->cycle[value] != a->k->cycle[a->start])
        return false;
    a->back |= value == a->start;
    if (lint_is_narrow(flow, value)) {
        a->narrow = true;
        return false;
    }
    return value != a->start;
}

/* A float addition whose sum comes round again, and only through narrow numbers. */
static bool is_rounded_cycle(struct lint_kernel *k, uint32_t sum)
{
    struct around a = {.k = k, .start = sum};
    const struct flow *flow = k->flow;
    bool carried = false;
    for (uint32_t n = 0; n < flow->value[sum].args; n++) {
        uint32_t arg = flow_arg(flow, sum, n);
        carried |= k->cycle[arg] == k->cycle[sum] && is_addend(flow, sum, arg);
    }
    if (!carried)
        return false;
    if (is_narrow_sum(flow, sum))
        return true;
    lint_forward(k, sum, go_around, &a);
    return a.narrow && !a.back;
}

/* -- in a row: the loop was unrolled, or goes over lanes by shuffles -- */

struct row {
    struct lint_kernel *k;
    uint8_t *length; /* by value: roundings of one sum up to here, + 1 where known */
    int depth;
};
enum { CHAIN_LONG = 4, CHAIN_DEPTH = 200, WAY = 24 };

static unsigned chain_of(struct row *c, uint32_t sum);

/* The largest chain among the sums behind `value` that come through a narrow number. */
static unsigned behind(struct row *c, uint32_t value, bool narrow, int way)
{
    const struct flow *flow = c->k->flow;
    unsigned best = 0;
    if (way > WAY)
        return 0;
    bool here = narrow || lint_is_narrow(flow, value);
    if (lint_is_sum(flow, value))
        return here ? chain_of(c, value) : 0;
    if (flow->value[value].kind == FLOW_PHI && way > 0 && c->k->cycle[value] != FLOW_NONE)
        return 0;
    const char *word = flow_instruction(flow, value) ? flow_instruction(flow, value)->opcode : "";
    bool passes = lint_passes(flow, value) || strcmp(word, "cvt") == 0 ||
                  strcmp(word, "shl") == 0 || strcmp(word, "shr") == 0 ||
                  strcmp(word, "and") == 0 || strcmp(word, "prmt") == 0 ||
                  (strcmp(word, "add") == 0 && here);
    for (uint32_t a = 0, n = passes ? flow_data(flow, value) : 0; a < n && a < 3; a++) {
        unsigned one = behind(c, flow_arg(flow, value, a), here, way + 1);
        best = one > best ? one : best;
    }
    return best;
}

static unsigned chain_of(struct row *c, uint32_t sum)
{
    const struct flow *flow = c->k->flow;
    unsigned best = 0;
    if (c->length[sum] || c->depth > CHAIN_DEPTH)
        return c->length[sum] ? c->length[sum] - 1u : 0;
    c->length[sum] = 1; /* a cycle ends here */
    c->depth++;
    for (uint32_t a = 0; a < flow->value[sum].args; a++) {
        uint32_t arg = flow_arg(flow, sum, a);
        if (!is_addend(flow, sum, arg))
            continue;
        unsigned one = behind(c, arg, is_narrow_sum(flow, sum), 0);
        best = one > best ? one : best;
    }
    c->depth--;
    best = best < 100 ? best + 1 : best;
    c->length[sum] = (uint8_t)(best + 1);
    return best;
}

/* Whether a right neighbour of a chain is its longer continuation, so that each is reported
 * once. */
struct last {
    const struct flow *flow;
    bool goes_on;
};

static bool goes_on(void *user, uint32_t value)
{
    struct last *l = user;
    l->goes_on |= lint_is_sum(l->flow, value);
    return !l->goes_on;
}

/* -- in memory: f32 is loaded, added to, rounded, and stored where it was -- */

struct stored {
    struct lint_kernel *k;
    const struct lint_access *store;
    bool narrow, found;
};

static bool visit_stored(void *user, uint32_t value)
{
    struct stored *s = user;
    const struct flow *flow = s->k->flow;
    s->narrow |= lint_is_narrow(flow, value);
    if (lint_is_sum(flow, value)) {
        for (uint32_t a = 0; a < flow->value[value].args && s->narrow; a++) {
            struct lint_access load;
            uint32_t arg = flow_arg(flow, value, a);
            if (flow_is(flow, arg, "ld") && is_addend(flow, value, arg) &&
                lint_access(flow, flow->value[arg].at, &load) && load.offset == s->store->offset &&
                flow_same(flow, load.address, s->store->address))
                s->found = true;
        }
        return false;
    }
    return lint_passes(flow, value) || flow_is(flow, value, "cvt") || flow_is(flow, value, "shl") ||
           flow_is(flow, value, "shr") || flow_is(flow, value, "and") ||
           flow_is(flow, value, "add");
}

static void check_stores(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        struct lint_access store;
        if (!lint_access(flow, at, &store) || !store.writes || store.atomic || store.bytes != 4 ||
            flow->block[flow->block_of[at]].loop == FLOW_NONE || flow->value[store.value].args < 2)
            continue;
        struct stored s = {.k = k, .store = &store};
        lint_backward(k, flow_arg(flow, store.value, 1), visit_stored, &s);
        if (s.found)
            lint_add(k, at,
                     "a sum in memory of 32 bits is rounded to 16 bits before it is stored back");
    }
}

/* The entry's tolerance declares an accumulator of 16 bits. */
static bool declares_narrow(const struct lint_kernel *k)
{
    return k->plan && (k->plan->tolerance.accumulate == DTYPE_F16 ||
                       k->plan->tolerance.accumulate == DTYPE_BF16);
}

void rule_accumulator_rounded(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    if (declares_narrow(k))
        return;
    check_stores(k);
    struct row c = {.k = k, .length = calloc(flow->values, 1)};
    for (uint32_t v = 0; c.length && v < flow->values; v++) {
        bool product = is_wide_product(flow, v);
        if (!product && (!lint_is_sum(flow, v) || is_narrow_sum(flow, v)))
            continue;
        if (k->cycle[v] != FLOW_NONE) {
            if (is_rounded_cycle(k, v))
                lint_add(k, flow->value[v].at,
                         "the sum of %s is rounded to 16 bits on each round of the loop",
                         flow_instruction(flow, v)->text);
            continue;
        }
        unsigned length = product ? 0 : chain_of(&c, v);
        struct last l = {.flow = flow};
        if (length >= CHAIN_LONG)
            lint_forward(k, v, goes_on, &l);
        if (length >= CHAIN_LONG && !l.goes_on)
            lint_add(k, flow->value[v].at,
                     "the sum of %s is rounded to 16 bits between its terms, %u times in a row",
                     flow_instruction(flow, v)->text, length - 1);
    }
    free(c.length);
}

/* A product that adds up in f16: mma with a destination of f16. */
static bool is_narrow_product(const struct flow *flow, uint32_t v)
{
    const struct ptx_instruction *i = flow_instruction(flow, v);
    return is_product(flow, v) && i->type_count &&
           (i->types[0] == PTX_F16 || i->types[0] == PTX_F16X2);
}

void rule_accumulator_narrow(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    enum lint_severity severity =
        k->plan ? LINT_WARNING : LINT_NOTE; /* declared wider, or unknown */
    if (declares_narrow(k))
        return;
    struct row c = {.k = k, .length = calloc(flow->values, 1)};
    for (uint32_t v = 0; c.length && v < flow->values; v++) {
        if (flow->value[v].kind != FLOW_RESULT && flow->value[v].kind != FLOW_EFFECT)
            continue;
        const struct ptx_instruction *i = flow_instruction(flow, v);
        if (is_narrow_product(flow, v) && k->cycle[v] != FLOW_NONE)
            lint_add_as(k, severity, flow->value[v].at, "%s adds up in f16, over a loop", i->text);
        else if (is_narrow_sum(flow, v) && k->cycle[v] != FLOW_NONE && is_rounded_cycle(k, v))
            lint_add_as(k, severity, flow->value[v].at, "%s adds up in 16 bits, over a loop",
                        i->text);
        else if (is_narrow_sum(flow, v) && k->cycle[v] == FLOW_NONE && chain_of(&c, v) > CHAIN_LONG)
            lint_add_as(k, severity, flow->value[v].at, "%s adds up in 16 bits, %u terms in a row",
                        i->text, chain_of(&c, v));
    }
    free(c.length);
}

void rule_atomic_narrow(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        const struct ptx_instruction *i = &flow->function->instructions[at];
        if ((strcmp(i->opcode, "red") != 0 && strcmp(i->opcode, "atom") != 0) ||
            !ptx_has_modifier(i, "add") || !i->type_count)
            continue;
        enum ptx_type type = i->types[0];
        if (type == PTX_F16 || type == PTX_F16X2 || type == PTX_BF16 || type == PTX_BF16X2)
            lint_add(k, at, "%s adds up in memory in 16 bits", i->text);
    }
}

/* -- a rounding without effect -- */

struct rounded {
    const struct flow *flow;
    bool computed; /* from float arithmetic */
    bool used;     /* in float arithmetic again */
    bool stored;
    uint32_t widened;
};

static bool is_arithmetic(const struct flow *flow, uint32_t value)
{
    static const char *const words[] = {"add", "sub",  "fma",   "mul",  "div", "ex2",
                                        "rcp", "sqrt", "rsqrt", "tanh", "lg2"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        if (flow->value[value].kind == FLOW_RESULT && flow_is(flow, value, words[w]))
            return lint_type(flow, value) == PTX_F32;
    }
    return false;
}

static bool rounds_from(void *user, uint32_t value)
{
    struct rounded *r = user;
    r->computed |= is_arithmetic(r->flow, value);
    return !r->computed && (lint_passes(r->flow, value) || flow_is(r->flow, value, "cvt") ||
                            flow_is(r->flow, value, "shr"));
}

static bool goes_to(void *user, uint32_t value)
{
    struct rounded *r = user;
    const struct flow *flow = r->flow;
    if (is_arithmetic(flow, value)) {
        r->used = true;
        return false;
    }
    r->stored |= flow->value[value].kind == FLOW_EFFECT;
    return lint_passes(flow, value) || flow_is(flow, value, "cvt") || flow_is(flow, value, "shl") ||
           flow_is(flow, value, "add") || flow_is(flow, value, "and") ||
           flow_is(flow, value, "prmt");
}

void rule_intermediate_rounded(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    bool declared = k->plan && k->plan_points;
    for (uint32_t v = 0; !declared && v < flow->values; v++) {
        struct rounded r = {.flow = flow};
        bool from = flow_is(flow, v, "cvt") && flow->value[v].kind == FLOW_RESULT;
        if (!from || !lint_is_narrow(flow, v) || k->cycle[v] != FLOW_NONE)
            continue;
        for (uint32_t a = 0; a < flow->value[v].args; a++)
            lint_backward(k, flow_arg(flow, v, a), rounds_from, &r);
        lint_forward(k, v, goes_to, &r);
        if (r.computed && r.used && !r.stored)
            lint_add_as(k, k->plan ? LINT_NOTE : LINT_HINT, flow->value[v].at,
                        "%s rounds a number that the kernel goes on computing with",
                        flow_instruction(flow, v)->text);
    }
}
