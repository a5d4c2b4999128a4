/* rules_race.c - a store to shared memory, no barrier, and a load of another thread. */
#include <stdlib.h>
#include <string.h>
#include "tools/lint/rules.h"

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* What orders the shared memory accesses of threads: of a block, a warp, or by an mbarrier. A call
 * may hold one. */
static bool is_barrier(const struct ptx_instruction *i)
{
    return begins(i->opcode, "bar") || strcmp(i->opcode, "call") == 0 ||
           (strcmp(i->opcode, "mbarrier") == 0 &&
            (ptx_has_modifier(i, "try_wait") || ptx_has_modifier(i, "test_wait")));
}

/* -- addresses -- */

enum { TERMS = 16, NEIGHBOURS = 4 };

/* An address taken apart: variable, constant, and what is added. */
struct place {
    const struct ptx_variable *variable;
    int64_t offset;
    uint32_t term[TERMS];
    unsigned terms;
    bool whole; /* nothing was too deep */
};

static void take_apart(const struct flow *flow, uint32_t value, struct place *p, int depth)
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
            take_apart(flow, flow_arg(flow, value, a), p, depth + 1);
        return;
    }
    p->whole = p->whole && p->terms < TERMS;
    if (p->terms < TERMS)
        p->term[p->terms++] = value;
}

static bool has_term(const struct flow *flow, const struct place *p, uint32_t term)
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

static bool same_terms(const struct flow *flow, const struct place *a, const struct place *b)
{
    if (a->terms != b->terms)
        return false;
    for (unsigned i = 0; i < a->terms; i++) {
        if (!has_term(flow, b, a->term[i]))
            return false;
    }
    return true;
}

static bool same_bases(const struct flow *flow, const struct place *a, const struct place *b)
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
static int64_t end_of(const struct flow *flow, const struct place *p, const struct lint_access *a)
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

/* The bytes from one thread's address to the next one's; 0: not known. */
static uint64_t stride_of(const struct flow *flow, const struct place *p)
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
static bool has_data(const struct flow *flow, const struct place *p)
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

static bool has_counter(const struct flow *flow, const struct place *p)
{
    for (unsigned i = 0; i < p->terms; i++) {
        if (counts(flow, p->term[i], 0))
            return true;
    }
    return false;
}

/* Whether the load may read bytes that another thread stored. */
static bool may_meet(const struct flow *flow, const struct lint_access *store,
                     const struct lint_access *load)
{
    struct place s = {.whole = true}, l = {.whole = true};
    take_apart(flow, store->address, &s, 0);
    take_apart(flow, load->address, &l, 0);
    if (!s.variable || s.variable != l.variable || !s.whole || !l.whole ||
        !same_bases(flow, &s, &l))
        return false;
    int64_t from = s.offset + store->offset, to = l.offset + load->offset;
    if (same_terms(flow, &s, &l)) {
        uint64_t apart = (uint64_t)(from > to ? from - to : to - from),
                 stride = stride_of(flow, &s);
        if (flow->value[store->address].divergent) /* farther: another array, or its own again */
            return stride > 0 && apart >= stride && apart <= NEIGHBOURS * stride;
        return from < to + load->bytes && to < from + store->bytes;
    }
    if (flow->value[store->address].divergent && flow->value[load->address].divergent &&
        (has_counter(flow, &s) || has_counter(flow, &l) || has_data(flow, &s) ||
         has_data(flow, &l)))
        return false; /* a thread may walk over its own elements */
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
    struct place s = {.whole = true}, l = {.whole = true};
    take_apart(flow, store->address, &s, 0);
    take_apart(flow, load->address, &l, 0);
    int64_t stride = (int64_t)stride_of(flow, &s);
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
static bool same_thread(const struct flow *flow, const struct lint_access *store,
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

struct search {
    struct lint_kernel *k;
    struct lint_access store;
    uint8_t *seen;
    uint32_t *queue, count;
    uint32_t found;
};

/* Follows control from instruction `at` to the end of its block; true: the way goes on behind it.
 */
static bool follow(struct search *s, uint32_t at, uint32_t end)
{
    const struct flow *flow = s->k->flow;
    for (; at < end; at++) {
        const struct ptx_instruction *i = &flow->function->instructions[at];
        struct lint_access load;
        if (is_barrier(i) && !i->guarded)
            return false;
        if (at == s->store.at || strcmp(i->opcode, "ld") != 0 || i->space != PTX_SHARED ||
            !lint_access(flow, at, &load) || !load.weak)
            continue;
        if (may_meet(flow, &s->store, &load) && !same_thread(flow, &s->store, &load)) {
            s->found = at;
            return false;
        }
    }
    return true;
}

static void push(struct search *s, uint32_t block)
{
    const struct flow_block *b = &s->k->flow->block[block];
    for (uint32_t e = 0; e < b->succs; e++) {
        uint32_t to = s->k->flow->edge[b->succ + e];
        if (!s->seen[to])
            s->queue[s->count++] = to;
        s->seen[to] = 1;
    }
}

static void search_load(struct search *s)
{
    const struct flow *flow = s->k->flow;
    uint32_t block = flow->block_of[s->store.at];
    memset(s->seen, 0, flow->blocks);
    s->count = 0;
    s->found = FLOW_NONE;
    if (follow(s, s->store.at + 1, flow->block[block].end))
        push(s, block);
    for (uint32_t i = 0; i < s->count && s->found == FLOW_NONE; i++) {
        const struct flow_block *b = &flow->block[s->queue[i]];
        if (follow(s, b->first, b->end))
            push(s, s->queue[i]);
    }
}

void rule_shared_race(struct lint_kernel *k)
{
    enum { MOST_STORES = 256 };
    const struct flow *flow = k->flow;
    struct search s = {
        .k = k, .seen = malloc(flow->blocks), .queue = malloc(flow->blocks * sizeof *s.queue)};
    unsigned stores = 0;
    for (uint32_t at = 0; s.seen && s.queue && at < flow->function->instruction_count; at++) {
        const struct ptx_instruction *i = &flow->function->instructions[at];
        if (strcmp(i->opcode, "st") != 0 || i->space != PTX_SHARED ||
            !lint_access(flow, at, &s.store) || !s.store.weak || ++stores > MOST_STORES)
            continue;
        bool one = flow->value[s.store.address].divergent || flow->guard[at] != FLOW_NONE ||
                   lint_divergent_branch(flow, at, false) != FLOW_NONE;
        if (!one || flow->block[flow->block_of[at]].number == FLOW_NONE)
            continue;
        search_load(&s);
        if (s.found != FLOW_NONE)
            lint_add(k, s.found,
                     "reads shared memory that another thread may have stored at line %u, with no "
                     "barrier between",
                     i->line);
    }
    free(s.seen);
    free(s.queue);
}
