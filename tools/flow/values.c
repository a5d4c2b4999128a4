/*
 * values.c - registers to values.
 *
 * A register that one unguarded instruction sets is that instruction's value wherever it is read.
 * For the others phis are put where their definitions meet (iterated dominance frontiers), and a
 * walk down the dominator tree finds the value of each reader. A register that is set under a guard
 * keeps its old value where the guard is false: a FLOW_MERGE.
 */
#include "tools/flow/flow_parts.h"

#include <stdlib.h>
#include <string.h>

struct making {
    struct flow *flow;
    struct error *err;
    const struct ptx_function *function;
    uint32_t registers;
    uint32_t *sets;     /* by register: how many instructions set it; guarded ones count twice */
    uint32_t *value_of; /* by register: its only value, or the one at hand */
    bool *across;       /* by register: read in a block before it is set there */
    uint32_t *arg;
    size_t args, arg_room;
    uint32_t value_room;
};

/* -- destinations and arguments -- */

unsigned flow_destinations(const struct ptx_instruction *i, const struct ptx_operand **first)
{
    static const char *const without[] = {
        "st",        "red",     "bra",     "brx",           "ret",        "exit",
        "trap",      "membar",  "fence",   "prefetch",      "prefetchu",  "cp",
        "nanosleep", "pmevent", "discard", "stmatrix",      "setmaxnreg", "griddepcontrol",
        "sust",      "sured",   "brkpt",   "applypriority", "tensormap"};
    *first = i->operands;
    if (strcmp(i->opcode, "call") == 0) {
        *first = i->operands + (i->operand_count > 0);
        return i->results < i->operand_count ? i->results : 0;
    }
    if (i->operand_count == 0 ||
        ((i->opcode[0] == 'b') && strncmp(i->opcode, "bar", 3) == 0 && !ptx_has_modifier(i, "red")))
        return 0;
    for (size_t w = 0; w < sizeof without / sizeof *without; w++) {
        if (strcmp(i->opcode, without[w]) == 0)
            return 0;
    }
    enum ptx_operand_kind kind = i->operands[0].kind;
    return kind == PTX_REGISTER || kind == PTX_VECTOR || kind == PTX_PAIR || kind == PTX_SINK;
}

typedef void (*operand_fn)(struct making *m, const struct ptx_operand *operand, void *user);

/* Calls `use` for each part that holds a value. */
static void each_part(struct making *m, const struct ptx_operand *operand, operand_fn use,
                      void *user)
{
    switch (operand->kind) {
    case PTX_VECTOR:
    case PTX_PAIR:
    case PTX_MEMORY:
        for (unsigned i = 0; i < operand->count; i++)
            each_part(m, &operand->items[i], use, user);
        break;
    case PTX_REGISTER:
    case PTX_IMMEDIATE:
    case PTX_ADDRESS_OF:
    case PTX_SPECIAL:
        use(m, operand, user);
        break;
    default:
        break;
    }
}

static void each_destination(struct making *m, const struct ptx_instruction *i, operand_fn use,
                             void *user)
{
    const struct ptx_operand *first;
    unsigned count = flow_destinations(i, &first);
    for (unsigned o = 0; o < count; o++)
        each_part(m, &first[o], use, user);
}

static void each_argument(struct making *m, const struct ptx_instruction *i, operand_fn use,
                          void *user)
{
    const struct ptx_operand *first;
    unsigned count = flow_destinations(i, &first);
    bool in_place = strcmp(i->opcode, "wgmma") == 0; /* adds to its destination */
    for (unsigned o = 0; o < i->operand_count; o++) {
        bool destination = &i->operands[o] >= first && &i->operands[o] < first + count;
        if (!destination || in_place)
            each_part(m, &i->operands[o], use, user);
    }
}

/* -- what sets what -- */

struct scan {
    uint32_t block;
    uint32_t *set_in; /* by register: 1 + the block that set it last */
    uint32_t weight;
};

static void note_set(struct making *m, const struct ptx_operand *operand, void *user)
{
    struct scan *scan = user;
    if (operand->kind != PTX_REGISTER)
        return;
    m->sets[operand->reg] += scan->weight;
    if (scan->weight == 1)
        scan->set_in[operand->reg] = scan->block + 1;
}

static void note_read(struct making *m, const struct ptx_operand *operand, void *user)
{
    const struct scan *scan = user;
    if (operand->kind == PTX_REGISTER && scan->set_in[operand->reg] != scan->block + 1)
        m->across[operand->reg] = true;
}

static enum status scan_sets(struct making *m)
{
    struct flow *flow = m->flow;
    struct scan scan = {.set_in = flow_numbers(flow, (size_t)m->registers + 1, 0, m->err)};
    if (!scan.set_in)
        return STATUS_NO_MEMORY;
    for (uint32_t b = 0; b < flow->blocks; b++) {
        scan.block = b;
        for (uint32_t at = flow->block[b].first; at < flow->block[b].end; at++) {
            const struct ptx_instruction *i = &m->function->instructions[at];
            each_argument(m, i, note_read, &scan);
            if (i->guarded && scan.set_in[i->guard] != b + 1)
                m->across[i->guard] = true;
            if (i->guarded)
                each_destination(m, i, note_read, &scan);
            scan.weight = i->guarded ? 2 : 1;
            each_destination(m, i, note_set, &scan);
        }
    }
    return STATUS_OK;
}

/* -- values and arguments, in growing lists -- */

static uint32_t add_value(struct making *m, struct flow_value value)
{
    struct flow *flow = m->flow;
    if (flow->values == m->value_room) {
        uint32_t room = m->value_room * 2 + 64;
        struct flow_value *more = realloc(flow->value, room * sizeof *more);
        if (!more)
            return FLOW_NONE;
        flow->value = more;
        m->value_room = room;
    }
    flow->value[flow->values] = value;
    return flow->values++;
}

static bool add_arg(struct making *m, uint32_t value)
{
    if (m->args == m->arg_room) {
        size_t room = m->arg_room * 2 + 256;
        uint32_t *more = room <= FLOW_LINKS ? realloc(m->arg, room * sizeof *more) : NULL;
        if (!more)
            return false;
        m->arg = more;
        m->arg_room = room;
    }
    m->arg[m->args++] = value;
    return true;
}

struct results {
    uint32_t at, count;
};

static void add_result(struct making *m, const struct ptx_operand *operand, void *user)
{
    struct results *r = user;
    if (operand->kind != PTX_REGISTER)
        return;
    uint32_t value =
        add_value(m, (struct flow_value){.kind = FLOW_RESULT, .at = r->at, .reg = operand->reg});
    if (m->sets[operand->reg] == 1)
        m->value_of[operand->reg] = value;
    r->count++;
}

/* One value for each register that an instruction sets, or one for the instruction. */
static enum status make_results(struct making *m)
{
    uint32_t count = m->function->instruction_count;
    uint32_t *result = flow_numbers(m->flow, (size_t)count + 1, 0, m->err);
    if (!result)
        return STATUS_NO_MEMORY;
    add_value(m, (struct flow_value){.kind = FLOW_UNDEFINED, .reg = FLOW_NONE});
    for (uint32_t at = 0; at < count; at++) {
        struct results r = {.at = at};
        result[at] = m->flow->values;
        each_destination(m, &m->function->instructions[at], add_result, &r);
        if (!r.count)
            add_value(m, (struct flow_value){.kind = FLOW_EFFECT, .at = at, .reg = FLOW_NONE});
    }
    result[count] = m->flow->values;
    m->flow->result = result;
    return m->flow->value && m->flow->values > count ? STATUS_OK : flow_no_memory(m->err);
}

/* -- phis -- */

struct frontier {
    uint32_t *first; /* by block, into `list`; one more at the end */
    uint32_t *list;
};

static void each_frontier(const struct flow *flow, struct frontier *f, uint32_t *used)
{
    for (uint32_t i = 0; i < flow->ordered; i++) {
        uint32_t b = flow->order[i];
        const struct flow_block *block = &flow->block[b];
        for (uint32_t p = 0; block->preds > 1 && p < block->preds; p++) {
            uint32_t runner = flow->edge[block->pred + p];
            if (flow->block[runner].number == FLOW_NONE)
                continue;
            while (runner != FLOW_NONE && runner != block->dominator) {
                if (f->list)
                    f->list[f->first[runner] + used[runner]] = b;
                used[runner]++;
                runner = flow->block[runner].dominator;
            }
        }
    }
}

static enum status frontiers(struct making *m, struct frontier *f)
{
    struct flow *flow = m->flow;
    uint32_t *used = flow_numbers(flow, (size_t)flow->blocks + 1, 0, m->err);
    f->first = flow_numbers(flow, (size_t)flow->blocks + 1, 0, m->err);
    f->list = NULL;
    if (!used || !f->first)
        return STATUS_NO_MEMORY;
    each_frontier(flow, f, used);
    size_t total = 0;
    for (uint32_t b = 0; b <= flow->blocks; b++) {
        f->first[b] = (uint32_t)total;
        total += b < flow->blocks ? used[b] : 0;
        if (total > FLOW_LINKS)
            return error_set(m->err, STATUS_FULL, "%s: too many branches", m->function->name);
    }
    f->list = flow_numbers(flow, total + 1, 0, m->err);
    if (!f->list)
        return STATUS_NO_MEMORY;
    memset(used, 0, flow->blocks * sizeof *used);
    each_frontier(flow, f, used);
    return STATUS_OK;
}

struct placing {
    struct frontier frontier;
    uint32_t *has_phi, *queued; /* by block: 1 + the register at hand */
    uint32_t *queue;
    uint32_t *set_first, *set_block; /* by register: the blocks that set it */
};

static bool add_phi(struct making *m, uint32_t block, uint32_t reg)
{
    struct flow_block *b = &m->flow->block[block];
    struct flow_value phi = {.kind = FLOW_PHI, .at = block, .reg = reg, .next = b->phi};
    phi.arg = (uint32_t)m->args;
    phi.args = b->preds;
    for (uint32_t p = 0; p < b->preds; p++) {
        if (!add_arg(m, 0))
            return false;
    }
    uint32_t value = add_value(m, phi);
    if (value == FLOW_NONE)
        return false;
    b->phi = value;
    return true;
}

static bool place_register(struct making *m, struct placing *p, uint32_t reg)
{
    uint32_t count = 0;
    for (uint32_t i = p->set_first[reg]; i < p->set_first[reg + 1]; i++) {
        if (p->queued[p->set_block[i]] == reg + 1)
            continue;
        p->queued[p->set_block[i]] = reg + 1;
        p->queue[count++] = p->set_block[i];
    }
    while (count) {
        uint32_t block = p->queue[--count];
        for (uint32_t i = p->frontier.first[block]; i < p->frontier.first[block + 1]; i++) {
            uint32_t join = p->frontier.list[i];
            if (p->has_phi[join] == reg + 1)
                continue;
            p->has_phi[join] = reg + 1;
            if (!add_phi(m, join, reg))
                return false;
            if (p->queued[join] != reg + 1) {
                p->queued[join] = reg + 1;
                p->queue[count++] = join;
            }
        }
    }
    return true;
}

struct listing {
    uint32_t block;
    uint32_t *count, *first, *list;
};

static void list_set(struct making *m, const struct ptx_operand *operand, void *user)
{
    struct listing *l = user;
    if (operand->kind != PTX_REGISTER || m->sets[operand->reg] < 2)
        return;
    if (l->list)
        l->list[l->first[operand->reg] + l->count[operand->reg]] = l->block;
    l->count[operand->reg]++;
}

static void each_set(struct making *m, struct listing *l)
{
    for (uint32_t i = 0; i < m->flow->ordered; i++) {
        l->block = m->flow->order[i];
        const struct flow_block *b = &m->flow->block[l->block];
        for (uint32_t at = b->first; at < b->end; at++)
            each_destination(m, &m->function->instructions[at], list_set, l);
    }
}

static enum status list_sets(struct making *m, struct placing *p)
{
    size_t n = (size_t)m->registers + 1;
    struct listing l = {.count = flow_numbers(m->flow, n, 0, m->err),
                        .first = flow_numbers(m->flow, n, 0, m->err)};
    uint32_t total = 0;
    if (!l.count || !l.first)
        return STATUS_NO_MEMORY;
    each_set(m, &l);
    for (uint32_t r = 0; r < n; r++) {
        l.first[r] = total;
        total += l.count[r];
        l.count[r] = 0;
    }
    l.list = flow_numbers(m->flow, (size_t)total + 1, 0, m->err);
    if (!l.list)
        return STATUS_NO_MEMORY;
    each_set(m, &l);
    p->set_first = l.first;
    p->set_block = l.list;
    return STATUS_OK;
}

static enum status make_phis(struct making *m)
{
    struct flow *flow = m->flow;
    struct placing p;
    enum status status = frontiers(m, &p.frontier);
    if (!status)
        status = list_sets(m, &p);
    if (status)
        return status;
    p.has_phi = flow_numbers(flow, flow->blocks, 0, m->err);
    p.queued = flow_numbers(flow, flow->blocks, 0, m->err);
    p.queue = flow_numbers(flow, flow->blocks, 0, m->err);
    if (!p.has_phi || !p.queued || !p.queue)
        return STATUS_NO_MEMORY;
    for (uint32_t r = 0; r < m->registers; r++) {
        if (m->sets[r] > 1 && m->across[r] && !place_register(m, &p, r))
            return error_set(m->err, STATUS_FULL, "%s: too many values", m->function->name);
    }
    return STATUS_OK;
}

/* -- the walk -- */

struct change {
    uint32_t reg, old;
};
struct walk {
    struct change *change;
    size_t changes, room;
    bool failed;
};

static void set_register(struct making *m, struct walk *w, uint32_t reg, uint32_t value)
{
    if (w->changes == w->room) {
        size_t room = w->room * 2 + 256;
        struct change *more = realloc(w->change, room * sizeof *more);
        w->failed = w->failed || !more;
        if (!more)
            return;
        w->change = more;
        w->room = room;
    }
    w->change[w->changes++] = (struct change){reg, m->value_of[reg]};
    m->value_of[reg] = value;
}

static void read_operand(struct making *m, const struct ptx_operand *operand, void *user)
{
    struct walk *w = user;
    uint32_t value;
    if (operand->kind == PTX_REGISTER) {
        value = m->value_of[operand->reg];
    } else {
        struct flow_value made = {.operand = operand, .bits = operand->bits, .reg = FLOW_NONE};
        made.kind = operand->kind == PTX_IMMEDIATE ? FLOW_CONSTANT
                    : operand->kind == PTX_SPECIAL ? FLOW_SPECIAL
                                                   : FLOW_ADDRESS;
        value = add_value(m, made);
    }
    w->failed = w->failed || value == FLOW_NONE || !add_arg(m, value);
}

static void set_results(struct making *m, struct walk *w, uint32_t at)
{
    struct flow *flow = m->flow;
    const struct ptx_instruction *i = &m->function->instructions[at];
    for (uint32_t v = flow->result[at]; v < flow->result[at + 1]; v++) {
        uint32_t reg = flow->value[v].reg, value = v;
        if (reg == FLOW_NONE || m->sets[reg] < 2)
            continue;
        if (i->guarded) {
            struct flow_value merge = {.kind = FLOW_MERGE, .at = at, .reg = reg};
            merge.arg = (uint32_t)m->args;
            merge.args = 3;
            w->failed = w->failed || !add_arg(m, v) || !add_arg(m, m->value_of[reg]) ||
                        !add_arg(m, flow->guard[at]);
            value = add_value(m, merge);
        }
        w->failed = w->failed || value == FLOW_NONE;
        if (!w->failed)
            set_register(m, w, reg, value);
    }
}

static void walk_block(struct making *m, struct walk *w, uint32_t block, uint32_t *guard)
{
    struct flow *flow = m->flow;
    const struct flow_block *b = &flow->block[block];
    for (uint32_t phi = b->phi; phi != FLOW_NONE; phi = flow->value[phi].next)
        set_register(m, w, flow->value[phi].reg, phi);
    for (uint32_t at = b->first; at < b->end && !w->failed; at++) {
        const struct ptx_instruction *i = &m->function->instructions[at];
        uint32_t first = (uint32_t)m->args;
        each_argument(m, i, read_operand, w);
        for (uint32_t v = flow->result[at]; v < flow->result[at + 1]; v++) {
            flow->value[v].arg = first;
            flow->value[v].args = (uint32_t)m->args - first;
        }
        guard[at] = i->guarded ? m->value_of[i->guard] : FLOW_NONE;
        set_results(m, w, at);
    }
    for (uint32_t s = 0; s < b->succs && !w->failed; s++) {
        const struct flow_block *to = &flow->block[flow->edge[b->succ + s]];
        for (uint32_t phi = to->phi; phi != FLOW_NONE; phi = flow->value[phi].next) {
            for (uint32_t p = 0; p < to->preds; p++) {
                if (flow->edge[to->pred + p] == block)
                    m->arg[flow->value[phi].arg + p] = m->value_of[flow->value[phi].reg];
            }
        }
    }
}

/* Blocks in the order of the dominator tree: `by_enter`. Leaving a subtree takes its changes back.
 */
static enum status walk_tree(struct making *m)
{
    struct flow *flow = m->flow;
    struct walk w = {0};
    size_t n = (size_t)flow->blocks + 1;
    uint32_t *by_enter = flow_numbers(flow, n, 0, m->err), depth = 0;
    uint32_t *open = flow_numbers(flow, n, 0, m->err), *mark = flow_numbers(flow, n, 0, m->err);
    uint32_t *guard = flow_numbers(flow, m->function->instruction_count, FLOW_NONE, m->err);
    if (!by_enter || !open || !mark || !guard)
        return STATUS_NO_MEMORY;
    flow->guard = guard;
    for (uint32_t i = 0; i < flow->ordered; i++)
        by_enter[flow->block[flow->order[i]].enter] = flow->order[i];
    for (uint32_t i = 0; i < flow->ordered && !w.failed; i++) {
        uint32_t block = by_enter[i];
        while (depth && !flow_dominates(flow, open[depth - 1], block)) {
            for (depth--; w.changes > mark[depth]; w.changes--)
                m->value_of[w.change[w.changes - 1].reg] = w.change[w.changes - 1].old;
        }
        open[depth] = block;
        mark[depth++] = (uint32_t)w.changes;
        walk_block(m, &w, block, guard);
    }
    free(w.change);
    return w.failed ? error_set(m->err, STATUS_FULL, "%s: too many values", m->function->name)
                    : STATUS_OK;
}

/* -- users -- */

static enum status make_users(struct making *m)
{
    struct flow *flow = m->flow;
    uint32_t total = 0;
    for (uint32_t v = 0; v < flow->values; v++) {
        for (uint32_t a = 0; a < flow->value[v].args; a++)
            flow->value[m->arg[flow->value[v].arg + a]].users++;
    }
    for (uint32_t v = 0; v < flow->values; v++) {
        flow->value[v].user = total;
        total += flow->value[v].users;
        flow->value[v].users = 0;
    }
    uint32_t *user = flow_numbers(flow, (size_t)total + 1, 0, m->err);
    if (!user)
        return STATUS_NO_MEMORY;
    for (uint32_t v = 0; v < flow->values; v++) {
        for (uint32_t a = 0; a < flow->value[v].args; a++) {
            struct flow_value *arg = &flow->value[m->arg[flow->value[v].arg + a]];
            user[arg->user + arg->users++] = v;
        }
    }
    flow->user = user;
    return STATUS_OK;
}

enum status flow_values(struct flow *flow, struct error *err)
{
    struct making m = {.flow = flow, .err = err, .function = flow->function};
    m.registers = flow->function->register_count;
    size_t n = (size_t)m.registers + 1;
    m.sets = flow_numbers(flow, n, 0, err);
    m.value_of = flow_numbers(flow, n, 0, err);
    m.across = arena_alloc(&flow->arena, n);
    if (!m.sets || !m.value_of || !m.across)
        return flow_no_memory(err);
    enum status status = scan_sets(&m);
    if (!status)
        status = make_results(&m);
    if (!status)
        status = make_phis(&m);
    if (!status)
        status = walk_tree(&m);
    uint32_t *kept = status ? NULL : flow_numbers(flow, m.args + 1, 0, err);
    if (kept && m.args)
        memcpy(kept, m.arg, m.args * sizeof *kept);
    flow->arg = kept;
    if (!status)
        status = kept ? make_users(&m) : STATUS_NO_MEMORY;
    free(m.arg);
    return status;
}
