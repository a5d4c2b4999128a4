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
    if (strcmp(word, "add") == 0)
        return plus(a, b);
    if (strcmp(word, "mul") == 0)
        return times(a, b);
    if (strcmp(word, "mad") == 0)
        return plus(times(a, b), bound(s, flow_arg(flow, value, 2), block, depth + 1));
    if (strcmp(word, "shl") == 0)
        return b < 32 ? times(a, (int64_t)1 << b) : NO_BOUND;
    if (strcmp(word, "and") == 0 || strcmp(word, "min") == 0)
        return a < b ? a : b;
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

void rule_index_overflow(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t v = 0; k->plan && k->bench.fuzz && v < flow->values; v++) {
        struct sizes s = {.k = k};
        const struct ptx_instruction *i = flow_instruction(flow, v);
        bool product = flow_is(flow, v, "mul") || flow_is(flow, v, "mad");
        if (flow->value[v].kind != FLOW_RESULT || !product || ptx_has_modifier(i, "wide") ||
            ptx_has_modifier(i, "hi") || ptx_type_bits(lint_type(flow, v)) != 32 ||
            lint_is_float(lint_type(flow, v)))
            continue;
        int64_t most = of_result(&s, v, flow_block_of(flow, v), 0);
        if (most != NO_BOUND && most > INT32_MAX && lint_makes_address(k, v))
            lint_add(k, flow->value[v].at, "%s may be %lld with the entry's sizes, over 2^31",
                     i->text, (long long)most);
    }
}
