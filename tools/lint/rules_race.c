/*
 * rules_race.c - a store to shared memory, no barrier, and a load of another thread.
 *
 * A cp.async is a store that ends later: by a wait for its group, or for an mbarrier. Until then
 * not even its own thread may read the bytes, and a barrier orders nothing.
 */
#include <stdlib.h>
#include <string.h>
#include "tools/lint/rules.h"

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_mbarrier_wait(const struct ptx_instruction *i)
{
    return strcmp(i->opcode, "mbarrier") == 0 &&
           (ptx_has_modifier(i, "try_wait") || ptx_has_modifier(i, "test_wait"));
}

/* What orders the shared memory accesses of threads: of a block, a warp, or by an mbarrier. A call
 * may hold one. An arrival alone is no wait. */
static bool is_barrier(const struct ptx_instruction *i)
{
    bool waits = begins(i->opcode, "bar") && !ptx_has_modifier(i, "arrive");
    return waits || strcmp(i->opcode, "call") == 0 || is_mbarrier_wait(i);
}

static bool is_copy(const struct ptx_instruction *i)
{
    return strcmp(i->opcode, "cp") == 0 && ptx_has_modifier(i, "async");
}

/* A copy from global to shared memory. */
static bool copies_to_shared(const struct ptx_instruction *i)
{
    return is_copy(i) && i->space == PTX_SHARED && ptx_has_modifier(i, "global") &&
           i->operand_count > 1 && i->operands[0].kind == PTX_MEMORY;
}

/* -- stores and loads -- */

/* A row of a matrix, whose elements go to other threads of the warp. */
static bool matrix_row(const struct flow *flow, uint32_t at, struct lint_access *out)
{
    const struct ptx_instruction *i = &flow->function->instructions[at];
    if (strcmp(i->opcode, "ldmatrix") != 0 || i->operand_count < 2 ||
        i->operands[1].kind != PTX_MEMORY)
        return false;
    *out = (struct lint_access){.value = flow->result[at],
                                .at = at,
                                .address = flow_arg(flow, flow->result[at], 0),
                                .offset = i->operands[1].offset,
                                .bytes = 16,
                                .space = PTX_SHARED,
                                .reads = true,
                                .weak = true};
    return true;
}

/* Bytes of a copy; 16 where a register or a map holds them. */
static bool copy_store(const struct flow *flow, uint32_t at, struct lint_access *out)
{
    enum { MOST = 1 << 20 };
    const struct ptx_instruction *i = &flow->function->instructions[at];
    uint64_t bytes = 0;
    if (!copies_to_shared(i))
        return false;
    *out = (struct lint_access){.value = flow->result[at],
                                .at = at,
                                .address = flow_arg(flow, flow->result[at], 0),
                                .offset = i->operands[0].offset,
                                .bytes = 16,
                                .space = PTX_SHARED,
                                .writes = true,
                                .weak = true};
    if (i->operand_count > 2 && !ptx_has_modifier(i, "tensor") &&
        flow_constant(flow, flow_arg(flow, out->value, 2), &bytes) && bytes && bytes < MOST)
        out->bytes = (unsigned)bytes;
    return true;
}

static bool shared_store(const struct flow *flow, uint32_t at, struct lint_access *out)
{
    const struct ptx_instruction *i = &flow->function->instructions[at];
    if (copy_store(flow, at, out))
        return true;
    return strcmp(i->opcode, "st") == 0 && i->space == PTX_SHARED && lint_access(flow, at, out) &&
           out->weak;
}

/* Matrices count behind copies alone: within a warp they are stored and loaded without a barrier.
 */
static bool shared_load(const struct flow *flow, uint32_t at, bool copy, struct lint_access *out)
{
    const struct ptx_instruction *i = &flow->function->instructions[at];
    if (copy && matrix_row(flow, at, out))
        return true;
    return strcmp(i->opcode, "ld") == 0 && i->space == PTX_SHARED && lint_access(flow, at, out) &&
           out->weak;
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

/* -- copies that are under way -- */

enum { PHI_DEPTH = 12, PHI_STEPS = 256, MOST_COMMITS = 14 };

/* A walk for values that change from round to round of a loop. */
struct rounds {
    const struct flow *flow;
    const uint32_t *both; /* of a loop around these two blocks; NULL: of any */
    int steps;
};

/* Whether the value changes so; where it is too long to follow, it may. */
static bool changes(struct rounds *r, uint32_t value, int depth)
{
    const struct flow *flow = r->flow;
    const struct flow_value *v = &flow->value[value];
    uint32_t args = v->kind == FLOW_MERGE ? 2 : v->args;
    bool found = depth > PHI_DEPTH || ++r->steps > PHI_STEPS;
    if (v->kind == FLOW_PHI) {
        uint32_t loop = flow->block[v->at].loop;
        bool head = loop != FLOW_NONE && flow->loop[loop].header == v->at;
        if (!r->both || head)
            return !r->both ||
                   (flow_in_loop(flow, r->both[0], loop) && flow_in_loop(flow, r->both[1], loop));
    } else if (v->kind != FLOW_RESULT && v->kind != FLOW_MERGE) {
        return false;
    } else if (flow_is(flow, value, "ld") || flow_is(flow, value, "atom")) {
        return false;
    }
    for (uint32_t a = 0; a < args && !found; a++)
        found = changes(r, flow_arg(flow, value, a), depth + 1);
    return found;
}

static bool place_changes(const struct flow *flow, const struct place *p, const uint32_t *both)
{
    struct rounds r = {flow, both, 0};
    bool found = false;
    for (unsigned i = 0; i < p->terms && !found; i++)
        found = changes(&r, p->term[i], 0);
    return found;
}

/* How far a copy is on the way from it to a load. */
struct way {
    bool done;        /* its bytes are there for its own thread; of a store from the beginning */
    bool waited;      /* a wait left its group open */
    bool again;       /* an edge back to a loop's head */
    unsigned commits; /* of groups, its own among them */
};

static unsigned number_of(const struct way *way)
{
    return way->done ? 0 : 1 + way->commits * 4 + way->waited * 2 + way->again;
}

/* Whether a load reads bytes of a copy that no wait has ended. With several stages a wait leaves
 * some open, and rounds of a loop have one each: then the place has to be the same one. */
static bool may_be_open(const struct flow *flow, const struct lint_access *store,
                        const struct lint_access *load, const struct way *way)
{
    enum { NEAR = 64 };
    const uint32_t both[] = {flow->block_of[store->at], flow->block_of[load->at]};
    struct place s = {.whole = true}, l = {.whole = true};
    take_apart(flow, store->address, &s, 0);
    take_apart(flow, load->address, &l, 0);
    if (!s.variable || s.variable != l.variable || !s.whole || !l.whole ||
        !same_bases(flow, &s, &l))
        return false;
    if (way->waited && (place_changes(flow, &s, NULL) || place_changes(flow, &l, NULL)))
        return false;
    bool same = same_terms(flow, &s, &l),
         stages = place_changes(flow, &s, both) || place_changes(flow, &l, both);
    if (stages && (way->again || !same))
        return false;
    int64_t from = s.offset + store->offset, to = l.offset + load->offset;
    if (same)
        return from < to + load->bytes && to < from + store->bytes;
    return from < to + NEAR && to < from + NEAR;
}

/* -- ways from a store to a load -- */

struct visit {
    uint32_t block;
    struct way way;
};

struct search {
    struct lint_kernel *k;
    struct lint_access store;
    bool copy, bulk; /* a cp.async; one that an mbarrier counts */
    bool shared_out; /* threads may have stored different bytes */
    uint64_t *seen;  /* by block: a bit for each number of a way */
    struct visit *queue;
    uint32_t count, room;
    uint32_t found;
    struct way at; /* there */
};

/* What an instruction does to a copy that is under way. */
static void advance(const struct search *s, uint32_t at, struct way *way)
{
    const struct flow *flow = s->k->flow;
    const struct ptx_instruction *i = &flow->function->instructions[at];
    uint64_t open = 0;
    if (s->bulk || !is_copy(i) || ptx_has_modifier(i, "bulk"))
        return;
    bool all = ptx_has_modifier(i, "wait_all"), group = ptx_has_modifier(i, "wait_group");
    if (ptx_has_modifier(i, "commit_group") && way->commits < MOST_COMMITS)
        way->commits++;
    if (!all && !group)
        return;
    bool known = all || flow_constant(flow, flow_arg(flow, flow->result[at], 0), &open);
    way->done = all || !known || way->commits > open;
    way->waited |= !way->done;
}

/* Whether nothing behind the instruction reads too early. */
static bool ends_way(const struct ptx_instruction *i, const struct way *way)
{
    if (!way->done)
        return strcmp(i->opcode, "call") == 0 || is_mbarrier_wait(i);
    return is_barrier(i) && !i->guarded;
}

static bool reads_early(const struct search *s, const struct lint_access *load,
                        const struct way *way)
{
    const struct flow *flow = s->k->flow;
    if (!way->done)
        return may_be_open(flow, &s->store, load, way);
    return s->shared_out && may_meet(flow, &s->store, load) && !same_thread(flow, &s->store, load);
}

/* Follows control from instruction `at` to the end of its block; true: the way goes on behind it.
 */
static bool follow(struct search *s, uint32_t at, uint32_t end, struct way *way)
{
    const struct flow *flow = s->k->flow;
    for (; at < end; at++) {
        struct lint_access load;
        if (ends_way(&flow->function->instructions[at], way))
            return false;
        if (!way->done)
            advance(s, at, way);
        if (at != s->store.at && shared_load(flow, at, s->copy, &load) &&
            reads_early(s, &load, way)) {
            s->found = at;
            s->at = *way;
            return false;
        }
    }
    return true;
}

static void push(struct search *s, uint32_t block, const struct way *way)
{
    const struct flow *flow = s->k->flow;
    const struct flow_block *b = &flow->block[block];
    for (uint32_t e = 0; e < b->succs; e++) {
        uint32_t to = flow->edge[b->succ + e];
        struct visit visit = {to, *way};
        visit.way.again |= !way->done && flow->block[to].number <= b->number;
        uint64_t bit = (uint64_t)1 << number_of(&visit.way);
        if (!(s->seen[to] & bit) && s->count < s->room)
            s->queue[s->count++] = visit;
        s->seen[to] |= bit;
    }
}

static void search_load(struct search *s)
{
    const struct flow *flow = s->k->flow;
    uint32_t block = flow->block_of[s->store.at];
    struct way way = {.done = !s->copy};
    memset(s->seen, 0, flow->blocks * sizeof *s->seen);
    s->count = 0;
    s->found = FLOW_NONE;
    if (follow(s, s->store.at + 1, flow->block[block].end, &way))
        push(s, block, &way);
    for (uint32_t i = 0; i < s->count && s->found == FLOW_NONE; i++) {
        const struct visit visit = s->queue[i];
        const struct flow_block *b = &flow->block[visit.block];
        way = visit.way;
        if (follow(s, b->first, b->end, &way))
            push(s, visit.block, &way);
    }
}

static void report_race(struct search *s, unsigned line)
{
    if (s->at.done)
        lint_add(s->k, s->found,
                 "reads shared memory that another thread may have stored at line %u, with no "
                 "barrier between",
                 line);
    else
        lint_add(s->k, s->found,
                 "reads shared memory that the copy at line %u may not have written yet, with no "
                 "%s between",
                 line,
                 s->bulk        ? "wait for its mbarrier"
                 : s->at.waited ? "cp.async.wait that ends its group"
                                : "cp.async.wait");
}

static bool is_shared_out(const struct flow *flow, const struct lint_access *store)
{
    return flow->value[store->address].divergent || flow->guard[store->at] != FLOW_NONE ||
           lint_divergent_branch(flow, store->at, false) != FLOW_NONE;
}

void rule_shared_race(struct lint_kernel *k)
{
    enum { MOST_STORES = 256, VISITS = 8 };
    const struct flow *flow = k->flow;
    struct search s = {.k = k, .room = flow->blocks * VISITS};
    unsigned stores = 0;
    s.seen = malloc(flow->blocks * sizeof *s.seen);
    s.queue = malloc(s.room * sizeof *s.queue);
    for (uint32_t at = 0; s.seen && s.queue && at < flow->function->instruction_count; at++) {
        const struct ptx_instruction *i = &flow->function->instructions[at];
        if (!shared_store(flow, at, &s.store) || ++stores > MOST_STORES)
            continue;
        s.copy = copies_to_shared(i);
        s.bulk = s.copy && ptx_has_modifier(i, "bulk");
        s.shared_out = is_shared_out(flow, &s.store);
        if ((!s.copy && !s.shared_out) || flow->block[flow->block_of[at]].number == FLOW_NONE)
            continue;
        search_load(&s);
        if (s.found != FLOW_NONE)
            report_race(&s, i->line);
    }
    free(s.seen);
    free(s.queue);
}
