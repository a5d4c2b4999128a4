/*
 * rules_sync.c - threads of a block: barriers, shuffles, shared memory; loops that wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lint/rules/rules.h"

struct divergence {
    const struct flow *flow;
    bool sides; /* a branch whose both sides meet a barrier does not count */
    uint32_t found;
};

static bool waits_for_all(const struct flow *flow, uint32_t at);

/* Whether a barrier lies on a way from the block to what follows the branch in any case. */
static bool meets_barrier(const struct flow *flow, uint32_t from, uint32_t until)
{
    enum { MOST = 256 };
    uint32_t list[MOST], count = 0;
    list[count++] = from;
    for (uint32_t i = 0; i < count && from != until; i++) {
        const struct flow_block *b = &flow->block[list[i]];
        for (uint32_t at = b->first; at < b->end; at++) {
            if (waits_for_all(flow, at))
                return true;
        }
        for (uint32_t s = 0; s < b->succs && count < MOST; s++) {
            uint32_t to = flow->edge[b->succ + s], known = 0;
            while (known < count && list[known] != to)
                known++;
            if (known == count && to != until)
                list[count++] = to;
        }
    }
    return false;
}

static bool both_sides_meet(const struct flow *flow, uint32_t branch)
{
    const struct flow_block *b = &flow->block[branch];
    bool all = b->succs > 1 && b->follower != FLOW_NONE;
    for (uint32_t s = 0; s < b->succs && all; s++)
        all = meets_barrier(flow, flow->edge[b->succ + s], b->follower);
    return all;
}

static bool visit_divergent(void *user, uint32_t branch, uint32_t condition)
{
    struct divergence *d = user;
    if (d->flow->value[condition].divergent && d->found == FLOW_NONE &&
        !(d->sides && both_sides_meet(d->flow, branch)))
        d->found = branch;
    return d->found == FLOW_NONE;
}

/* A branch that threads of a block take differently and that decides whether `at` runs. */
uint32_t lint_divergent_branch(const struct flow *flow, uint32_t at, bool sides)
{
    struct divergence d = {flow, sides, FLOW_NONE};
    flow_each_condition(flow, flow->block_of[at], visit_divergent, &d);
    return d.found;
}

/* -- barriers -- */

/* The threads of a block; 0: not known. */
static uint64_t block_size(const struct ptx_function *f)
{
    uint64_t size = 1;
    for (int axis = 0; axis < 3; axis++)
        size *= f->reqntid[axis];
    return size;
}

/* Whether a barrier of that many arguments, its predicate left out, is one of all threads: it has
 * no count of threads, or that of the block. */
static bool counts_all(const struct flow *flow, uint32_t barrier, uint32_t args)
{
    uint64_t number = 0, count = 0;
    bool known = flow_constant(flow, flow_arg(flow, barrier, 0), &number);
    if (args == 1)
        return known;
    return args == 2 && known && flow_constant(flow, flow_arg(flow, barrier, 1), &count) &&
           count == block_size(flow->function);
}

/* A barrier that waits for all threads of the block. */
static bool waits_for_all(const struct flow *flow, uint32_t at)
{
    const struct ptx_instruction *i = &flow->function->instructions[at];
    bool block = strcmp(i->opcode, "bar") == 0 || strcmp(i->opcode, "barrier") == 0;
    if (!block || ptx_has_modifier(i, "warp") || ptx_has_modifier(i, "arrive") ||
        ptx_has_modifier(i, "cluster"))
        return false;
    uint32_t value = flow->result[at], args = flow->value[value].args;
    bool folds = ptx_has_modifier(i, "red"); /* a predicate of each thread comes last */
    return counts_all(flow, value, folds && args ? args - 1 : args);
}

static unsigned line_of(const struct flow *flow, uint32_t branch)
{
    return flow->function->instructions[flow->block[branch].end - 1].line;
}

/* The branch leaves the kernel on one side. */
static bool is_exit(const struct flow *flow, uint32_t branch)
{
    const struct flow_block *b = &flow->block[branch];
    const char *word = flow->function->instructions[b->end - 1].opcode;
    if (strcmp(word, "ret") == 0 || strcmp(word, "exit") == 0)
        return true;
    for (uint32_t s = 0; s < b->succs; s++) {
        const struct flow_block *to = &flow->block[flow->edge[b->succ + s]];
        const struct ptx_instruction *first = &flow->function->instructions[to->first];
        if (to->end == to->first + 1 &&
            (strcmp(first->opcode, "ret") == 0 || strcmp(first->opcode, "exit") == 0))
            return true;
    }
    return false;
}

static bool leaves_loop(const struct flow *flow, uint32_t block, uint32_t loop)
{
    const struct flow_block *b = &flow->block[block];
    bool leaves = false;
    for (uint32_t s = 0; s < b->succs && flow_in_loop(flow, block, loop); s++)
        leaves |= !flow_in_loop(flow, flow->edge[b->succ + s], loop);
    return leaves;
}

/* Whether the branch decides how many rounds a loop around the barrier has, or whether there is
 * one: t = tid; t < n + tid; .. has the same number in all threads, which its condition does not
 * show. */
static bool counts_rounds(const struct flow *flow, uint32_t branch, uint32_t at)
{
    uint32_t loop = flow->block[flow->block_of[at]].loop;
    for (; loop != FLOW_NONE; loop = flow->loop[loop].parent) {
        if (leaves_loop(flow, branch, loop))
            return true;
        for (uint32_t b = 0; b < flow->blocks; b++) {
            if (leaves_loop(flow, b, loop) && !flow_in_loop(flow, branch, loop) &&
                flow_dominates(flow, branch, flow->loop[loop].header) &&
                flow->block[b].follower == flow->block[branch].follower)
                return true;
        }
    }
    return false;
}

/* Whether threads may wait at several instructions for each other: at barriers that are not
 * aligned, of one number beside 0. */
static bool meets_elsewhere(const struct flow *flow, uint32_t at)
{
    const struct ptx_instruction *all = flow->function->instructions;
    uint64_t number, other;
    if (strcmp(all[at].opcode, "barrier") != 0 || ptx_has_modifier(&all[at], "aligned") ||
        !flow_constant(flow, flow_arg(flow, flow->result[at], 0), &number) || number == 0)
        return false;
    for (uint32_t i = 0; i < flow->function->instruction_count; i++) {
        if (i != at && strcmp(all[i].opcode, "barrier") == 0 &&
            !ptx_has_modifier(&all[i], "aligned") && waits_for_all(flow, i) &&
            flow_constant(flow, flow_arg(flow, flow->result[i], 0), &other) && other == number)
            return true;
    }
    return false;
}

void rule_barrier_divergent(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        if (!waits_for_all(flow, at) || meets_elsewhere(flow, at))
            continue;
        uint32_t guard = flow->guard[at], branch = lint_divergent_branch(flow, at, true);
        if (guard != FLOW_NONE && flow->value[guard].divergent)
            lint_add(k, at, "a barrier for all threads has a guard that differs between threads");
        else if (branch != FLOW_NONE && is_exit(flow, branch))
            lint_add(k, at, "threads of a block leave at line %u, before a barrier for all threads",
                     line_of(flow, branch));
        else if (branch != FLOW_NONE)
            lint_add_as(
                k, counts_rounds(flow, branch, at) ? LINT_NOTE : LINT_WARNING, at,
                "a barrier for all threads runs under the branch at line %u, which threads of a "
                "block take differently",
                line_of(flow, branch));
    }
}

/* -- shuffles -- */

static uint32_t mask_of(const struct flow *flow, uint32_t at)
{
    const struct ptx_instruction *i = &flow->function->instructions[at];
    const struct flow_value *v = &flow->value[flow->result[at]];
    bool warp = strcmp(i->opcode, "shfl") == 0 || strcmp(i->opcode, "vote") == 0 ||
                strcmp(i->opcode, "redux") == 0 || strcmp(i->opcode, "match") == 0 ||
                (strcmp(i->opcode, "bar") == 0 && ptx_has_modifier(i, "warp"));
    if (!warp || !ptx_has_modifier(i, "sync") || v->args == 0)
        return FLOW_NONE;
    return flow_arg(flow, flow->result[at], v->args - 1);
}

struct lanes {
    const struct flow *flow;
    unsigned differ; /* conditions that differ between threads: lanes may be off */
    bool part;       /* one surely splits a warp */
    uint32_t some;   /* the lanes of one side of it */
    uint32_t branch;
};

static bool is_special(const struct flow *flow, uint32_t value, const char *name)
{
    const struct flow_value *v = &flow->value[value];
    return v->kind == FLOW_SPECIAL && strcmp(v->operand->name, name) == 0;
}

static uint32_t through_moves(const struct flow *flow, uint32_t value)
{
    while (flow_is(flow, value, "mov") && flow->value[value].args == 1)
        value = flow_arg(flow, value, 0);
    return value;
}

/* A lane's number: %laneid, %tid.x and 31, or %tid.x itself, which goes beyond it. */
enum number { NO_NUMBER, LANE, THREAD };
static enum number number_of(const struct flow *flow, uint32_t value)
{
    uint64_t bits;
    value = through_moves(flow, value);
    if (is_special(flow, value, "%laneid"))
        return LANE;
    if (is_special(flow, value, "%tid.x"))
        return THREAD;
    bool masked = flow_is(flow, value, "and") &&
                  flow_constant(flow, flow_arg(flow, value, 1), &bits) && (uint32_t)bits == 31;
    return masked && number_of(flow, flow_arg(flow, value, 0)) == THREAD ? LANE : NO_NUMBER;
}

static bool holds(const char *word, uint64_t a, uint64_t b)
{
    static const struct {
        const char *words;
        bool less, equal, more;
    } rows[] = {{" eq ", false, true, false},    {" ne ", true, false, true},
                {" lt lo ", true, false, false}, {" le ls ", true, true, false},
                {" gt hi ", false, false, true}, {" ge hs ", false, true, true}};
    char key[16];
    snprintf(key, sizeof key, " %.8s ", word);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        if (strstr(rows[r].words, key))
            return a < b ? rows[r].less : a == b ? rows[r].equal : rows[r].more;
    }
    return false;
}

/* tid == 5, lane < 20: true for some lanes of a warp and not for others. */
static bool splits_warp(const struct flow *flow, uint32_t condition, uint32_t *some)
{
    uint64_t limit;
    const struct ptx_instruction *i = flow_instruction(flow, condition);
    if (!flow_is(flow, condition, "setp") || !i->modifier_count)
        return false;
    enum number number = number_of(flow, flow_arg(flow, condition, 0));
    if (number == NO_NUMBER || !flow_constant(flow, flow_arg(flow, condition, 1), &limit) ||
        limit > 1024)
        return false;
    const uint64_t first = number == LANE ? 0 : limit / 32 * 32; /* thread of the limit's warp */
    *some = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        *some |= (uint32_t)holds(i->modifiers[0], first + lane, limit) << lane;
    return *some != 0 && *some != UINT32_MAX;
}

static bool visit_lanes(void *user, uint32_t branch, uint32_t condition)
{
    struct lanes *l = user;
    uint32_t some;
    l->differ += l->flow->value[condition].divergent;
    if (splits_warp(l->flow, condition, &some)) {
        l->part = true;
        l->some = some;
        l->branch = branch;
    }
    return true;
}

static void check_mask(struct lint_kernel *k, uint32_t at, uint32_t mask)
{
    const struct flow *flow = k->flow;
    const char *text = flow->function->instructions[at].text;
    struct lanes l = {.flow = flow, .branch = FLOW_NONE};
    if (flow->guard[at] != FLOW_NONE)
        visit_lanes(&l, flow->block_of[at], flow->guard[at]);
    flow_each_condition(flow, flow->block_of[at], visit_lanes, &l);
    if (mask != UINT32_MAX && l.differ == 0)
        lint_add(k, at, "%s: all lanes run it, and its mask 0x%x lacks some", text, mask);
    else if (mask != UINT32_MAX && l.differ == 1 && l.part && (l.some & ~mask) && (~l.some & ~mask))
        lint_add(k, at, "%s: line %u leaves lanes 0x%x or the others, and its mask 0x%x lacks some",
                 text, line_of(flow, l.branch), l.some, mask);
    else if (mask == UINT32_MAX && l.part) /* what has ended is not waited for, and gives nothing */
        lint_add_as(k, is_exit(flow, l.branch) ? LINT_HINT : LINT_WARNING, at,
                    "%s: its mask names all lanes, and line %u sends some elsewhere", text,
                    line_of(flow, l.branch));
}

void rule_shuffle_mask(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        uint32_t mask = mask_of(flow, at);
        uint64_t bits;
        if (mask != FLOW_NONE && flow_constant(flow, mask, &bits))
            check_mask(k, at, (uint32_t)bits);
    }
}

/* -- spaces -- */

/* Walks from an access to the variable that its address is made from: whether a cvta is on the way.
 */
static bool is_converted(const struct flow *flow, uint32_t address, int depth)
{
    if (flow_is(flow, address, "cvta"))
        return true;
    for (uint32_t a = 0, n = depth < 12 ? flow_data(flow, address) : 0; a < n; a++) {
        if (flow->value[address].kind == FLOW_RESULT &&
            is_converted(flow, flow_arg(flow, address, a), depth + 1))
            return true;
    }
    return false;
}

void rule_shared_generic(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        const struct ptx_instruction *i = &flow->function->instructions[at];
        struct lint_access a;
        if (!lint_access(flow, at, &a))
            continue;
        bool variable = a.base.kind == FLOW_BASE_VARIABLE;
        bool shared = variable && a.base.variable->space == PTX_SHARED;
        bool converted = is_converted(flow, a.address, 0);
        if (i->space == PTX_GENERIC && shared && !converted)
            lint_add(k, at, "%s takes the address of shared %s as if it were a generic one",
                     i->text, a.base.variable->name);
        else if (i->space == PTX_SHARED && !shared && a.base.kind != FLOW_BASE_UNKNOWN)
            lint_add(k, at, "%s takes an address that does not count from shared memory", i->text);
        else if (i->space == PTX_GLOBAL && shared)
            lint_add(k, at, "%s takes an address in shared memory", i->text);
    }
}

static unsigned address_bits(const struct flow *flow, const struct lint_access *a)
{
    uint32_t reg = flow->value[a->address].reg;
    return reg == FLOW_NONE ? 0 : ptx_type_bits(flow->function->registers[reg].type);
}

/* 64-bit registers for shared addresses are legal; a kernel that has both kinds mixes two ways. */
void rule_shared_wide(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    uint32_t wide = FLOW_NONE;
    bool short_ones = false;
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        struct lint_access a;
        if (!lint_access(flow, at, &a) || flow->function->instructions[at].space != PTX_SHARED)
            continue;
        short_ones |= address_bits(flow, &a) == 32;
        wide = wide == FLOW_NONE && address_bits(flow, &a) == 64 ? at : wide;
    }
    if (wide != FLOW_NONE)
        lint_add_as(k, short_ones ? LINT_NOTE : LINT_HINT, wide,
                    "%s keeps a shared address in a 64-bit register%s",
                    flow->function->instructions[wide].text,
                    short_ones ? ", others of the kernel are 32-bit" : "");
}

/* -- registers that nothing sets -- */

/* The arguments that a matrix product adds to, where it may leave them out: its scale-d is not 1.
 */
static uint32_t left_out(const struct ptx_instruction *i)
{
    enum { SCALE = 3 };
    bool scaled = strcmp(i->opcode, "wgmma") == 0 && i->operand_count > SCALE &&
                  !(i->operands[SCALE].kind == PTX_IMMEDIATE && i->operands[SCALE].bits);
    return scaled ? i->operands[0].count : 0;
}

void rule_unset_register(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t v = 0; v < flow->values; v++) {
        if (flow->value[v].kind != FLOW_RESULT && flow->value[v].kind != FLOW_EFFECT)
            continue;
        const struct ptx_instruction *i = flow_instruction(flow, v);
        bool counts = lint_is_float(lint_type(flow, v)) || strcmp(i->opcode, "st") == 0 ||
                      strcmp(i->opcode, "ld") == 0;
        bool reached = flow->block[flow->block_of[flow->value[v].at]].number != FLOW_NONE;
        for (uint32_t a = left_out(i); counts && reached && a < flow->value[v].args; a++) {
            if (flow_arg(flow, v, a) == 0)
                lint_add(k, flow->value[v].at, "%s reads a register that nothing has set", i->text);
        }
    }
}

/* -- loops that wait for memory -- */

/* The value that a comparison takes from memory: through conversions. */
static bool is_weak_load(struct lint_kernel *k, uint32_t value, uint32_t loop)
{
    const struct flow *flow = k->flow;
    struct lint_access a;
    for (int step = 0; step < 6 && !flow_is(flow, value, "ld"); step++) {
        if (!flow_is(flow, value, "cvt") && !flow_is(flow, value, "and") &&
            !flow_is(flow, value, "mov"))
            return false;
        value = flow_arg(flow, value, 0);
    }
    return flow_is(flow, value, "ld") && lint_access(flow, flow->value[value].at, &a) && a.weak &&
           a.space == PTX_GLOBAL && flow_in_loop(flow, flow_block_of(flow, value), loop) &&
           !flow_in_loop(flow, flow_block_of(flow, a.address), loop);
}

/* The way out leads to a trap: what the load gives is asserted, not waited for. */
static bool traps(const struct flow *flow, uint32_t block)
{
    for (int step = 0; step < 4; step++) {
        const struct flow_block *b = &flow->block[block];
        if (strcmp(flow->function->instructions[b->end - 1].opcode, "trap") == 0)
            return true;
        if (b->succs != 1)
            return false;
        block = flow->edge[b->succ];
    }
    return false;
}

/* Whether an instruction of an endless loop does something: memory, barriers, waits, calls. */
static bool does_nothing(const struct flow *flow, uint32_t block)
{
    static const char *const words[] = {"bra", "mov", "add", "sub", "setp", "and",
                                        "or",  "not", "cvt", "shl", "mul",  NULL};
    const struct flow_block *b = &flow->block[block];
    for (uint32_t at = b->first; at < b->end; at++) {
        unsigned w = 0;
        while (words[w] && strcmp(words[w], flow->function->instructions[at].opcode) != 0)
            w++;
        if (!words[w])
            return false;
    }
    return true;
}

/* Whether the loop has no way out and does nothing. */
static bool is_empty_loop(const struct flow *flow, uint32_t loop)
{
    bool empty = true;
    for (uint32_t b = 0; b < flow->blocks && empty; b++) {
        if (!flow_in_loop(flow, b, loop))
            continue;
        empty = does_nothing(flow, b) && flow->block[b].succs > 0;
        for (uint32_t s = 0; s < flow->block[b].succs; s++)
            empty = empty && flow_in_loop(flow, flow->edge[flow->block[b].succ + s], loop);
    }
    return empty;
}

struct decided {
    const struct flow *flow;
    bool by_memory;
};

static bool visit_decided(void *user, uint32_t branch, uint32_t condition)
{
    struct decided *d = user;
    (void)branch;
    d->by_memory |= (d->flow->value[condition].sources & FLOW_GLOBAL) != 0;
    return !d->by_memory;
}

/* while (*flag == 0); on an ordinary pointer: the compiler reads memory once, before the loop. */
static void check_empty_loops(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t loop = 0; loop < flow->loops; loop++) {
        uint32_t header = flow->loop[loop].header;
        struct decided d = {.flow = flow};
        if (flow->block[header].number == FLOW_NONE || !is_empty_loop(flow, loop))
            continue;
        flow_each_condition(flow, header, visit_decided, &d);
        if (d.by_memory)
            lint_add(k, flow->block[header].end - 1,
                     "an endless loop begins where memory has a value, which is read once before "
                     "it and never again");
    }
}

/* A loop that ends when memory changes, and reads it by an ordinary load. */
static void check_weak_loops(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t b = 0; b < flow->blocks; b++) {
        uint32_t loop = flow->block[b].loop, condition = flow_condition(flow, b);
        bool leaves = false;
        if (loop == FLOW_NONE || condition == FLOW_NONE || !flow_is(flow, condition, "setp"))
            continue;
        for (uint32_t s = 0; s < flow->block[b].succs; s++) {
            uint32_t to = flow->edge[flow->block[b].succ + s];
            leaves |= !flow_in_loop(flow, to, loop) && !traps(flow, to);
        }
        uint32_t x = flow_arg(flow, condition, 0), y = flow_arg(flow, condition, 1);
        bool fixed = !flow_in_loop(flow, flow_block_of(flow, y), loop);
        if (leaves && fixed && is_weak_load(k, x, loop))
            lint_add(
                k, flow->block[b].end - 1,
                "the loop ends when memory changes, and reads it by a load that need not see the "
                "change");
    }
}

void rule_spin_weak(struct lint_kernel *k)
{
    check_weak_loops(k);
    check_empty_loops(k);
}
