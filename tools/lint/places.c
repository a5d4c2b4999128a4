/* places.c - addresses, and whether a load meets the bytes of a store. */
#include "tools/lint/places.h"

#include <string.h>

enum { NEIGHBOURS = 4 };

void lint_take_apart(const struct flow *flow, uint32_t value, struct lint_place *p, int depth)
{
    uint64_t bits;
    const struct flow_value *v = &flow->value[value];
    if (v->kind == FLOW_ADDRESS && v->operand->variable) {
        p->variable = v->operand->variable;
        p->offset += v->operand->offset;
        return;
    }
    if (flow_constant(flow, value, &bits)) {
        p->offset += (int32_t)bits;
        return;
    }
    bool sum = flow_is(flow, value, "add"), same = flow_is(flow, value, "mov") && v->args == 1;
    if ((sum || same || flow_is(flow, value, "cvta") || flow_is(flow, value, "cvt")) &&
        depth < 12) {
        for (uint32_t a = 0; a < v->args; a++)
            lint_take_apart(flow, flow_arg(flow, value, a), p, depth + 1);
        return;
    }
    p->whole = p->whole && p->terms < LINT_TERMS;
    if (p->terms < LINT_TERMS)
        p->term[p->terms++] = value;
}

static bool has_term(const struct flow *flow, const struct lint_place *p, uint32_t term)
{
    for (unsigned i = 0; i < p->terms; i++) {
        if (flow_same(flow, p->term[i], term))
            return true;
    }
    return false;
}

/* The start of a part of dynamic shared memory depends on parameters or the block's size. */
static bool moves_base(const struct flow *flow, uint32_t term)
{
    const struct flow_value *v = &flow->value[term];
    return !v->divergent && (flow_has_params(v) || (v->sources & FLOW_NTID));
}

bool lint_same_terms(const struct flow *flow, const struct lint_place *a,
                     const struct lint_place *b)
{
    if (a->terms != b->terms)
        return false;
    for (unsigned i = 0; i < a->terms; i++) {
        if (!has_term(flow, b, a->term[i]))
            return false;
    }
    return true;
}

bool lint_same_bases(const struct flow *flow, const struct lint_place *a,
                     const struct lint_place *b)
{
    for (unsigned i = 0; i < a->terms; i++) {
        if (moves_base(flow, a->term[i]) && !has_term(flow, b, a->term[i]))
            return false;
    }
    for (unsigned i = 0; i < b->terms; i++) {
        if (moves_base(flow, b->term[i]) && !has_term(flow, a, b->term[i]))
            return false;
    }
    return true;
}

/* One more than the last byte that an access may reach, from the variable on. */
static int64_t end_of(const struct flow *flow, const struct lint_place *p,
                      const struct lint_access *a)
{
    int64_t end = p->offset + a->offset + a->bytes;
    for (unsigned i = 0; i < p->terms; i++) {
        uint64_t most = flow_most(flow, p->term[i]);
        if (most >= UINT32_MAX)
            return INT64_MAX;
        end += (int64_t)most;
    }
    return end;
}

uint64_t lint_stride(const struct flow *flow, const struct lint_place *p)
{
    for (unsigned i = 0; i < p->terms; i++) {
        uint64_t bits;
        uint32_t t = p->term[i];
        if ((flow->value[t].sources & FLOW_TID) && flow_is(flow, t, "shl") &&
            flow_constant(flow, flow_arg(flow, t, 1), &bits) && bits < 16)
            return (uint64_t)1 << bits;
        if ((flow->value[t].sources & FLOW_TID) && flow_is(flow, t, "mul") &&
            flow_constant(flow, flow_arg(flow, t, 1), &bits))
            return bits;
    }
    return 0;
}

/* A place that depends on what was read: a thread's own column of a table, by digit. */
static bool has_data(const struct flow *flow, const struct lint_place *p)
{
    const uint32_t data = FLOW_GLOBAL | FLOW_SHARED | FLOW_LOCAL | FLOW_ATOMIC | FLOW_OTHER;
    for (unsigned i = 0; i < p->terms; i++) {
        if (flow->value[p->term[i]].sources & data)
            return true;
    }
    return false;
}

/* Whether an access that begins so far behind another one meets it, which has that many bytes; many
 * where its end is not known. */
static bool lies_within(int64_t behind, int64_t bytes)
{
    enum { NEAR = 64, MOST_BYTES = 1 << 20 };
    return behind < (bytes > MOST_BYTES ? NEAR : bytes);
}

/* Whether a number that changes from round to round is part of the value. */
static bool counts(const struct flow *flow, uint32_t value, int depth)
{
    static const char *const words[] = {"shl", "shr", "mul", "mov", "add",
                                        "mad", "sub", "cvt", "and", "or"};
    if (flow->value[value].kind == FLOW_PHI)
        return true;
    for (size_t w = 0; depth < 8 && w < sizeof words / sizeof *words; w++) {
        for (uint32_t a = 0; flow_is(flow, value, words[w]) && a < flow->value[value].args; a++) {
            if (counts(flow, flow_arg(flow, value, a), depth + 1))
                return true;
        }
    }
    return false;
}

static bool has_counter(const struct flow *flow, const struct lint_place *p)
{
    for (unsigned i = 0; i < p->terms; i++) {
        if (counts(flow, p->term[i], 0))
            return true;
    }
    return false;
}

/* Whether the load may read bytes that another thread stored. */
bool lint_one_variable(const struct flow *flow, const struct lint_access *store,
                       const struct lint_access *load, struct lint_place *s, struct lint_place *l)
{
    *s = *l = (struct lint_place){.whole = true};
    lint_take_apart(flow, store->address, s, 0);
    lint_take_apart(flow, load->address, l, 0);
    return s->variable && s->variable == l->variable && s->whole && l->whole &&
           lint_same_bases(flow, s, l);
}

/* Whether a thread's own number is added up in the value: a column of a table. */
static bool adds_thread(const struct flow *flow, uint32_t value, int depth)
{
    static const char *const words[] = {"add", "mad", "shl", "mul", "mov", "cvt", "or"};
    const uint32_t data = FLOW_GLOBAL | FLOW_SHARED | FLOW_LOCAL | FLOW_ATOMIC | FLOW_OTHER;
    uint32_t sources = flow->value[value].sources;
    if (!(sources & data))
        return sources & FLOW_TID;
    for (size_t w = 0; depth < 8 && w < sizeof words / sizeof *words; w++) {
        for (uint32_t a = 0; flow_is(flow, value, words[w]) && a < flow->value[value].args; a++) {
            if (adds_thread(flow, flow_arg(flow, value, a), depth + 1))
                return true;
        }
    }
    return false;
}

/* Whether threads meet in places that atomics access: not where each has its own. */
static bool is_common(const struct flow *flow, const struct lint_access *a,
                      const struct lint_access *b)
{
    return (a->atomic || b->atomic) &&
           !(adds_thread(flow, a->address, 0) && adds_thread(flow, b->address, 0));
}

bool lint_may_meet(const struct flow *flow, const struct lint_access *store,
                   const struct lint_access *load)
{
    struct lint_place s, l;
    if (!lint_one_variable(flow, store, load, &s, &l))
        return false;
    int64_t from = s.offset + store->offset, to = l.offset + load->offset;
    if (lint_same_terms(flow, &s, &l)) {
        uint64_t apart = (uint64_t)(from > to ? from - to : to - from),
                 stride = lint_stride(flow, &s);
        if (flow->value[store->address].divergent) /* farther: another array, or its own again */
            return stride > 0 && apart >= stride && apart <= NEIGHBOURS * stride;
        return from < to + load->bytes && to < from + store->bytes;
    }
    /* A thread may walk over its own elements. */
    if (!is_common(flow, store, load) && flow->value[store->address].divergent &&
        flow->value[load->address].divergent &&
        (has_counter(flow, &s) || has_counter(flow, &l) || has_data(flow, &s) ||
         has_data(flow, &l)))
        return false;
    return to >= from ? lies_within(to - from, end_of(flow, &s, store) - from)
                      : lies_within(from - to, end_of(flow, &l, load) - to);
}

/* -- conditions that leave one thread -- */

struct alone {
    const struct flow *flow;
    uint32_t condition[16];
    unsigned count;
};

static bool visit_alone(void *user, uint32_t branch, uint32_t condition)
{
    struct alone *a = user;
    uint64_t bits;
    (void)branch;
    const struct ptx_instruction *i = flow_instruction(a->flow, condition);
    bool equal = flow_is(a->flow, condition, "setp") && i->modifier_count &&
                 (strcmp(i->modifiers[0], "eq") == 0 || strcmp(i->modifiers[0], "ne") == 0);
    if (equal && (a->flow->value[condition].sources & FLOW_TID) && a->count < 16 &&
        flow_constant(a->flow, flow_arg(a->flow, condition, 1), &bits))
        a->condition[a->count++] = condition;
    return true;
}

static void conditions_of(const struct flow *flow, uint32_t at, struct alone *a)
{
    *a = (struct alone){.flow = flow};
    if (flow->guard[at] != FLOW_NONE)
        visit_alone(a, 0, flow->guard[at]);
    flow_each_condition(flow, flow->block_of[at], visit_alone, a);
}

/* Of a load that thread number c alone runs: whether it reads what that thread stores, as c 4 of an
 * array to which each thread stores at its number times 4. */
static bool reads_own(const struct flow *flow, const struct alone *a,
                      const struct lint_access *store, const struct lint_access *load)
{
    struct lint_place s = {.whole = true}, l = {.whole = true};
    lint_take_apart(flow, store->address, &s, 0);
    lint_take_apart(flow, load->address, &l, 0);
    int64_t stride = (int64_t)lint_stride(flow, &s);
    for (unsigned i = 0; i < a->count && stride && s.terms == 1 && l.terms == 0; i++) {
        uint64_t number;
        uint32_t tid = flow_arg(flow, a->condition[i], 0);
        tid = flow_is(flow, tid, "mov") ? flow_arg(flow, tid, 0) : tid;
        if (flow->value[tid].kind == FLOW_SPECIAL &&
            flow_constant(flow, flow_arg(flow, a->condition[i], 1), &number) && number < 1024 &&
            s.offset + store->offset + (int64_t)number * stride == l.offset + load->offset)
            return true;
    }
    return false;
}

/* Whether the same thread runs both, or reads what it stored. */
bool lint_same_thread(const struct flow *flow, const struct lint_access *store,
                      const struct lint_access *load)
{
    struct alone x, y;
    conditions_of(flow, store->at, &x);
    conditions_of(flow, load->at, &y);
    if (reads_own(flow, &y, store, load))
        return true;
    for (unsigned i = 0; i < x.count; i++) {
        for (unsigned j = 0; j < y.count; j++) {
            if (flow_same(flow, x.condition[i], y.condition[j]))
                return true;
        }
    }
    return false;
}
