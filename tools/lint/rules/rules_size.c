/*
 * rules_size.c - 32-bit indices against the largest sizes that the entry's `fuzz` mapping allows.
 *
 * Bounds come from constants, thread numbers, those sizes and the grid that they make, and
 * comparisons with what is bounded that decide whether a block runs. What has no bound is no
 * finding.
 */
#include <stdlib.h>
#include <string.h>
#include "plan/plan.h"
#include "system/yaml_doc.h"
#include "tools/fuzz/case/rule.h"
#include "tools/lint/rules/rules.h"

enum { DEPTH = 24, STEPS = 4000, EACH_CTAID = 7 * FLOW_CTAID };
#define NO_BOUND INT64_MAX

struct sizes {
    const struct lint_kernel *k;
    int64_t grid[3], block[3]; /* the largest; NO_BOUND: not known */
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

/* -- the entry's launches -- */

static int64_t highest_of(const struct fuzz_rule *rule, const struct fuzz_variable *v,
                          const int64_t *slot)
{
    const struct expr *expr = v->kind == FUZZ_RANGE ? v->high : v->low;
    int64_t most = 0, one;
    for (unsigned i = 0; v->kind == FUZZ_LIST && i < v->items; i++) {
        if (expr_eval(v->item[i], slot, &one) && one > most)
            most = one;
    }
    if (v->kind == FUZZ_LIST)
        return most;
    if (!expr)
        return rule->constant[v->slot];
    return expr_eval(expr, slot, &one) ? one : 0;
}

/* `first`: the slot that has dim x for later expressions. */
static void shape_of(const struct expr *const expr[3], int64_t *slot, int first, int64_t out[3])
{
    for (int i = 0; i < 3; i++) {
        int64_t value = 1;
        bool known = !expr[i] || expr_eval(expr[i], slot, &value);
        out[i] = known && value > 0 ? value : NO_BOUND;
        slot[first + i] = known ? value : 0;
    }
}

/* The launch of the largest sizes. */
static void largest_launch(struct sizes *s)
{
    int64_t slot[FUZZ_SLOTS] = {0};
    struct arena arena = {0};
    struct error err = {0};
    const struct fuzz_rule *rule;
    for (int i = 0; i < 3; i++)
        s->grid[i] = s->block[i] = NO_BOUND;
    if (!fuzz_rule_make(&rule, &arena, &s->k->bench, NULL, &err)) {
        for (unsigned i = 0; i < rule->variables; i++)
            slot[rule->variable[i].slot] = highest_of(rule, &rule->variable[i], slot);
        shape_of(rule->block, slot, FUZZ_SLOT_BLOCK, s->block);
        shape_of(rule->grid, slot, FUZZ_SLOT_GRID, s->grid);
    }
    arena_release(&arena);
}

/* -- bounds of values -- */

static int64_t bound(struct sizes *s, uint32_t value, uint32_t block, int depth);

struct limit {
    struct sizes *s;
    uint32_t value, block;
    int depth;
    int64_t found;
};

/* What a condition is where the block runs. UNKNOWN: no side of its branch leads there alone. */
enum side { SIDE_FALSE, SIDE_TRUE, SIDE_UNKNOWN };

static enum side side_of(const struct flow *flow, uint32_t branch, uint32_t block)
{
    const struct flow_block *b = &flow->block[branch];
    const struct ptx_instruction *last = &flow->function->instructions[b->end - 1];
    if (strcmp(last->opcode, "brx") == 0)
        return SIDE_UNKNOWN;
    for (uint32_t s = 0; s < b->succs; s++) {
        uint32_t to = flow->edge[b->succ + s];
        bool taken = b->succs > 1 && s == 0;
        if (flow->block[to].preds == 1 && flow_dominates(flow, to, block))
            return taken == !last->guard_negated ? SIDE_TRUE : SIDE_FALSE;
    }
    return SIDE_UNKNOWN;
}

/* Comparisons that bound an argument where they are true (side) or false. `exact`: not where the
 * side is unknown. */
static const struct order {
    const char *word, *without_sign;
    enum side side;
    uint32_t arg; /* the one that is bounded */
    int64_t less; /* than the limit, at least */
    bool exact;
} orders[] = {
    {"lt", "lo", SIDE_TRUE, 0, 1, false}, {"ge", "hs", SIDE_FALSE, 0, 1, false},
    {"le", "ls", SIDE_TRUE, 0, 0, true},  {"gt", "hi", SIDE_FALSE, 0, 0, true},
    {"gt", "hi", SIDE_TRUE, 1, 1, true},  {"le", "ls", SIDE_FALSE, 1, 1, true},
    {"ge", "hs", SIDE_TRUE, 1, 0, true},  {"lt", "lo", SIDE_FALSE, 1, 0, true},
};

static void take_order(struct limit *l, uint32_t condition, const struct order *order)
{
    const struct flow *flow = l->s->k->flow;
    if (!flow_same(flow, flow_arg(flow, condition, order->arg), l->value))
        return;
    int64_t most = bound(l->s, flow_arg(flow, condition, 1 - order->arg), l->block, l->depth + 1);
    if (most < NO_BOUND && most >= order->less && most - order->less < l->found)
        l->found = most - order->less;
}

static void take_comparison(struct limit *l, uint32_t condition, enum side side)
{
    const struct ptx_instruction *i = flow_instruction(l->s->k->flow, condition);
    for (size_t o = 0; i->modifier_count && o < sizeof orders / sizeof *orders; o++) {
        bool word = strcmp(i->modifiers[0], orders[o].word) == 0 ||
                    strcmp(i->modifiers[0], orders[o].without_sign) == 0;
        if (word && (side == orders[o].side || (side == SIDE_UNKNOWN && !orders[o].exact)))
            take_order(l, condition, &orders[o]);
    }
}

/* p and q is true where both are, p or q false where both are: compilers join guards so. */
static void take_condition(struct limit *l, uint32_t condition, enum side side, int depth)
{
    enum { MOST_JOINED = 6 };
    const struct flow *flow = l->s->k->flow;
    const bool both = flow_is(flow, condition, "and"), any = flow_is(flow, condition, "or");
    const enum side all = both ? SIDE_TRUE : SIDE_FALSE;
    if (flow_is(flow, condition, "setp"))
        take_comparison(l, condition, side);
    else if (depth < MOST_JOINED && flow_is(flow, condition, "not") && side != SIDE_UNKNOWN)
        take_condition(l, flow_arg(flow, condition, 0), side == SIDE_TRUE ? SIDE_FALSE : SIDE_TRUE,
                       depth + 1);
    else if (depth < MOST_JOINED && (both || any) && (side == all || side == SIDE_UNKNOWN))
        for (uint32_t a = 0; a < 2; a++)
            take_condition(l, flow_arg(flow, condition, a), all, depth + 1);
}

static bool visit_limit(void *user, uint32_t branch, uint32_t condition)
{
    struct limit *l = user;
    take_condition(l, condition, side_of(l->s->k->flow, branch, l->block), 0);
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

/* Numbers of threads and blocks, and how many there are. */
static int64_t of_special(const struct sizes *s, uint32_t value)
{
    const char *name = s->k->flow->value[value].operand->name;
    uint64_t known = flow_most(s->k->flow, value);
    int64_t most = known < UINT32_MAX ? (int64_t)known : NO_BOUND, launched = NO_BOUND;
    bool threads = strncmp(name, "%tid.", 5) == 0, blocks = strncmp(name, "%ctaid.", 7) == 0;
    unsigned axis = (unsigned)name[strlen(name) - 1] - 'x';
    if (axis < 3 && (threads || strncmp(name, "%ntid.", 6) == 0))
        launched = s->block[axis];
    else if (axis < 3 && (blocks || strncmp(name, "%nctaid.", 8) == 0))
        launched = s->grid[axis];
    if (launched != NO_BOUND && (threads || blocks))
        launched--;
    return launched < most ? launched : most;
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
    if (v->kind == FLOW_SPECIAL)
        most = of_special(s, value);
    else if (v->kind == FLOW_RESULT)
        most = of_result(s, value, block, depth);
    if (most == NO_BOUND || (v->sources & EACH_CTAID))
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
    struct sizes s = {.k = k};
    if (k->plan && k->bench.fuzz)
        largest_launch(&s);
    for (uint32_t v = 0; k->plan && k->bench.fuzz && v < flow->values; v++) {
        s.steps = 0;
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
