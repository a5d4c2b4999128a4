/*
 * rules_race.c - a store to shared memory, no barrier, and a load of another thread; or the load,
 * no barrier, and the store of the loop's next round.
 *
 * A cp.async is a store that ends later: by a wait for its group, or for an mbarrier. Until then
 * not even its own thread may read the bytes, and a barrier orders nothing.
 */
#include <stdlib.h>
#include <string.h>
#include "tools/lint/places.h"
#include "tools/lint/rules/rules.h"

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

/* A store, or an atomic: what other accesses than atomics must not meet. */
static bool shared_store(const struct flow *flow, uint32_t at, struct lint_access *out)
{
    const struct ptx_instruction *i = &flow->function->instructions[at];
    if (copy_store(flow, at, out))
        return true;
    return strcmp(i->opcode, "ld") != 0 && lint_access(flow, at, out) && out->writes &&
           out->space == PTX_SHARED && (out->weak || out->atomic);
}

/* Matrices count behind copies alone: within a warp they are stored and loaded without a barrier.
 */
static bool shared_load(const struct flow *flow, uint32_t at, bool copy, struct lint_access *out)
{
    const struct ptx_instruction *i = &flow->function->instructions[at];
    if (copy && matrix_row(flow, at, out))
        return true;
    return strcmp(i->opcode, "st") != 0 && lint_access(flow, at, out) && out->reads &&
           out->space == PTX_SHARED && (out->weak || out->atomic);
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

static bool place_changes(const struct flow *flow, const struct lint_place *p, const uint32_t *both)
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
    struct lint_place s, l;
    if (!lint_one_variable(flow, store, load, &s, &l))
        return false;
    if (way->waited && (place_changes(flow, &s, NULL) || place_changes(flow, &l, NULL)))
        return false;
    bool same = lint_same_terms(flow, &s, &l),
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
    struct lint_access load; /* of check_rounds() */
    bool of_warps;           /* its loop has no barrier of the block */
    bool copy, bulk;         /* a cp.async; one that an mbarrier counts */
    bool shared_out;         /* threads may have stored different bytes */
    uint64_t *seen;          /* by block: a bit for each number of a way */
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
    if (s->store.atomic && load->atomic)
        return false;
    return s->shared_out && lint_may_meet(flow, &s->store, load) &&
           !lint_same_thread(flow, &s->store, load);
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
    return store->atomic || flow->value[store->address].divergent ||
           flow->guard[store->at] != FLOW_NONE ||
           lint_divergent_branch(flow, store->at, false) != FLOW_NONE;
}

/* -- ways from a load to the store of the next round -- */

/* Whether both places are the same in each round of a loop around them: stages of a pipeline are
 * not. */
static bool stays(const struct flow *flow, const struct lint_access *store,
                  const struct lint_access *load)
{
    const uint32_t both[] = {flow->block_of[store->at], flow->block_of[load->at]};
    struct lint_place s = {.whole = true}, l = {.whole = true};
    lint_take_apart(flow, store->address, &s, 0);
    lint_take_apart(flow, load->address, &l, 0);
    return !place_changes(flow, &s, both) && !place_changes(flow, &l, both);
}

/* A barrier of the block, not of a warp. */
static bool is_block_barrier(const struct ptx_instruction *i)
{
    return is_barrier(i) && !ptx_has_modifier(i, "warp");
}

/* Whether shared memory of the loop is ordered within warps alone. */
static bool is_of_warps(const struct flow *flow, uint32_t loop)
{
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        if (is_block_barrier(&flow->function->instructions[at]) &&
            flow_in_loop(flow, flow->block_of[at], loop))
            return false;
    }
    return true;
}

/* Lanes of a warp wait for each other. */
static bool joins_warp(const struct ptx_instruction *i)
{
    static const char *const words[] = {"shfl", "vote", "redux", "match"};
    bool found = false;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        found |= strcmp(i->opcode, words[w]) == 0 && ptx_has_modifier(i, "sync");
    return found;
}

/* Follows control to the end of the block; true: the way goes on behind it. */
static bool follow_round(struct search *s, uint32_t at, uint32_t end, const struct way *way)
{
    const struct flow *flow = s->k->flow;
    for (; at < end; at++) {
        const struct ptx_instruction *i = &flow->function->instructions[at];
        struct lint_access store;
        if (ends_way(i, way) || (s->of_warps && joins_warp(i)))
            return false;
        if (way->again && !copies_to_shared(i) && shared_store(flow, at, &store) &&
            !(store.atomic && s->load.atomic) && is_shared_out(flow, &store) &&
            lint_may_meet(flow, &store, &s->load) && !lint_same_thread(flow, &store, &s->load) &&
            stays(flow, &store, &s->load)) {
            s->found = at;
            return false;
        }
    }
    return true;
}

/* The ways stay in the loop. */
static void push_round(struct search *s, uint32_t block, uint32_t loop, const struct way *way)
{
    const struct flow *flow = s->k->flow;
    const struct flow_block *b = &flow->block[block];
    for (uint32_t e = 0; e < b->succs; e++) {
        uint32_t to = flow->edge[b->succ + e];
        struct visit visit = {to, *way};
        visit.way.again |= flow->loop[loop].header == to;
        uint64_t bit = (uint64_t)1 << visit.way.again;
        if (!flow_in_loop(flow, to, loop))
            continue;
        if (!(s->seen[to] & bit) && s->count < s->room)
            s->queue[s->count++] = visit;
        s->seen[to] |= bit;
    }
}

static void search_round(struct search *s, uint32_t loop)
{
    const struct flow *flow = s->k->flow;
    uint32_t block = flow->block_of[s->load.at];
    struct way way = {.done = true};
    s->of_warps = is_of_warps(flow, loop);
    memset(s->seen, 0, flow->blocks * sizeof *s->seen);
    s->count = 0;
    s->found = FLOW_NONE;
    if (follow_round(s, s->load.at + 1, flow->block[block].end, &way))
        push_round(s, block, loop, &way);
    for (uint32_t i = 0; i < s->count && s->found == FLOW_NONE; i++) {
        const struct visit visit = s->queue[i];
        const struct flow_block *b = &flow->block[visit.block];
        if (follow_round(s, b->first, b->end, &visit.way))
            push_round(s, visit.block, loop, &visit.way);
    }
}

/* A round's load, and the store of the next one, which may come first in another thread. */
static void check_rounds(struct search *s)
{
    enum { MOST_LOADS = 256 };
    struct lint_kernel *k = s->k;
    const struct flow *flow = k->flow;
    unsigned loads = 0;
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        uint32_t loop = flow->block[flow->block_of[at]].loop;
        if (loop == FLOW_NONE || !shared_load(flow, at, false, &s->load) || ++loads > MOST_LOADS)
            continue;
        for (s->found = FLOW_NONE; loop != FLOW_NONE && s->found == FLOW_NONE;
             loop = flow->loop[loop].parent)
            search_round(s, loop);
        if (s->found != FLOW_NONE)
            lint_add_as(k, LINT_NOTE, at,
                        "reads shared memory that another thread may store to at line %u in the "
                        "loop's next round, with no barrier between",
                        flow->function->instructions[s->found].line);
    }
}

/* -- the rule -- */

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
    if (s.seen && s.queue)
        check_rounds(&s);
    free(s.seen);
    free(s.queue);
}
