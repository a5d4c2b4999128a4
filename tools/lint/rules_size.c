/*
 * rules_size.c - 32-bit indices against the largest sizes that the entry's `fuzz` mapping allows.
 *
 * Bounds come from constants, thread numbers, those sizes, and comparisons with what is bounded
 * that decide whether a block runs. What has no bound is no finding.
 */
#include <stdlib.h>
#include <string.h>
#include "plan/plan.h"
#include "system/yaml_doc.h"
#include "tools/lint/rules.h"

enum { DEPTH = 24, STEPS = 4000 };
#define NO_BOUND INT64_MAX

struct sizes {
    const struct lint_kernel *k;
    int steps;
};

/* -- the entry's sizes -- */

/* "1..4096", "128", [1, 7, 64]: the largest. */
static int64_t largest(const struct yaml_node *node)
{
    int64_t most = NO_BOUND;
    if (node->kind == YAML_KIND_SEQUENCE) {
        for (size_t i = 0; i < node->count; i++) {
            int64_t one = largest(node->item[i]);
            most = i == 0 || (one > most && most < NO_BOUND) ? one : most;
        }
        return most;
    }
    const char *text = node->text ? node->text : "", *dots = strstr(text, "..");
    const char *from = dots ? dots + 2 : text;
    char *end;
    long long number = strtoll(from, &end, 10);
    return end != from && *end == '\0' && number >= 0 ? (int64_t)number : NO_BOUND;
}

static int64_t param_bound(const struct lint_kernel *k, unsigned param)
{
    const struct signature *signature = k->plan->signature;
    for (unsigned i = 0; i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        if (item->param != param || item->array || item->earlier || item->offset)
            continue;
        const struct yaml_node *node = yaml_get(k->bench.fuzz, item->name);
        return node ? largest(node) : NO_BOUND;
    }
    return NO_BOUND;
}

/* -- bounds of values -- */

static int64_t bound(struct sizes *s, uint32_t value, uint32_t block, int depth);

struct limit {
    struct sizes *s;
    uint32_t value, block;
    int depth;
    int64_t found;
};

/* value < limit, or its negation that leaves: both bound the value where the block runs. */
static bool visit_limit(void *user, uint32_t branch, uint32_t condition)
{
    struct limit *l = user;
    const struct flow *flow = l->s->k->flow;
    const struct ptx_instruction *i = flow_instruction(flow, condition);
    (void)branch;
    if (!flow_is(flow, condition, "setp") || !i->modifier_count)
        return true;
    const char *word = i->modifiers[0];
    bool orders = strcmp(word, "lt") == 0 || strcmp(word, "ge") == 0 || strcmp(word, "lo") == 0 ||
                  strcmp(word, "hs") == 0;
    if (!orders || !flow_same(flow, flow_arg(flow, condition, 0), l->value))
        return true;
    int64_t most = bound(l->s, flow_arg(flow, condition, 1), l->block, l->depth + 1);
    if (most < NO_BOUND && most > 0 && most - 1 < l->found)
        l->found = most - 1;
    return true;
}

static int64_t compared(struct sizes *s, uint32_t value, uint32_t block, int depth)
{
    struct limit l = {s, value, block, depth, NO_BOUND};
    uint32_t own = flow_condition(s->k->flow, block);
    if (own != FLOW_NONE)
        visit_limit(&l, block, own);
    flow_each_condition(s->k->flow, block, visit_limit, &l);
    return l.found;
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t out;
    return a == NO_BOUND || b == NO_BOUND || __builtin_mul_overflow(a, b, &out) ? NO_BOUND : out;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t out;
    return a == NO_BOUND || b == NO_BOUND || __builtin_add_overflow(a, b, &out) ? NO_BOUND : out;
}

/* -- operations of two numbers, neither of which is negative -- */

static int64_t shifted(int64_t a, int64_t b)
{
    return b < 32 ? times(a, (int64_t)1 << b) : NO_BOUND;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A difference, quotient or right shift of what is not negative is no larger than the first. */
static int64_t first_of(int64_t a, int64_t b)
{
    return b == NO_BOUND ? NO_BOUND : a;
}

/* or: a sum where the two have no bit in common, as where a compiler puts an index together. */
static const struct {
    const char *word;
    int64_t (*bound)(int64_t a, int64_t b);
} operations[] = {
    {"add", plus},     {"or", plus},      {"mul", times},    {"shl", shifted},
    {"and", smaller},  {"min", smaller},  {"max", larger},   {"selp", larger},
    {"sub", first_of}, {"shr", first_of}, {"div", first_of}, {"rem", smaller},
};

static int64_t of_result(struct sizes *s, uint32_t value, uint32_t block, int depth)
{
    const struct flow *flow = s->k->flow;
    int64_t offset, a, b;
    const struct ptx_variable *param = flow_param_of(flow, value, &offset);
    if (param)
        return param_bound(s->k, param->index);
    const char *word = flow_instruction(flow, value)->opcode;
    a = bound(s, flow_arg(flow, value, 0), block, depth + 1);
    if (strcmp(word, "mov") == 0 || strcmp(word, "cvt") == 0)
        return flow->value[value].args == 1 ? a : NO_BOUND;
    if (flow->value[value].args < 2)
        return NO_BOUND;
    b = bound(s, flow_arg(flow, value, 1), block, depth + 1);
    if (strcmp(word, "mad") == 0)
        return plus(times(a, b), bound(s, flow_arg(flow, value, 2), block, depth + 1));
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(word, operations[i].word) == 0)
            return operations[i].bound(a, b);
    }
    return NO_BOUND;
}

static int64_t of_phi(struct sizes *s, uint32_t value, int depth)
{
    const struct flow *flow = s->k->flow;
    const struct flow_value *v = &flow->value[value];
    const struct flow_block *b = &flow->block[v->at];
    int64_t most = 0;
    for (uint32_t p = 0; p < v->args; p++) {
        uint32_t from = flow->edge[b->pred + p];
        int64_t one = bound(s, flow->arg[v->arg + p], from, depth + 1);
        most = one > most ? one : most;
    }
    return most;
}

static int64_t bound(struct sizes *s, uint32_t value, uint32_t block, int depth)
{
    const struct flow *flow = s->k->flow;
    const struct flow_value *v = &flow->value[value];
    if (depth > DEPTH || ++s->steps > STEPS)
        return NO_BOUND;
    if (v->kind == FLOW_CONSTANT)
        return v->bits <= INT32_MAX ? (int64_t)v->bits : NO_BOUND;
    int64_t most = NO_BOUND, limit = NO_BOUND;
    if (v->kind == FLOW_SPECIAL) {
        uint64_t known = flow_most(flow, value);
        most = known < UINT32_MAX ? (int64_t)known : NO_BOUND;
    } else if (v->kind == FLOW_RESULT) {
        most = of_result(s, value, block, depth);
    }
    if (most == NO_BOUND)
        limit = compared(s, value, block, depth);
    if (most == NO_BOUND && limit == NO_BOUND && v->kind == FLOW_PHI)
        most = of_phi(s, value, depth);
    return most < limit ? most : limit;
}

/* -- the rule -- */

/* Operations of 32 bits that grow an index. */
static bool grows(const struct flow *flow, uint32_t v)
{
    static const char *const words[] = {"mul", "mad", "shl", "add", "or"};
    const struct ptx_instruction *i = flow_instruction(flow, v);
    bool found = false;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        found |= flow->value[v].kind == FLOW_RESULT && flow_is(flow, v, words[w]);
    return found && !ptx_has_modifier(i, "wide") && !ptx_has_modifier(i, "hi") &&
           ptx_type_bits(lint_type(flow, v)) == 32 && !lint_is_float(lint_type(flow, v));
}

struct widening {
    const struct flow *flow;
    bool seen, with_sign;
};

/* mul.wide, mad.wide and cvt to 64 bits: with the sign or without it. */
static bool visit_widening(void *user, uint32_t value)
{
    struct widening *w = user;
    const struct ptx_instruction *i = flow_instruction(w->flow, value);
    bool cvt = flow_is(w->flow, value, "cvt") && i->type_count > 1;
    if (cvt || (i && ptx_has_modifier(i, "wide"))) {
        enum ptx_type from = i->types[cvt ? 1 : 0];
        w->seen |= from == PTX_S32 || from == PTX_U32;
        w->with_sign |= from == PTX_S32;
        return false;
    }
    return grows(w->flow, value) || lint_passes(w->flow, value);
}

/* The largest index that keeps its value on the way to an address. */
static int64_t largest_index(const struct lint_kernel *k, uint32_t v)
{
    struct widening w = {.flow = k->flow};
    lint_forward(k, v, visit_widening, &w);
    return w.seen && !w.with_sign ? UINT32_MAX : INT32_MAX;
}

/* Whether an operand alone is too large already, so that its own instruction is the place. */
static bool is_passed_on(struct sizes *s, uint32_t v, int64_t largest)
{
    for (uint32_t a = 0; a < s->k->flow->value[v].args; a++) {
        int64_t one = bound(s, flow_arg(s->k->flow, v, a), flow_block_of(s->k->flow, v), 0);
        if (one != NO_BOUND && one > largest)
            return true;
    }
    return false;
}

void rule_index_overflow(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t v = 0; k->plan && k->bench.fuzz && v < flow->values; v++) {
        struct sizes s = {.k = k};
        if (!grows(flow, v))
            continue;
        int64_t most = of_result(&s, v, flow_block_of(flow, v), 0);
        if (most == NO_BOUND || most <= INT32_MAX || !lint_makes_address(k, v))
            continue;
        int64_t largest = largest_index(k, v);
        if (most > largest && !is_passed_on(&s, v, largest))
            lint_add(k, flow->value[v].at, "%s may be %lld with the entry's sizes, over 2^%d",
                     flow_instruction(flow, v)->text, (long long)most,
                     largest == INT32_MAX ? 31 : 32);
    }
}
